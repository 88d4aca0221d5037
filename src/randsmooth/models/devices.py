"""Where to compute."""

from __future__ import annotations

import re

import torch

from randsmooth.errors import InputError

NAME = re.compile(r"auto|cpu|cuda(?::(\d{1,4}))?", re.ASCII)


def pick_device(name: str | torch.device) -> torch.device:
    """The device called "auto" (CUDA where torch finds it), "cpu", "cuda" or, by its number, "cuda:1".

    Raises:
        InputError: another name, or a CUDA device that torch does not find.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
        >>> pick_device("gpu")
        Traceback (most recent call last):
        randsmooth.errors.InputError: device='gpu' must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1, ...
    """
    found = NAME.fullmatch(str(name))
    if found is None:
        raise InputError(f"device={str(name)!r} must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1, ...")
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if str(name) in ("auto", "cpu"):
        return torch.device("cuda" if devices and str(name) == "auto" else "cpu")
    if not devices:
        raise InputError(f"device={str(name)!r} asks for a CUDA device and torch sees none; use --device cpu")
    if found[1] is not None and int(found[1]) >= devices:
        seen = ", ".join(f"cuda:{i}" for i in range(devices))
        raise InputError(f"device={str(name)!r} is not among those that torch sees: {seen}")
    return torch.device(str(name))
