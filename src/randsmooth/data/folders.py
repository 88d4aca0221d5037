"""Folders of images: of splits, of classes, flat ones, and of Parquet or tar files."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from randsmooth.data.dataset_spec import SPLITS, DatasetSpec
from randsmooth.data.decode import Encoded
from randsmooth.data.labels import (
    NONE,
    USUAL,
    ColumnNames,
    check_names,
    in_class_order,
    no_labels,
)
from randsmooth.data.lists import SUFFIXES as LISTS
from randsmooth.data.lists import ImageList, read_list
from randsmooth.data.notes import tell
from randsmooth.data.registry import unknown_form
from randsmooth.data.splits import FILLERS, WHOLE, split_in, split_of, splits_beside
from randsmooth.data.tables import parquet_splits, read_parquet
from randsmooth.data.tars import read_tars, tar_splits
from randsmooth.data.walking import LeftOut, images_below, is_system, scan
from randsmooth.documents import shown
from randsmooth.errors import NotFound, Problem, WrongData
from randsmooth.notes import Note

SHARD = re.compile(r"-[0-9]{1,9}-of-[0-9]{1,9}\.parquet$")
NUMBER = re.compile(r"[-_.]?[0-9]+$")  # of a tar file among others
TAR = ".tar"
WORDNET_ID = re.compile(r"n\d{8}")

# What Hugging Face calls the list of the images that it lies beside.
METADATA = "metadata"


def of_files(
    paths: list[Path], labels: Tensor, classes: tuple[str, ...] | None = None
) -> Encoded:
    """Image files at `paths`, and their labels (N,)."""
    return Encoded(labels, classes, "a folder", paths.__getitem__, paths)


def class_folders(root: Path) -> dict[str, Path]:
    """The classes of the folders in `root`, in their order, and where each lies.

    Names are composed however the disk has them.

    Raises:
        Problem: a folder that cannot name a class.
    """
    _, folders = scan(root)
    places = dict(
        zip(
            check_names([folder.name for folder in folders], str(root)),
            folders,
            strict=True,
        )
    )
    return {name: places[name] for name in in_class_order(places)}


def image_folder(root: Path, classes: tuple[str, ...]) -> Encoded:
    """A folder of class folders of image files, also of folders in them; class k is the k-th of `classes`.

    What is left out is told in a `Note`.

    Raises:
        Problem: `root` holds a class folder that is not in `classes`.
    """
    places, left = class_folders(root), LeftOut(root)
    if extra := set(places) - set(classes):
        raise WrongData(
            f"{root} has the class folder {min(extra)!r}; known are {', '.join(classes)}"
        )
    scan(root, left)
    found = [
        images_below(places.get(name, root / name), left, in_class=True)
        for name in classes
    ]
    left.tell()
    labels = torch.tensor(
        [label for label, paths in enumerate(found) for _ in paths], dtype=torch.int64
    )
    return of_files([path for paths in found for path in paths], labels, classes)


def own_classes(root: Path) -> Encoded:
    """A folder of class folders in their own order, with a `Note` of those without images; errors as `image_folder`."""
    places = class_folders(root)
    _check_one_folder(root, places)
    classes = tuple(places)
    encoded = image_folder(root, classes)
    filled = set(encoded.labels.tolist())
    empty = [name for label, name in enumerate(classes) if label not in filled]
    if filled and empty:
        tell(
            Note(
                "empty_class_folders",
                root=str(root),
                number=len(empty),
                classes=len(classes),
                first=empty[0],
            )
        )
    return encoded


def flat(folder: Path, columns: ColumnNames = USUAL) -> dict[str, Encoded]:
    """The images in a folder in the order of their names, without labels; or in that of a list beside them, with its.

    What is left out is told in a `Note`.

    Returns:
        The name of each split, as the list says, -> its images; WHOLE alone where nothing is said of splits.

    Raises:
        Problem: folders of images beside them, or a list of Hugging Face's that cannot be read.
    """
    paths, folders = scan(folder)
    beside = next((each for each in folders if images_below(each)), None)
    if beside is not None:
        mixed = (
            f"{folder} holds {paths[0].name} beside folders of images, as {beside.name}"
        )
        raise WrongData(f"{mixed}: put all into folders")
    listed = None if columns.label == NONE else _list_beside(folder, paths, columns)
    left = LeftOut(folder, [] if listed is None else [listed.path])
    scan(folder, left)
    left.tell()
    if listed is None:
        return {WHOLE: of_files(paths, no_labels(len(paths)))}
    return {word: listed.images(rows) for word, rows in listed.splits.items()}


def _list_beside(
    folder: Path, paths: list[Path], columns: ColumnNames
) -> ImageList | None:
    """The one list beside the images at `paths`; None, with a `Note`, where it cannot be read.

    It may come from a stranger, so that it opens no file of another folder.
    """
    lists = lists_in(folder)
    meant = [path for path in lists if path.stem == METADATA] or lists
    if len(meant) != 1:
        return None
    (path,) = meant
    try:
        listed = read_list(path, columns)
        places = listed.places(range(len(listed.files)), among=paths)
    except Problem as error:
        if path.stem == METADATA:
            raise
        tell(
            Note(
                "list_not_read",
                list=path.name,
                folder=str(folder),
                reason=str(error),
            )
        )
        return None
    named = set(places)
    if missing := [each for each in paths if each not in named]:
        tell(
            Note(
                "list_lacks_images",
                path=str(path),
                number=len(missing),
                images=len(paths),
                first=missing[0].name,
            )
        )
    tell(Note("labels_of_list", folder=str(folder), list=path.name))
    return listed


def lists_in(folder: Path) -> list[Path]:
    """The lists, of images perhaps, in a folder."""
    found = (
        path
        for path in folder.iterdir()
        if path.suffix.lower() in LISTS and not is_system(path.name)
    )
    return sorted(path for path in found if path.is_file())


def open_named(folder: Path, split: str, spec: DatasetSpec) -> Encoded:
    """The split of the data set with a name in `folder`, whose class folders are numbered as its classes are.

    Raises:
        Problem: there is no such split; the message says what was looked for and which splits exist.
    """
    files = _files_of(folder, split, spec)
    if not files:
        wanted = " or ".join(
            f"{name}.parquet or {name}/<class name>/" for name in spec.files[split]
        )
        there = (
            ", ".join(each for each in SPLITS if _files_of(folder, each, spec))
            or "none"
        )
        raise NotFound(
            f"no split {split!r} in {folder}: looked for {wanted}; splits there: {there}"
        )
    if not files[0].is_dir():
        return read_parquet(files)
    # The training folder has every class; a test folder may lack some.
    train = _files_of(folder, "train", spec)
    found = class_folders(train[0] if train and train[0].is_dir() else files[0])
    return image_folder(files[0], label_order(tuple(found), spec))


def _files_of(folder: Path, split: str, spec: DatasetSpec) -> list[Path]:
    """The Parquet files of a split of a data set with a name, or only its folder; [] if there is neither."""
    # `hf download` puts the shards under data/ or under the name of the configuration.
    configured = [folder / spec.hub_config] if spec.hub_config else []
    for name in spec.files[split]:
        for place in (folder, folder / "data", *configured):
            if files := _parquets(place).get(name):
                return _whole(files)
        if (folder / name).is_dir():
            return [folder / name]
    return []


def splits_in(folder: Path) -> dict[str, list[Path]]:
    """The name of each split in a folder of a user's own -> its Parquet or tar files, or only its folder.

    What lies beside the splits is told in a `Note`.

    Raises:
        Problem: one folder is called like a split, and others that hold images are not.
    """
    images, folders = scan(folder)
    found = {each.name: [each] for each in folders if split_of(each.name)}
    for place in (folder, folder / "data"):
        files = {
            name: paths
            for name, paths in (_parquets(place) | _tars(place)).items()
            if split_in(name)
        }
        if files:
            found |= files
            break
    if not found:
        alike = splits_beside(each.name for each in folders)
        found = {each.name: [each] for each in folders if each.name in alike}
    if found:
        _tell_beside(folder, found, images, folders)
    return {
        name: [within_itself(path) for path in paths] for name, paths in found.items()
    }


def within_itself(folder: Path) -> Path:
    """Return the folder of class folders that lies in one of its own name, as archives are often unpacked.

    That is `folder` itself, unless it holds only another of its name, in which there are folders and no images.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     Path(place, "photos", "photos", "cat").mkdir(parents=True)
        ...     within_itself(Path(place, "photos")).relative_to(place).as_posix()
        'photos/photos'
    """
    images, folders = scan(folder)
    alone = not images and len(folders) == 1
    if not alone or folders[0].name != folder.resolve().name or lists_in(folder):
        return folder
    images_within, folders_within = scan(folders[0])
    if images_within or not folders_within:
        return folder
    left = LeftOut(folder)
    scan(folder, left)
    left.tell()
    return folders[0]


def _tell_beside(
    folder: Path,
    found: Mapping[str, list[Path]],
    images: list[Path],
    folders: list[Path],
) -> None:
    """Give a `Note` of what lies beside the splits that were `found`; Problem where it may be classes."""
    used = {path for paths in found.values() for path in paths}
    others = {
        each: below
        for each in folders
        if each not in used and (below := images_below(each))
    }
    if others and len(used) == 1 and used <= set(folders):
        (split,) = used
        way = f"give {split} alone, or put the others elsewhere; rename {split.name} if it is a class"
        beside = f"{folder} holds {split.name}, the name of a split, beside {next(iter(others)).name}"
        raise WrongData(f"{beside}: {way}")
    if paths := [*images, *(path for below in others.values() for path in below)]:
        tell(_images_beside(folder, "its splits", paths))
    left = LeftOut(folder, used)
    scan(folder, left)
    left.tell()


def _images_beside(folder: Path, beside: str, paths: Sequence[Path]) -> Note:
    """Return the note of images that lie beside what is read of a folder."""
    return Note(
        "images_beside",
        folder=str(folder),
        number=len(paths),
        beside=beside,
        first=str(paths[0].relative_to(folder)),
    )


def open_files(
    files: list[Path], train: list[Path], columns: ColumnNames = USUAL
) -> Encoded:
    """A split by its Parquet or tar files, or its folder of class folders or of images.

    Args:
        files: of the split.
        train: those of the training split, whose folder has every class; a test folder may lack some.
        columns: the columns that hold images and labels.
    """
    if not files[0].is_dir():
        return (
            read_tars(files, columns)
            if files[0].suffix == TAR
            else read_parquet(_whole(files), columns)
        )
    images, _ = scan(files[0])
    if images:
        found = flat(files[0], columns)
        if set(found) != {WHOLE}:
            way = f"give {files[0]} alone for them, or take that column out"
            raise WrongData(
                f"{files[0]} is a split by its name, and a list in it says splits: {way}"
            )
        return found[WHOLE]
    if train and train[0].is_dir() and train != files:
        return image_folder(files[0], tuple(class_folders(train[0])))
    return own_classes(files[0])


def open_whole(folder: Path, columns: ColumnNames = USUAL) -> dict[str, Encoded]:
    """The images of a folder whose files and folders are not called like splits.

    Returns:
        The name of each split, as what is in the files says, -> its images; WHOLE alone where nothing is said.

    Raises:
        Problem: there are none, or images beside folders of images, or one folder that may be a class or not.
    """
    parquets = [path for paths in _parquets(folder).values() for path in _whole(paths)]
    tars = [path for paths in _tars(folder).values() for path in paths]
    if parquets and tars:
        raise WrongData(
            f"{folder} holds Parquet and tar files, as {parquets[0].name} and {tars[0].name}: give one kind"
        )
    if files := sorted(parquets or tars):
        _tell_beside_files(folder, files)
        return (
            parquet_splits(files, columns) if parquets else tar_splits(files, columns)
        )
    images, _ = scan(folder)
    if images:
        return flat(folder, columns)
    encoded = own_classes(folder)
    if not len(encoded):
        raise unknown_form(f"no data set in {folder}")
    return {WHOLE: encoded}


def _tell_beside_files(folder: Path, files: list[Path]) -> None:
    """Give a `Note` of what lies beside Parquet or tar files."""
    left = LeftOut(folder, files)
    scan(folder, left)
    left.tell()
    if paths := images_below(folder):
        tell(_images_beside(folder, files[0].name, paths))


def _check_one_folder(folder: Path, classes: Mapping[str, Path]) -> None:
    """Raise Problem where all images lie in one folder, whose name, place or folders say that it may be no class."""
    filled = list(
        islice(
            (place for place in classes.values() if images_below(place, in_class=True)),
            2,
        )
    )
    if len(filled) != 1:
        return
    if lists := lists_in(folder):
        way = f"give {lists[0]} for the labels in it, or {filled[0]} without labels"
        raise WrongData(
            f"{folder} holds images in {filled[0].name} alone, beside {lists[0].name}: {way}"
        )
    images, folders = scan(filled[0])
    if not images:
        way = f"give {filled[0]} if these are the classes"
        raise WrongData(
            f"{folder} holds images in {filled[0].name} alone, in the folders {_some(folders)}: {way}"
        )
    if filled[0].name.casefold() in FILLERS:
        way = f"give {filled[0]} where these are images without labels, or rename it if it is a class"
        raise WrongData(
            f"{folder} holds images in {filled[0].name} alone, which is hardly a class: {way}"
        )


def _some(folders: list[Path]) -> str:
    more = ", ..." if len(folders) > 3 else ""
    return shown(", ".join(folder.name for folder in folders[:3]) + more)


def label_order(found: tuple[str, ...], spec: DatasetSpec) -> tuple[str, ...]:
    """The class folders in the order of the spec's labels. Raises Problem where they cannot be its classes."""
    if set(found) <= set(spec.classes):
        return spec.classes
    # ImageNet's labels number the WordNet ids in alphabetical order.
    if len(found) == spec.num_classes and all(
        WORDNET_ID.fullmatch(name) for name in found
    ):
        return found
    classes = f"the classes of {spec.name}: {', '.join(spec.classes[:10])}, ..."
    raise WrongData(f"the class folders {', '.join(found[:10])}, ... are not {classes}")


def _parquets(place: Path) -> dict[str, list[Path]]:
    """The Parquet files in a folder, in order, by their names without the numbers of shards.

    A whole file comes before shards of its name.
    """
    shards = dict[str, list[Path]]()
    files = [path for path in sorted(place.glob("*.parquet")) if path.is_file()]
    for path in files:
        if SHARD.search(path.name):
            shards.setdefault(SHARD.sub("", path.name), []).append(path)
    return shards | {path.stem: [path] for path in files if not SHARD.search(path.name)}


def _whole(shards: list[Path]) -> list[Path]:
    """`shards` of Parquet files. Problem if one of them is missing."""
    if SHARD.search(shards[0].name) and len(shards) != int(
        shards[0].stem.rsplit("-", 1)[1]
    ):
        raise WrongData(
            f"{shards[0].parent} holds {len(shards)} of the shards {shards[0].name}, ...: fetch the others"
        )
    return shards


def _tars(place: Path) -> dict[str, list[Path]]:
    """The tar files in a folder, in order, by their names without their numbers."""
    found = dict[str, list[Path]]()
    for path in sorted(place.glob(f"*{TAR}")):
        if path.is_file():
            found.setdefault(NUMBER.sub("", path.stem), []).append(path)
    return found
