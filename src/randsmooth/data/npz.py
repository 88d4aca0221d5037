"""Arrays of images and labels in an .npz file, which may be damaged or malicious."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth.contents import (
    array_header,
    begins_as_zip,
    check_array_holds,
    what_it_is,
)
from randsmooth.data.array_values import Array
from randsmooth.data.arrays import from_arrays
from randsmooth.data.columns import NONE
from randsmooth.data.decode import check_swelling
from randsmooth.data.images import TensorImages
from randsmooth.data.npz_names import (
    Arrays,
    all_names,
    arrays_by_word,
    arrays_of_splits,
    paired,
    without_labels,
)
from randsmooth.data.request import Request
from randsmooth.documents import refused, shown
from randsmooth.errors import WrongData, WrongFile


def read_npz(path: Path, request: Request) -> TensorImages:
    """Return the images of a split in an .npz file.

    Arrays are called x_test and y_test, test_images and test_labels, trainX and trainY,
    ... Where no name tells a split, such as x and y, or images and labels, the arrays are
    given as any split that is asked for.

    Raises:
        Problem: it is damaged, or has no such arrays; the message lists what it has.
    """
    no_archive = (
        f"{path} is damaged, or not a .npz file of np.savez(path, x=..., y=...)"
    )
    # NumPy would read a file that is a single array whole, however large it says it is.
    if not begins_as_zip(path):
        kind = what_it_is(path) or "is no zip archive"
        raise WrongFile(f"{no_archive}: it {kind}")

    # A damaged file may make zip and NumPy raise anything.
    with refused(no_archive), np.load(path, allow_pickle=False) as archive:
        split, splits = _splits(archive, request, path)
        image, label = request.columns.find(splits[split], str(path))
        for info in archive.zip.infolist():
            check_swelling(path, info.file_size, info.compress_size)
        # NumPy warns of headers that Python 2 wrote.
        with warnings.catch_warnings(action="ignore"):
            x = _array(archive, splits[split][image], path)
            y = None if label is None else _array(archive, splits[split][label], path)
            sizes = _sizes(archive, splits, image)

    request = replace(request, whole=split)
    images = from_arrays(x, y, str(path), request, source=path.name)
    images.spec = replace(images.spec, sizes=sizes | {split: len(images)})
    return images


def _splits(
    archive: Any, request: Request, path: Path
) -> tuple[str, dict[str, Arrays]]:
    """Return which split is taken, and split -> its arrays.

    Args:
        archive: the opened file.
        request: the split and the columns that the user asks for.
        path: the file, for errors.
    """
    groups = arrays_by_word(archive.files, path)
    if request.columns.label == NONE:
        groups = without_labels(groups)
    split, splits = arrays_of_splits(groups, request, path)

    # Where the user names no labels, `paired` looks by names and lengths which array of
    # labels belongs to the images.
    if request.columns.label is None:
        lengths = {name: _length(archive, name) for name in all_names(groups)}
        splits[split] = paired(
            splits[split], request.columns.image, groups, lengths, path
        )
    return split, splits


def _sizes(archive: Any, splits: Mapping[str, Arrays], image: str) -> dict[str, int]:
    """Return split -> the number of its images, where the header of an array tells it."""
    sizes = dict[str, int]()
    for split, arrays in splits.items():
        length = _length(archive, arrays[image]) if image in arrays else None
        if length is not None:
            sizes[split] = length
    return sizes


def _array(archive: Any, name: str, path: Path) -> Array:
    """Return one array of an .npz file.

    Raises:
        WrongData: it holds Python objects, which could run a program when loaded.
        WrongFile: it is too short for what its header states.
    """
    header = _header(archive, name)
    if header is not None:
        shape, kind = header
        called = f"the array {shown(repr(name))} of {path}"
        if kind.hasobject:
            raise WrongData(
                f"{called} holds Python objects, which are not loaded from files",
                fix="save y.astype(str) of names, and np.stack(x) of images of one "
                "size",
            )
        file_size = archive.zip.getinfo(f"{name}.npy").file_size
        check_array_holds(called, shape, kind, file_size)
    array: Array = archive[name]
    return array


def _length(archive: Any, name: str) -> int | None:
    """Return N of an array (N, ...); None where its header does not tell it."""
    header = _header(archive, name)
    if header is None:
        return None
    shape, _ = header
    return shape[0] if shape else None


def _header(archive: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return the shape and type of an array, of which only the header is read.

    The answer is None where there is no .npy file of that name, or its header does not tell.
    """
    if f"{name}.npy" not in archive.zip.namelist():
        return None
    with archive.zip.open(f"{name}.npy") as member:
        return array_header(member)
