"""Pixels in arrays and .npz files: checked, and brought to (N, C, H, W) in 8 bits or as floats in [0, 1]."""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from randsmooth.data.augment import cut_centre, scaled
from randsmooth.data.dataset_spec import SPLITS, Fit
from randsmooth.data.files import NAMES
from randsmooth.data.images import TensorImages
from randsmooth.data.infer import Request, arch_for, own
from randsmooth.data.labels import Where, from_numbers, from_texts, no_labels
from randsmooth.documents import shown
from randsmooth.errors import InputError

Pixels = NDArray[Any]

COLOURS = (1, 3)  # sizes that an axis of channels usually has
MOST_CHANNELS = 64  # of images that are neither grey nor RGB, which must come first
TWICE = 1.001 / 255  # about the largest value of 8-bit pixels that were divided by 255 twice
SLIGHTLY = 0.01  # by which rounding or resizing makes values leave [0, 1]
FULL_SCALES = (255, 65_535)  # of 8 and 16 bits; images without a value in the upper half have another scale

# What reading a damaged .npz file raises.
BROKEN = (
    *(OSError, ValueError, EOFError, KeyError, MemoryError, OverflowError, RuntimeError, SyntaxError, TypeError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError),
)

ARRAY = re.compile(r"(?:(train|test|validation|val)_)?(.+?)(?:_(train|test|validation|val))?")

# How large an array may become in memory: so many times its packed size, or so many bytes.
MOST_SWELLING, SMALL_BYTES = 64, 2**27


def as_array(x: Any) -> Pixels:
    """A tensor, or what NumPy takes for an array, as an array; no copy where none is needed."""
    return np.asarray(x.detach().cpu() if isinstance(x, Tensor) else x)


def images_first(x: Pixels, name: str, total: int | None = None) -> Pixels:
    """`x` as (N, C, H, W): grey images (N, H, W) get a channel axis, and channels that come last are moved.

    Args:
        x: the pixels of N images.
        name: what to call them in errors.
        total: how many images there should be, where labels tell.

    Raises:
        InputError: another shape, or one that can be read in two ways.
    """
    if x.ndim == 3:
        _check_grey(x, name, total)
        return x[:, None]
    if x.ndim != 4:
        raise InputError(
            f"{name} has shape {x.shape}; expected images (N, C, H, W), (N, H, W, C), or grey ones (N, H, W): "
            "x[None] makes a batch of one image, x.reshape(N, C, H, W) images of rows of pixels"
        )
    first, last = x.shape[1] in COLOURS, x.shape[3] in COLOURS
    if first and last:
        raise InputError(
            f"{name} has shape {x.shape}, which could be (N, C, H, W) or (N, H, W, C); make a `data.TensorImages` of "
            "it, whose pixels are (N, C, H, W)"
        )
    if last:
        return np.moveaxis(x, 3, 1)
    if not first and x.shape[1] >= min(MOST_CHANNELS + 1, *x.shape[2:]):
        way = "drop the alpha channel, x[..., :3]" if x.shape[3] == 4 else "give (N, C, H, W), x.transpose(0, 3, 1, 2)"
        raise InputError(f"{name} has shape {x.shape}, in which no axis is clearly that of the channels: {way}")
    return x


def _check_grey(x: Pixels, name: str, total: int | None) -> None:
    """Raise InputError for (N, H, W) that could be one image in colour."""
    if total != len(x) and (x.shape[0] in COLOURS or x.shape[2] in COLOURS):
        raise InputError(
            f"{name} has shape {x.shape}, which could be one image or grey ones: give one as x[None], grey ones as "
            "x[:, None]"
        )


def one_image(x: Pixels, where: str) -> Pixels:
    """One image as (C, H, W), of (C, H, W), (H, W, C) or (H, W). Errors as `images_first`."""
    image: Pixels = images_first(x[None], where, 1 if x.ndim == 2 else None)[0]
    return image


def check_values(x: Pixels, name: str, where: Where) -> Pixels:
    """`x` (N, ...) as uint8, or as float32 in [0, 1], once it is sure which of these it is.

    Raises:
        InputError: another type, NaN, values out of range, or values that show that they were scaled in another way.
    """
    if x.dtype == np.bool_:
        return x.astype(np.float32)
    if (x.dtype.kind != "f" or x.dtype.itemsize > 8) and x.dtype != np.uint8:
        raise InputError(
            f"{name} holds {x.dtype}; expected uint8 in 0..255, x.astype('uint8'), or floats in [0, 1], x / its "
            "largest possible value"
        )
    each = tuple(range(1, x.ndim))
    lows, highs = x.min(axis=each), x.max(axis=each)
    if len(bad := np.flatnonzero(~(np.isfinite(lows) & np.isfinite(highs)))):
        raise InputError(f"{where(int(bad[0]))} holds NaN or infinity: check how it was made")
    low, high = float(lows.min()), float(highs.max())
    if x.dtype == np.uint8:
        if high == 1:
            raise InputError(
                f"{name} is uint8 and holds 0 and 1 only, which is almost black in 0..255: give x.astype('float32') if "
                "1 means white"
            )
        return x
    if len(bad := np.flatnonzero((lows < 0.0) | (highs > 1.0))):
        raise InputError(
            f"{name} has values in [{low:.6g}, {high:.6g}]; expected floats in [0, 1]: "
            f"{into_unit_range(low, high)}; the first such image is {where(int(bad[0]))}"
        )
    if 0.0 < high <= TWICE:
        raise InputError(f"{name} has no value above {high:.4g}, of at most 1: was it divided by 255 twice?")
    return x if x.dtype == np.float32 else x.astype(np.float32)


