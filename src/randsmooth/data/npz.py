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
    ... Where no name has a split in it, such as x and y, or images and labels, the
    arrays are those of any split.

    Raises:
        Problem: it is damaged, or has no such arrays; the message lists what it has.
    """
    no_archive = f"{path} is no .npz file of np.savez(path, x=..., y=...), or damaged"
    # NumPy would read an array alone in whole, however large it says it is.
    if not begins_as_zip(path):
        kind = what_it_is(path) or "is no zip archive"
        raise WrongFile(f"{no_archive}: it {kind}")

    # Damage makes zip and NumPy raise whatever they like, and one array has no names.
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
    """Return the split that is taken, and each split -> its arrays."""
    groups = arrays_by_word(archive.files, path)
    if request.columns.label == NONE:
        groups = without_labels(groups)
    split, splits = arrays_of_splits(groups, request, path)

    if request.columns.label is None:
        lengths = {name: _length(archive, name) for name in all_names(groups)}
        splits[split] = paired(
            splits[split], request.columns.image, groups, lengths, path
        )
    return split, splits


def _sizes(archive: Any, splits: Mapping[str, Arrays], image: str) -> dict[str, int]:
    """Return how many images each split has, where their array says it."""
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
    """Return N of an array (N, ...); None where it does not say it."""
    header = _header(archive, name)
    if header is None:
        return None
    shape, _ = header
    return shape[0] if shape else None


def _header(archive: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return shape and type of an array, of which nothing else is read.

    None where the member of that name is no .npy file, or does not say it.
    """
    if f"{name}.npy" not in archive.zip.namelist():
        return None
    with archive.zip.open(f"{name}.npy") as member:
        return array_header(member)
