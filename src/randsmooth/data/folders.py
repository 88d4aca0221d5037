"""Folders of image files: class folders, and flat ones, with a list beside or not."""

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

# What Hugging Face calls the list of the images that it lies beside.
METADATA = "metadata"

# The number of folders in a folder that an error names.
FOLDERS_LISTED = 3


def of_files(
    paths: list[Path], labels: Tensor, classes: tuple[str, ...] | None = None
) -> Encoded:
    """Return image files and their labels (N,) as a split."""
    return Encoded(labels, classes, "a folder", paths.__getitem__, paths)


def class_folders(root: Path) -> dict[str, Path]:
    """Return the classes of the folders in `root`, in their order, and where each lies.

    Their names are composed, however the disk has them.

    Raises:
        WrongData: a folder that cannot name a class.
    """
    _, folders = scan(root)
    names = check_names([folder.name for folder in folders], str(root))
    folder_of = dict(zip(names, folders, strict=True))
    return {name: folder_of[name] for name in in_class_order(names)}


def image_folder(root: Path, classes: tuple[str, ...]) -> Encoded:
    """Return the image files in class folders, also in folders in these.

    What is left out is told in a `Note`.

    Args:
        root: holds the class folders, some of which may lack.
        classes: their names, in the order of the labels.

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
    scan(root, left_out)
    paths = list[Path]()
    labels = list[int]()
    for label, name in enumerate(classes):
        # Of a class without a folder there are no images.
        folder = folder_of.get(name, root / name)
        images = images_below(folder, left_out, in_class=True)
        paths += images
        labels += [label] * len(images)
    left_out.tell()
    return of_files(paths, torch.tensor(labels, dtype=torch.int64), classes)


def own_classes(root: Path) -> Encoded:
    """Return the images in class folders, which are classes in their own order.

    A `Note` tells of class folders without images. Errors are those of `image_folder`.
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

    Its name, its place or the folders in it say so.
    """
    filled = (
        folder for folder in folder_of.values() if images_below(folder, in_class=True)
    )
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
    names = [folder.name for folder in folders[:FOLDERS_LISTED]]
    if len(folders) > FOLDERS_LISTED:
        names.append("...")
    return shown(", ".join(names))


def flat(folder: Path, columns: ColumnNames = USUAL) -> dict[str, Encoded]:
    """Return the images in a folder, in the order of their names, without labels.

    Where a list lies beside them, they come in its order, and with its labels. What is
    left out is told in a `Note`.

    Args:
        folder: where they lie.
        columns: the columns of the list that hold images and labels.

    Returns:
        The name of each split, as the list says, -> its images; WHOLE alone where
        nothing is said of splits.

    Raises:
        Problem: folders of images beside them, or a list of Hugging Face's that cannot
            be read.
    """
    paths, folders = scan(folder)
    for beside in folders:
        if images_below(beside):
            raise WrongData(
                f"{folder} holds {paths[0].name} beside folders of images, as "
                f"{beside.name}",
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
    """Return the one list beside the images at `paths`.

    It may come from a stranger, so that it opens no file of another folder.

    Returns:
        None where there is no such list, or several; and, with a `Note`, where it
        cannot be read.

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
    """Return the lists, of images perhaps, in a folder."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in LIST_SUFFIXES
        and not is_system(path.name)
        and path.is_file()
    )
