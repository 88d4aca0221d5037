"""Where to compute."""

from __future__ import annotations

import torch

from randsmooth.errors import InputError


def pick_device(name: str) -> torch.device:
    """The device called "auto" (CUDA where torch finds it), "cpu" or "cuda".

    Raises:
        InputError: another name, or CUDA where torch finds none.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
    """
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device={name!r} must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' asks for a CUDA device and torch sees none; use --device cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
