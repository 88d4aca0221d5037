"""Folders of image files: class folders, and flat folders with or without a list in them."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from randsmooth.data.columns import NONE, USUAL, ColumnNames
from randsmooth.data.encoded import Encoded
from randsmooth.data.labels import check_names, in_class_order, no_labels
from randsmooth.data.lists import LIST_SUFFIXES, ImageList, read_list
from randsmooth.data.notes import tell
from randsmooth.data.split_words import FILLERS, WHOLE
from randsmooth.data.walking import LeftOut, images_below, is_system, scan
from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongData
from randsmooth.notes import Note

# The name, without suffix, that Hugging Face gives a list of the images beside it.
METADATA = "metadata"

# The most folders that an error lists.
FOLDERS_LISTED = 3


def of_files(
    paths: list[Path], labels: Tensor, classes: tuple[str, ...] | None = None
) -> Encoded:
    """Return the split of image files with labels (N,); the files are their own names."""
    return Encoded(labels, classes, "a folder", paths.__getitem__, paths)


def class_folders(root: Path) -> dict[str, Path]:
    """Return class name -> folder for the folders in `root`, in the order of the labels.

    Names are composed (see `composed`), however the disk has them.

    Raises:
        WrongData: a folder has a name that cannot be a class's.
    """
    _, folders = scan(root)
    names = check_names([folder.name for folder in folders], str(root))
    folder_of = dict(zip(names, folders, strict=True))
    return {name: folder_of[name] for name in in_class_order(names)}


def image_folder(root: Path, classes: tuple[str, ...]) -> Encoded:
    """Return the image files in class folders, and in folders within these.

    A `Note` tells which files are left out.

    Args:
        root: the folder of the class folders, of which some may be missing.
        classes: the names of all classes, in the order of the labels.

    Raises:
        WrongData: `root` holds a class folder that is not in `classes`.
    """
    folder_of = class_folders(root)
    unknown = set(folder_of) - set(classes)
    if unknown:
        raise WrongData(
            f"{root} has the class folder {min(unknown)!r}; known are "
            f"{', '.join(classes)}"
        )

    left_out = LeftOut(root)
    # This only counts the files beside the class folders as left out.
    scan(root, left_out)
    paths = list[Path]()
    labels = list[int]()
    for label, name in enumerate(classes):
        # A missing folder is looked up all the same, and has no images.
        folder = folder_of.get(name, root / name)
        images = images_below(folder, left_out, in_class=True)
        paths += images
        labels += [label] * len(images)
    left_out.tell()
    return of_files(paths, torch.tensor(labels, dtype=torch.int64), classes)


def own_classes(root: Path) -> Encoded:
    """Return the images in the class folders of a user, which alone say what the classes are.

    A `Note` tells of class folders without images.

    Raises:
        WrongData: a folder has a name that cannot be a class's, or all images lie in one
            folder that may be no class.
    """
    folder_of = class_folders(root)
    _check_no_folder_alone(root, folder_of)
    classes = tuple(folder_of)
    encoded = image_folder(root, classes)

    filled = set(encoded.labels.tolist())
    empty = [name for label, name in enumerate(classes) if label not in filled]
    if filled and empty:
        note = Note(
            "empty_class_folders",
            root=str(root),
            number=len(empty),
            classes=len(classes),
            first=empty[0],
        )
        tell(note)
    return encoded


def _check_no_folder_alone(root: Path, folder_of: Mapping[str, Path]) -> None:
    """Raise WrongData where all images lie in one folder that may be no class.

    It may be none if a list lies beside it, if the images are in folders within it, or if
    its name is a word such as "images".
    """
    filled = (
        folder for folder in folder_of.values() if images_below(folder, in_class=True)
    )
    # Two are enough to know that it is not one alone.
    first_two = list(islice(filled, 2))
    if len(first_two) != 1:
        return

    (folder,) = first_two
    alone = f"{root} holds images in {folder.name} alone"
    lists = lists_in(root)
    if lists:
        raise WrongData(
            f"{alone}, beside {lists[0].name}",
            fix=f"give {lists[0]} for the labels in it, or {folder} without labels",
        )
    images, folders_within = scan(folder)
    if not images:
        raise WrongData(
            f"{alone}, in the folders {_listed(folders_within)}",
            fix=f"give {folder} if these are the classes",
        )
    if folder.name.casefold() in FILLERS:
        raise WrongData(
            f"{alone}, which is hardly a class",
            fix=f"give {folder} where these are images without labels, or rename it if "
            "it is a class",
        )


def _listed(folders: list[Path]) -> str:
    """Return the names of the first folders, for an error."""
    names = [folder.name for folder in folders[:FOLDERS_LISTED]]
    if len(folders) > FOLDERS_LISTED:
        names.append("...")
    return shown(", ".join(names))


def flat(folder: Path, columns: ColumnNames = USUAL) -> dict[str, Encoded]:
    """Return the images that lie in a folder itself, and not in folders within it.

    A list beside the images gives their order, their labels and splits. Without a list they
    come in the order of their names, and have no labels. A `Note` tells which files are left
    out.

    Args:
        folder: the folder.
        columns: the columns of the list that hold images and labels.

    Returns:
        The list's own name of each split -> its images; the only name WHOLE means that
        there are no splits.

    Raises:
        Problem: there are folders of images beside the images, or Hugging Face's list
            cannot be read.
    """
    paths, folders = scan(folder)
    for beside in folders:
        if images_below(beside):
            raise WrongData(
                f"{folder} holds {paths[0].name} beside folders of images, such "
                f"as {beside.name}",
                fix="put all into folders",
            )

    image_list = None
    if columns.label != NONE:
        image_list = _list_beside(folder, paths, columns)
    left_out = LeftOut(folder, [] if image_list is None else [image_list.path])
    scan(folder, left_out)
    left_out.tell()
    if image_list is None:
        return {WHOLE: of_files(paths, no_labels(len(paths)))}
    return {split: image_list.images(rows) for split, rows in image_list.splits.items()}


def _list_beside(
    folder: Path, paths: list[Path], columns: ColumnNames
) -> ImageList | None:
    """Return the list beside the images at `paths`, if there is exactly one.

    The list may come from a stranger: it may name no files but these images. A list of
    Hugging Face's comes before others.

    Returns:
        The list; None where there is none, or several, or one that cannot be read, which a
        `Note` tells.

    Raises:
        Problem: the list is Hugging Face's, and cannot be read.
    """
    lists = lists_in(folder)
    of_hugging_face = [path for path in lists if path.stem == METADATA]
    candidates = of_hugging_face or lists
    if len(candidates) != 1:
        return None

    (path,) = candidates
    try:
        image_list = read_list(path, columns)
        named = set(image_list.places(range(len(image_list.files)), among=paths))
    except Problem as error:
        if of_hugging_face:
            raise
        note = Note(
            "list_not_read", list=path.name, folder=str(folder), reason=str(error)
        )
        tell(note)
        return None

    not_named = [image for image in paths if image not in named]
    if not_named:
        note = Note(
            "list_lacks_images",
            path=str(path),
            number=len(not_named),
            images=len(paths),
            first=not_named[0].name,
        )
        tell(note)
    tell(Note("labels_of_list", folder=str(folder), list=path.name))
    return image_list


def lists_in(folder: Path) -> list[Path]:
    """Return the files in a folder whose suffix is that of a list, in order of their names."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in LIST_SUFFIXES
        and not is_system(path.name)
        and path.is_file()
    )
