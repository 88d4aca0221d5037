"""The images of data sets that have a name: made here, in a folder, or on the hub."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from randsmooth.data.array_values import fitted
from randsmooth.data.columns import USUAL
from randsmooth.data.dataset_spec import SPLITS, DatasetSpec, refitted
from randsmooth.data.datasets_library import from_hub
from randsmooth.data.encoded import Encoded
from randsmooth.data.encoded_splits import images_of_split
from randsmooth.data.folders import class_folders, image_folder
from randsmooth.data.images import Images, TensorImages
from randsmooth.data.parquet_images import read_parquet
from randsmooth.data.registry import DATASETS, HOME, folder_of, not_had
from randsmooth.data.request import Request
from randsmooth.data.shard_files import check_complete, parquet_files
from randsmooth.documents import refused
from randsmooth.errors import BadValue, NotFound, Problem, WrongData

# The names of ImageNet's class folders, such as n01440764.
WORDNET_ID = re.compile(r"n\d{8}")

# The most classes that an error lists.
CLASSES_LISTED = 10


def images_by_name(name: str, request: Request) -> Images:
    """Return the images of a data set that has a name.

    Raises:
        Problem: they are not there, or cannot be used.
    """
    if request.columns != USUAL:
        raise BadValue(
            f"{name} has known columns", fix="leave image_column and label_column out"
        )
    split = request.called
    spec = refitted(DATASETS[name], request.fit)
    if split not in spec.files:
        raise NotFound(
            f"no split {split!r} in {name}; splits there: {', '.join(spec.files)}",
            field="split",
            value=split,
        )
    if spec.read is not None:
        return _made(spec, split, request)

    # An OSError of damaged files becomes a Problem.
    with refused(f"{name} cannot be read", OSError):
        encoded = _encoded(spec, split)
    # The folder may hold only a part of the data set.
    spec = replace(spec, sizes=spec.sizes | {split: len(encoded)})
    return images_of_split(_with_names(spec, encoded), split, encoded, request)


def _made(spec: DatasetSpec, split: str, request: Request) -> Images:
    """Return the images of a data set whose spec has a function that makes them."""
    assert spec.read is not None
    x, y = spec.read(split)
    if request.fit is not None:
        x = fitted(x, spec.fit, lambda index: f"image {index} of {spec.name}")
    pixels = torch.from_numpy(x)
    labels = torch.from_numpy(y.astype(np.int64))
    return TensorImages(spec, split, pixels, labels, request.device)


def _with_names(spec: DatasetSpec, encoded: Encoded) -> DatasetSpec:
    """Return `spec` with the names that the data give its classes, if it only numbers them."""
    numbers = tuple(map(str, range(spec.num_classes)))
    names = encoded.classes
    if names and len(names) == spec.num_classes and spec.classes == numbers:
        return replace(spec, classes=names)
    return spec


def _encoded(spec: DatasetSpec, split: str) -> Encoded:
    """Return a split of compressed images, from the folder on this machine or from the hub.

    Raises:
        Problem: it is in neither of them.
    """
    folder = folder_of(spec.name)
    if folder.is_dir():
        return open_named(folder, split, spec)
    if spec.hub is None:
        raise NotFound(
            f"{spec.name} is a local folder only",
            field="dataset",
            value=spec.name,
            fix=f"put it at {folder} (set {HOME} to its parent)",
        )
    try:
        return from_hub(spec, split)
    except Problem as error:
        raise not_had(spec, error) from error


def open_named(folder: Path, split: str, spec: DatasetSpec) -> Encoded:
    """Return a split of a named data set that lies in `folder`.

    Class folders get the numbers that the data set gives their classes.

    Raises:
        NotFound: there is no such split; the message says what was looked for and which
            splits exist.
    """
    files = _files_of(folder, split, spec)
    if not files:
        raise _no_split(folder, split, spec)
    if not files[0].is_dir():
        return read_parquet(files)

    # The training folder has every class; a test folder may lack some.
    train = _files_of(folder, "train", spec)
    has_train_folder = bool(train) and train[0].is_dir()
    classes = class_folders(train[0] if has_train_folder else files[0])
    return image_folder(files[0], label_order(tuple(classes), spec))


def _no_split(folder: Path, split: str, spec: DatasetSpec) -> NotFound:
    """Return the problem of a folder without files of a split."""
    looked_for = " or ".join(
        f"{name}.parquet or {name}/<class name>/" for name in spec.files[split]
    )
    there = [other for other in SPLITS if _files_of(folder, other, spec)]
    return NotFound(
        f"no split {split!r} in {folder}: looked for {looked_for}; splits there: "
        f"{', '.join(there) or 'none'}",
        field="split",
        value=split,
    )


def _files_of(folder: Path, split: str, spec: DatasetSpec) -> list[Path]:
    """Return the Parquet files of a split of a named data set, or else its folder.

    The list is empty if there is neither.
    """
    # `hf download` puts the shards under data/, or under the configuration's name.
    places = [folder, folder / "data"]
    if spec.hub_config:
        places.append(folder / spec.hub_config)
    for name in spec.files[split]:
        for place in places:
            files = parquet_files(place).get(name)
            if files:
                return check_complete(files)
        if (folder / name).is_dir():
            return [folder / name]
    return []


def label_order(names: tuple[str, ...], spec: DatasetSpec) -> tuple[str, ...]:
    """Return the names of all class folders of a named data set, in the order of its labels.

    Args:
        names: the class folders that are there, in alphabetical order.
        spec: the data set.

    Raises:
        WrongData: the folders cannot be those of its classes.
    """
    # A test folder may lack some of them.
    if set(names) <= set(spec.classes):
        return spec.classes
    # ImageNet's labels number the WordNet ids in alphabetical order.
    all_ids = all(WORDNET_ID.fullmatch(name) for name in names)
    if all_ids and len(names) == spec.num_classes:
        return names
    raise WrongData(
        f"the class folders {', '.join(names[:CLASSES_LISTED])}, ... are not the "
        f"classes of {spec.name}: {', '.join(spec.classes[:CLASSES_LISTED])}, ..."
    )
