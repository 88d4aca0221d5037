"""Where to compute."""

from __future__ import annotations

import torch

from randsmooth.errors import InputError


def pick_device(name: str) -> torch.device:
    """The device called auto (CUDA where torch sees it), cpu or cuda; InputError for one that is not there."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device={name!r} must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' asks for a CUDA device and torch sees none; use --device cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
