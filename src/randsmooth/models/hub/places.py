"""How models of transformers and timm are named, checked without loading anything heavy."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.errors import InputError
from randsmooth.models.place import HUB_ID

HF, TIMM = "hf:", "timm:"
TIMM_NAME = re.compile(r"[\w.-]+|hf-hub:\w[\w.-]*/\w[\w.-]*")


def check_transformers(source: str) -> None:
    """Raise InputError unless what follows `hf:` is a folder with a model, or may be an id on the hub.

    Example:
        >>> check_transformers("hf:google/vit-base-patch16-224")
        >>> check_transformers("hf:nofolder")
        Traceback (most recent call last):
        randsmooth.errors.InputError: hf:nofolder names no folder: expected hf:FOLDER or hf:user/name
    """
    name = source.removeprefix(HF)
    if name and Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise InputError(f"{name} holds no config.json: expected the folder of a model of transformers")
        return
    if Path(name or "/").exists() or not HUB_ID.fullmatch(name):
        raise InputError(f"{source} names no folder: expected hf:FOLDER or hf:user/name")


def check_timm(source: str) -> None:
    """Raise InputError unless what follows `timm:` is a folder, a name or an id on the hub.

    Example:
        >>> check_timm("timm:resnet18.a1_in1k")
        >>> check_timm("timm:no such")
        Traceback (most recent call last):
        randsmooth.errors.InputError: timm:no such names no model: expected timm:NAME, timm:hf-hub:user/name or ...
    """
    name = source.removeprefix(TIMM)
    if not (name and Path(name).is_dir()) and not TIMM_NAME.fullmatch(name):
        raise InputError(f"{source} names no model: expected timm:NAME, timm:hf-hub:user/name or timm:FOLDER")
