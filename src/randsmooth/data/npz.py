"""Arrays of images and labels in an .npz file, under the names that are usual."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.data.columns import NONE, USUAL, WAY, ColumnNames
from randsmooth.data.dataset_spec import SPLITS
from randsmooth.data.layout import NAMES
from randsmooth.documents import shown
from randsmooth.errors import InputError

# What reading a damaged archive raises.
DAMAGED = (OSError, ValueError, EOFError, KeyError, MemoryError, OverflowError, RuntimeError, SyntaxError, TypeError)
BROKEN = (*DAMAGED, zipfile.BadZipFile, zlib.error, NotImplementedError)

IMAGES, LABELS = ("x", "X", "images", "data", "image"), ("y", "Y", "labels", "targets", "label")

# How large an array may become in memory: so many times its packed size, or so many bytes.
MOST_SWELLING, SMALL_BYTES = 64, 2**27


def read_npz(path: Path, split: str, columns: ColumnNames = USUAL) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The images and the labels, if there are any, of a split: x_test and y_test, test_images and test_labels, ...

    Where no name has a split in it, such as x and y, or images and labels, the arrays are those of any split.

    Raises:
        InputError: it is damaged, or has no such arrays; the message lists what it has.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise InputError(f"{path} holds one array and no names: make it with np.savez(path, x=..., y=...)")
        with found as archive:
            image, label = _names(path, list(archive.files), split, columns)
            _check_sizes(path, archive)
            return archive[image], None if label is None else archive[label]
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"{path} is a damaged .npz file: {shown(error) or type(error).__name__}") from error


def splits_in(path: Path) -> list[str]:
    """The splits that the names of the arrays tell; [] where they tell none."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
    except BROKEN as error:
        raise InputError(f"{path} is a damaged .npz file: {shown(error) or type(error).__name__}") from error
    return [split for split in SPLITS if _of_split(names, split, IMAGES)]


def _names(path: Path, names: list[str], split: str, columns: ColumnNames) -> tuple[str, str | None]:
    """The names of the two arrays."""
    there = [each for each in SPLITS if _of_split(names, each, IMAGES)]
    if columns.image is None and there and split not in there:
        raise InputError(
            f"no split {split!r} in {path}; splits there: {', '.join(there)} (its arrays: {_listed(names)})"
        )
    image = _chosen(path, names, split, columns.image, IMAGES)
    if image is None:
        raise InputError(f"{path} has the arrays {_listed(names)}, none called x, images or x_{split}: {WAY}")
    if columns.label == NONE and NONE not in names:
        return image, None
    label = _chosen(path, names, split, columns.label, LABELS)
    others = [name for name in names if name != image and not _of_split([name], *_other(split))]
    if label is None and others:
        raise InputError(
            f"{path} has the arrays {_listed(names)}, none called y, labels or y_{split}: {WAY}; --label-column {NONE} "
            "says that there are no labels"
        )
    return image, label


def _other(split: str) -> tuple[str, tuple[str, ...]]:
    return next(each for each in SPLITS if each != split), (*IMAGES, *LABELS)


def _chosen(path: Path, names: list[str], split: str, asked: str | None, usual: tuple[str, ...]) -> str | None:
    if asked is None:
        return _of_split(names, split, usual) or next((name for name in usual if name in names), None)
    if asked not in names:
        raise InputError(f"{path} has no array {shown(repr(asked))}; it has {_listed(names)}")
    return asked


def _of_split(names: list[str], split: str, usual: tuple[str, ...]) -> str | None:
    """The name in which both the split and one of the `usual` names occur, such as x_test or test_images."""
    wanted = [each for s in NAMES[split] for name in usual for each in (f"{name}_{s}", f"{s}_{name}")]
    return next((name for name in wanted if name in names), None)


def _check_sizes(path: Path, archive: Any) -> None:
    """Raise InputError for an array that a small file claims to unpack to very much."""
    for info in archive.zip.infolist():
        if info.file_size > max(SMALL_BYTES, MOST_SWELLING * info.compress_size):
            raise InputError(
                f"{path} swells to {info.file_size:,} bytes in {shown(info.filename)}: save it with np.savez"
            )


def _listed(names: list[str]) -> str:
    return shown(", ".join(names)) or "none"
