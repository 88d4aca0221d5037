"""Where a model may lie, checked without loading torch."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.errors import InputError

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


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
    if Path(folder).exists() or not HUB_ID.fullmatch(str(folder)):
        raise InputError(f"{folder} is not a folder: expected a model folder or a hub id such as user/name")


def check_file(path: str, what: str) -> None:
    """Raise InputError unless there is a file at `path`; `what` it should be, for the message.

    Example:
        >>> check_file("nofile.onnx", "ONNX file")
        Traceback (most recent call last):
        randsmooth.errors.InputError: no ONNX file at nofile.onnx
    """
    if not Path(path).is_file():
        raise InputError(f"no {what} at {path}")
