"""Where a model may lie, checked without loading torch."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.errors import InputError


def check_place(folder: Path | str) -> None:
    """Raise InputError unless `folder` is a folder that is there, or may be a model's id on the Hugging Face hub.

    Example:
        >>> check_place("user/name")
        >>> check_place("nomodel")
        Traceback (most recent call last):
        randsmooth.errors.InputError: nomodel is not a folder: expected a model folder or a hub id such as user/name
    """
    if Path(folder).is_dir():
        return
    if Path(folder).exists() or not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", str(folder)):
        raise InputError(f"{folder} is not a folder: expected a model folder or a hub id such as user/name")
