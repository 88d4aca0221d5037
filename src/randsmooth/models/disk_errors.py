"""What a disk refuses while a model is saved, in the one error that such refusals have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from randsmooth.atomic import naming


@contextmanager
def os_errors_naming(folder: Path) -> Iterator[None]:
    """Have whatever the disk refuses be an OSError that names `folder`: safetensors has an error of its own for it."""
    with naming(folder):
        try:
            yield
        except SafetensorError as error:
            number = re.search(r"\(os error (\d+)\)", str(error))
            if number is None:
                raise
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