def into_unit_range(low: float, high: float) -> str:
    """What brings images with values in [low, high], not all of them in [0, 1], into it.

    Example:
        >>> into_unit_range(0, 255)
        'divide by 255'
        >>> into_unit_range(0, 16)
        'divide by the largest value that they can have, 16 if it is among these (255 would leave none above 0.063)'
        >>> into_unit_range(-0.002, 1.0001)
        'so little comes of rounding or resizing: clip it, x.clip(0, 1)'
    """
    if low >= -SLIGHTLY and high <= 1.0 + SLIGHTLY:
        return "so little comes of rounding or resizing: clip it, x.clip(0, 1)"
    if low < 0.0:
        return "undo its normalisation, and leave that to the model"
    scale = next((scale for scale in FULL_SCALES if scale / 2 < high <= scale), None)
    if scale is not None:
        return f"divide by {scale}"
    dark = f" (255 would leave none above {high / 255:.2g})" if high < 255 else ""
    return f"divide by the largest value that they can have, {high:.6g} if it is among these{dark}"


def fitted(x: Pixels, fit: Fit | None, where: Where) -> Pixels:
    """`x` (N, C, H, W), each image resized and cropped as `fit` says."""
    if fit is None or not len(x):
        return x
    sides = fit.sides(x.shape[2:], where(0))
    height, width = fit.scaled(x.shape[2:])
    out = np.empty((*x.shape[:2], *sides), x.dtype)
    for image, place in zip(x.reshape(-1, *x.shape[2:]), out.reshape(-1, *sides), strict=True):
        place[:] = np.asarray(cut_centre(scaled(Image.fromarray(image), (height, width)), sides))
    return np.clip(out, 0.0, 1.0) if out.dtype == np.float32 else out


def tensor(x: Pixels) -> Tensor:
    """`x` as a tensor that may share its memory."""
    x = np.ascontiguousarray(x)
    return torch.from_numpy(x if x.flags.writeable else x.copy())


def from_arrays(x: Any, y: Any, name: str, request: Request, *, source: str = "arrays") -> TensorImages:
    """Images in an array (N, C, H, W), (N, H, W, C) or (N, H, W), uint8 or float in [0, 1], with labels (N,) or None.

    Args:
        x, y: the arrays or tensors.
        name: what to call x in errors.
        source: what to call the data set.

    Raises:
        InputError: values, shapes or labels that cannot be used; the message names the first image that has them.
    """

    def where(index: int) -> str:
        return f"image {index} of {name}"

    pixels = as_array(x)
    classes: tuple[str, ...] | None = None
    labels = None if y is None else as_array(y)
    if labels is not None and (labels.ndim == 0 or labels.shape[:1] != pixels.shape[:1]):
        raise InputError(f"{name} has the shape {pixels.shape}, and the labels {labels.shape}: give one label an image")
    pixels = images_first(pixels, name, None if labels is None else len(labels))
    if not pixels.size:
        raise InputError(f"no images in {name}: its shape is {pixels.shape}")
    if labels is None:
        found = no_labels(len(pixels))
    elif labels.dtype.kind == "U":
        found, classes = from_texts(labels.ravel().tolist(), where, source)
    else:
        found = from_numbers(labels, where)
    ready = fitted(check_values(pixels, name, where), request.fit, where)
    spec = own(source, {request.called: len(ready)}, classes, request.fit)
    numbered = tuple(str(k) for k in range(int(found.max()) + 1))
    shape = (ready.shape[1], ready.shape[2], ready.shape[3])
    spec = replace(spec, shape=shape, arch=arch_for(shape), classes=classes or numbered)
    return TensorImages(spec, request.called, tensor(ready), found, request.device)


def read_npz(path: Path, request: Request) -> TensorImages:
    """The images of a split in an .npz file: x_test and y_test, test_images and test_labels, ...

    Where no name has a split in it, such as x and y, or images and labels, the arrays are those of any split.

    Raises:
        InputError: it is damaged, or has no such arrays; the message lists what it has.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise InputError(f"{path} holds one array and no names: make it with np.savez(path, x=..., y=...)")
        with found as archive:
            split, arrays = _of_split(path, archive.files, request)
            image, label = request.columns.find(arrays, str(path))
            _check_sizes(path, archive)
            x, y = archive[arrays[image]], None if label is None else archive[arrays[label]]
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"{path} is a damaged .npz file: {shown(error) or type(error).__name__}") from error
    return from_arrays(x, y, str(path), replace(request, split=split), source=path.name)


def _of_split(path: Path, names: list[str], request: Request) -> tuple[str, dict[str, str]]:
    """The split that is read, and its arrays by their names without it: x_test and test_images are x and images."""
    parts = {name: found for name in names if (found := ARRAY.fullmatch(name))}
    words = {name: found[1] or found[3] for name, found in parts.items()}
    there = [split for split in SPLITS if set(NAMES[split]) & {*words.values()}]
    if not there or request.columns.image is not None:
        return request.called, {name: name for name in names}
    split = request.split or there[0]
    if split not in there:
        raise InputError(
            f"no split {split!r} in {path}; splits there: {', '.join(there)} (its arrays: {shown(', '.join(names))})"
        )
    word = next(word for word in NAMES[split] if word in words.values())
    return split, {parts[name][2]: name for name in parts if words[name] == word}


def _check_sizes(path: Path, archive: Any) -> None:
    """Raise InputError for an array that a small file claims to unpack to very much."""
    for info in archive.zip.infolist():
        if info.file_size > max(SMALL_BYTES, MOST_SWELLING * info.compress_size):
            raise InputError(
                f"{path} swells to {info.file_size:,} bytes in {shown(info.filename)}: save it with np.savez"
            )
