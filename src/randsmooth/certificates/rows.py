"""The checks on the arrays of a table before anything is derived from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from randsmooth.errors import InputError

Array = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.uint8]
WHOLE, REAL = "iu", "f"  # kinds of NumPy types


def check_rows(
    idx: Array, label: Array, counts0: Array, counts: Array, seconds: Array, paths: Sequence[Array] | None
) -> None:
    """Raise InputError unless these are N rows of K classes in the shapes and types that `Certificates` names.

    Images are numbered from 0, each has one row, and times are finite and not below 0.
    """
    N = len(idx) if isinstance(idx, np.ndarray) and idx.ndim == 1 else 0
    K = counts.shape[1] if isinstance(counts, np.ndarray) and counts.ndim == 2 else 1
    shapes = {"idx": (N,), "label": (N,), "counts0": (N, max(1, K)), "counts": (N, max(1, K)), "seconds": (N,)}
    arrays = {"idx": idx, "label": label, "counts0": counts0, "counts": counts, "seconds": seconds}
    for name, array in arrays.items():
        _check_array(name, array, shapes[name], WHOLE + REAL if name == "seconds" else WHOLE)
    check_images(idx)
    wrong = np.flatnonzero(~np.isfinite(seconds) | (seconds < 0))
    if len(wrong):
        raise InputError(f"image {idx[wrong[0]]} took {seconds[wrong[0]]} seconds; expected a finite number from 0")
    if paths is not None and len(paths) != N:
        raise InputError(f"there are looks of {len(paths):,} images, and {N:,} images")
    for path in paths or ():
        _check_array("a path", path, (len(path),), WHOLE)


def check_origin(N: int, machine: Array | None, machines: int, image: Array | None) -> None:
    """Raise InputError unless `machine` (N,) numbers some of the `machines`, or is -1, and `image` is (N, 32) bytes."""
    if machine is not None:
        _check_array("machine", machine, (N,), WHOLE)
        wrong = np.flatnonzero((machine < -1) | (machine >= machines))
        if len(wrong):
            raise InputError(f"row {wrong[0]} is of machine {machine[wrong[0]]}, and the header tells {machines}")
    if image is not None:
        _check_array("image", image, (N, 32), "u")


def check_uniform(N: int, bound: str | None, u: Array | None) -> None:
    """Raise InputError unless `u` holds N numbers in (0, 1) under the randomised bound, and is None under others."""
    if (u is None) == (bound == "randomised"):
        raise InputError(
            f"bound={bound}, and u is {'missing' if u is None else 'given'}: only the randomised bound keeps a uniform "
            "number of each image; certify again to get them"
        )
    if u is not None:
        _check_array("u", u, (N,), REAL)
        if not np.all((u > 0.0) & (u < 1.0)):
            raise InputError("u must hold numbers strictly between 0 and 1")


def _check_array(name: str, array: Array, shape: tuple[int, ...], kinds: str) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind not in kinds:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        what = "numbers" if REAL in kinds else "whole numbers"
        raise InputError(f"{name} must be an array of {what} of shape {shape}; got {got}")


def check_images(idx: Array) -> None:
    """Raise InputError for an image below 0, or there twice."""
    if len(idx) and idx.min() < 0:
        raise InputError(f"image {idx.min()} is not a position; positions start at 0")
    unique, times = np.unique(idx, return_counts=True)
    if len(unique) < len(idx):
        raise InputError(
            f"the table holds image {unique[times > 1][0]} twice; it has one row per image. Were tables put together "
            "by hand? `randsmooth merge` puts shards together"
        )


def check_predictions(label: Array, predict: Array, radius: Array) -> None:
    """Raise InputError unless these (N,) are labels from 0, classes or -1, and radii that such predictions can have."""
    for what, wrong in (
        ("radius", ~((radius >= 0.0) & np.isfinite(radius))),
        ("label", label < 0),
        ("predict", predict < -1),
    ):
        if np.any(wrong):
            row = int(np.flatnonzero(wrong)[0])
            value = {"radius": radius, "label": label, "predict": predict}[what][row]
            raise InputError(f"{what}={value} in row {row} makes no sense: radii are finite numbers >= 0, classes >= 0")
    held = np.flatnonzero((predict == -1) & (radius > 0.0))
    if len(held):
        raise InputError(f"radius={radius[held[0]]} in row {held[0]}, where predict=-1 abstains; expected 0")
