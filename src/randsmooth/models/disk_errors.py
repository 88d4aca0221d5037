"""Errors of the disk while a model is saved: all of them are an OSError."""

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
    """Turn errors of the disk into an OSError that names `folder`; safetensors raises an error of its own for them."""
    with naming(folder):
        try:
            yield
        except SafetensorError as error:
            number = re.search(r"\(os error (\d+)\)", str(error))
            if number is None:
                raise
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
