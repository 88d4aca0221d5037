"""Checks of images, labels and devices: wrong ones would give certificates that mean something else."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from randsmooth.data.arrays import into_unit_range
from randsmooth.errors import InputError


def check_images(x: Tensor, shape: tuple[int, int, int] | None) -> None:
    """Check that images are floats (B, C, H, W) in [0, 1], of the model's `shape` (C, H, W) where it is given.

    Raises:
        InputError: another type or shape, or a value outside [0, 1]; the message names the first such image.

    Example:
        >>> check_images(torch.rand(2, 1, 8, 8), (1, 8, 8))
        >>> check_images(torch.full((2, 1, 8, 8), 255.0), (1, 8, 8))
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the images have values in [255, 255], first image 0; expected [0, 1]: \
divide by 255
    """
    if not isinstance(x, Tensor) or not x.is_floating_point():
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"images are {kind}; expected a tensor of floats in [0, 1]: torch.as_tensor(x) / 255")
    if x.ndim != 4 or (shape is not None and tuple(x.shape[1:]) != shape):
        expected = "(B, C, H, W)" if shape is None else f"(B, {', '.join(map(str, shape))})"
        raise InputError(f"images have shape {tuple(x.shape)}; expected {expected}: x[None] makes a batch of one")
    good = (x >= 0).flatten(1).all(1) & (x <= 1).flatten(1).all(1)  # (B,) false for NaN
    if bool(good.all()):
        return
    i = int((~good).nonzero()[0])
    if not bool(torch.isfinite(x[i]).all()):
        raise InputError(f"image {i} holds NaN or infinity; expected values in [0, 1]: check how it was read")
    seen = x[x.isfinite()]
    least, most = float(seen.min()), float(seen.max())
    raise InputError(
        f"the images have values in [{least:.6g}, {most:.6g}], first image {i}; expected [0, 1]: "
        f"{into_unit_range(least, most)}"
    )


def check_labels(y: Tensor, num_classes: int) -> None:
    """Check that labels are integers (B,) from 0 to num_classes - 1.

    Raises:
        InputError: another type or shape, or a label out of range; the message names the first such label.

    Example:
        >>> check_labels(torch.tensor([0, 9]), 10)
        >>> check_labels(torch.tensor([0, 10]), 10)
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: label 1 is 10; expected 0 to 9: map the labels to the classes
    """
    if not isinstance(y, Tensor) or y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        kind = y.dtype if isinstance(y, Tensor) else type(y).__name__
        raise InputError(f"labels have type {kind}; expected a tensor of integers: torch.as_tensor(y).long()")
    if y.ndim != 1:
        raise InputError(f"labels have shape {tuple(y.shape)}; expected (B,): one class index an image")
    bad = (y < 0) | (y >= num_classes)
    if bool(bad.any()):
        i = int(bad.nonzero()[0])
        raise InputError(f"label {i} is {int(y[i])}; expected 0 to {num_classes - 1}: map the labels to the classes")


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
    found = re.fullmatch(r"auto|cpu|cuda(?::(\d{1,4}))?", str(name), re.ASCII)
    if found is None:
        raise InputError(f"device={str(name)!r} must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1, ...")
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if str(name) in ("auto", "cpu"):
        return torch.device("cuda" if devices and str(name) == "auto" else "cpu")
    if int(found[1] or 0) >= devices:
        raise InputError(f"device={str(name)!r}: torch sees {devices} CUDA devices, numbered from 0; use --device cpu")
    return torch.device(str(name))
