"""Where the splits of a data set are in a folder."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.data.dataset_spec import SPLITS, DatasetSpec
from randsmooth.data.encoded import Encoded, ImageFolder, class_folders
from randsmooth.data.table import read_parquet
from randsmooth.errors import InputError

# The names of the splits in a folder that is no data set with a name.
NAMES = {"train": ("train",), "test": ("test", "validation", "val")}

SHARD = re.compile(r"-[0-9]{1,9}-of-[0-9]{1,9}\.parquet$")
WORDNET_ID = re.compile(r"n\d{8}")


def open_split(folder: Path, split: str, spec: DatasetSpec | None = None) -> Encoded:
    """The split of the data set in `folder`: Parquet files, or a folder of class folders.

    With a `spec`, class folders are numbered in the order of its classes.

    Raises:
        InputError: there is no such split; the message says what was looked for and which splits exist.
    """
    files = split_files(folder, split, spec)
    if not files:
        raise InputError(_missing(folder, split, spec))
    if not files[0].is_dir():
        return read_parquet(files)
    # The training folder has every class; a test folder may lack some.
    train = split_files(folder, "train", spec)
    found = class_folders(train[0] if train and train[0].is_dir() else files[0])
    return ImageFolder(files[0], label_order(found, spec) if spec else found)


def present(folder: Path, spec: DatasetSpec | None = None) -> list[str]:
    """The splits that `folder` has."""
    return [split for split in SPLITS if split_files(folder, split, spec)]


def split_files(folder: Path, split: str, spec: DatasetSpec | None = None) -> list[Path]:
    """The Parquet files of a split, or only its folder of class folders; [] if there is neither."""
    # `hf download` puts the shards under data/ or under the name of the configuration.
    configured = [folder / spec.hub_config] if spec and spec.hub_config else []
    for name in (spec.files if spec else NAMES)[split]:
        for place in (folder, folder / "data", *configured):
            if files := _parquet(place, name):
                return files
        if (folder / name).is_dir():
            return [folder / name]
    return []


def recognised(folder: Path, spec: DatasetSpec) -> Encoded | None:
    """A split of `folder`, if the class names that it gives, if any, can be those of the spec; else None."""
    files = next((files for split in SPLITS if (files := split_files(folder, split, spec))), None)
    if files is None:
        return None
    if files[0].is_dir():
        order = _ordered(class_folders(files[0]), spec)
        return ImageFolder(files[0], order) if order else None
    table = read_parquet(files)
    return table if len(table.classes or spec.classes) == spec.num_classes else None


def label_order(found: tuple[str, ...], spec: DatasetSpec) -> tuple[str, ...]:
    """The class folders `found` in the order of the spec's labels.

    Raises:
        InputError: they are neither the spec's class names, nor WordNet ids in the number of its classes.
    """
    order = _ordered(found, spec)
    if order is None:
        raise InputError(
            f"the class folders {', '.join(found[:10])}, ... are not the classes of {spec.name}: "
            f"{', '.join(spec.classes[:10])}, ..."
        )
    return order


def _ordered(found: tuple[str, ...], spec: DatasetSpec) -> tuple[str, ...] | None:
    if set(found) <= set(spec.classes):
        return spec.classes
    # ImageNet's labels number the WordNet ids in alphabetical order.
    if len(found) == spec.num_classes and all(WORDNET_ID.fullmatch(name) for name in found):
        return found
    return None


def _parquet(place: Path, name: str) -> list[Path]:
    """`name`.parquet, or all of its shards in order. Raises InputError if a shard is missing."""
    if (place / f"{name}.parquet").is_file():
        return [place / f"{name}.parquet"]
    shards = sorted(path for path in place.glob(f"{name}-*-of-*.parquet") if SHARD.search(path.name) and path.is_file())
    if shards and len(shards) != int(shards[0].stem.rsplit("-", 1)[1]):
        raise InputError(f"{place} holds {len(shards)} of the shards {shards[0].name}, ...: fetch the others")
    return shards


def _missing(folder: Path, split: str, spec: DatasetSpec | None) -> str:
    names = (spec.files if spec else NAMES)[split]
    wanted = " or ".join(f"{name}.parquet or {name}/<class name>/" for name in names)
    return (
        f"no split {split!r} in {folder}: looked for {wanted}; "
        f"splits there: {', '.join(present(folder, spec)) or 'none'}"
    )
