"""Where the splits of a data set are in a folder."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.dataset_spec import SPLITS, DatasetSpec
from randsmooth.data.encoded import Encoded, ImageFiles, ImageFolder, class_folders, image_files
from randsmooth.data.labels import no_labels
from randsmooth.data.table import read_parquet
from randsmooth.data.tar_shards import TarShards
from randsmooth.errors import InputError

# The names of the splits in a folder that is no data set with a name.
NAMES = {"train": ("train",), "test": ("test", "validation", "val")}

SHARD = re.compile(r"-[0-9]{1,9}-of-[0-9]{1,9}\.parquet$")
TAR = ".tar"
WORDNET_ID = re.compile(r"n\d{8}")


def open_split(folder: Path, split: str, spec: DatasetSpec | None = None, columns: ColumnNames = USUAL) -> Encoded:
    """The split of the data set in `folder`: Parquet or tar files, or a folder of class folders or of images.

    With a `spec`, class folders are numbered in the order of its classes.

    Raises:
        InputError: there is no such split; the message says what was looked for and which splits exist.
    """
    files = split_files(folder, split, spec)
    if not files:
        raise InputError(_missing(folder, split, spec))
    if not files[0].is_dir():
        return TarShards(files, columns) if files[0].suffix == TAR else read_parquet(files, columns)
    if spec is None and image_files(files[0]):
        return flat(files[0])
    # The training folder has every class; a test folder may lack some.
    train = split_files(folder, "train", spec)
    found = class_folders(train[0] if train and train[0].is_dir() else files[0])
    return ImageFolder(files[0], label_order(found, spec) if spec else found)


def open_whole(folder: Path, columns: ColumnNames = USUAL) -> Encoded | None:
    """The images of a folder without splits: tar files, class folders, or only images; None if there are none.

    Raises:
        InputError: images beside folders of images.
    """
    if shards := sorted(path for path in folder.glob(f"*{TAR}") if path.is_file()):
        return TarShards(shards, columns)
    if image_files(folder):
        return flat(folder)
    found = class_folders(folder)
    encoded = ImageFolder(folder, found) if found else None
    return encoded if encoded is not None and len(encoded.labels) else None


def flat(folder: Path) -> ImageFiles:
    """The images in a folder, without labels, in the order of their names."""
    paths = image_files(folder)
    beside = next((name for name in class_folders(folder) if image_files(folder / name)), None)
    if beside is not None:
        raise InputError(
            f"{folder} holds images, such as {paths[0].name}, beside folders of images, such as {beside}: put every "
            "image into the folder of its class, or none"
        )
    return ImageFiles(paths, no_labels(len(paths)))


def present(folder: Path, spec: DatasetSpec | None = None) -> list[str]:
    """The splits that `folder` has."""
    return [split for split in SPLITS if split_files(folder, split, spec)]


def split_files(folder: Path, split: str, spec: DatasetSpec | None = None) -> list[Path]:
    """The Parquet or tar files of a split, or only its folder; [] if there is neither."""
    # `hf download` puts the shards under data/ or under the name of the configuration.
    configured = [folder / spec.hub_config] if spec and spec.hub_config else []
    for name in (spec.files if spec else NAMES)[split]:
        for place in (folder, folder / "data", *configured):
            if files := _parquet(place, name) or (_tars(place, name) if spec is None else []):
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


def _tars(place: Path, name: str) -> list[Path]:
    """`name`.tar, or `name`-0000.tar and so on, in order."""
    return sorted(path for path in place.glob(f"{name}*{TAR}") if path.stem == name or path.stem[len(name)] in "-_")


def _missing(folder: Path, split: str, spec: DatasetSpec | None) -> str:
    names = (spec.files if spec else NAMES)[split]
    wanted = " or ".join(f"{name}.parquet or {name}/<class name>/" for name in names)
    return (
        f"no split {split!r} in {folder}: looked for {wanted}; "
        f"splits there: {', '.join(present(folder, spec)) or 'none'}"
    )
