"""One split as it is stored: labels, and compressed images that are read by index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Protocol
from unicodedata import category

import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError

NO_LABEL = -1  # in place of every label of images that have none


class Encoded(Protocol):
    """A split of compressed images.

    `labels` is (N,) int64, NO_LABEL throughout where there are none. `classes` are the class names that the data itself
    give, None where they give none. `open` may be called from several threads at the same time.
    """

    labels: Tensor
    classes: tuple[str, ...] | None

    def open(self, index: int) -> IO[bytes]: ...

    def where(self, index: int) -> str:
        """What to call image `index` in an error."""
        ...


def check_labels(encoded: Encoded, classes: int, source: str) -> None:
    """Raises InputError naming the first label outside 0..classes-1, or an empty split. Labels may lack altogether."""
    if not len(encoded.labels):
        raise InputError(f"no images in {source}")
    if bool((encoded.labels == NO_LABEL).all()):
        return
    bad = torch.nonzero((encoded.labels < 0) | (encoded.labels >= classes)).flatten()
    if len(bad):
        index = int(bad[0])
        raise InputError(
            f"label {int(encoded.labels[index])} of {encoded.where(index)} is not in 0..{classes - 1}: "
            f"the data set has {classes} classes"
        )


MOST_CLASSES = 100_000
LONGEST_NAME = 1000  # characters


def check_names(names: Sequence[object], source: str) -> tuple[str, ...]:
    """The class `names`, safe to be shown; InputError for one that is no text, is too long, or occurs twice."""
    if len(names) > MOST_CLASSES or len(set(map(str, names))) < len(names):
        raise InputError(f"the {len(names)} class names of {source} must be different ones, at most {MOST_CLASSES:,}")
    for name in names:
        odd = not isinstance(name, str) or len(name) > LONGEST_NAME or any(category(c) in ("Cc", "Cs") for c in name)
        if odd:
            raise InputError(
                f"{shown(repr(name))} cannot be the name of a class of {source}: expected at most {LONGEST_NAME:,} "
                "characters, no control characters among them"
            )
    return tuple(str(name) for name in names)


def opened(path: Path) -> IO[bytes]:
    """The file at `path`, opened. Raises InputError where it cannot be read."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({shown(error)})") from error


# Of the files that are looked for in folders and tar files.
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".pgm", ".ppm"}


class ImageFiles:
    """Image files at `paths`, and their labels (N,)."""

    def __init__(self, paths: Sequence[Path], labels: Tensor, classes: tuple[str, ...] | None = None) -> None:
        self.paths, self.labels, self.classes = paths, labels, classes

    def open(self, index: int) -> IO[bytes]:
        return opened(self.paths[index])

    def where(self, index: int) -> str:
        return f"image {index} ({self.paths[index]})"


class ImageFolder(ImageFiles):
    """A folder of class folders of image files; class k is the k-th of `folders`."""

    def __init__(self, root: Path, folders: tuple[str, ...]) -> None:
        """Raises InputError if `root` holds a class folder that is not in `folders`."""
        extra = set(class_folders(root)) - set(folders)
        if extra:
            raise InputError(f"{root} has the class folder {min(extra)!r}; known are {', '.join(folders)}")
        found = [image_files(root / folder) for folder in folders]
        counts = torch.tensor([len(paths) for paths in found])
        labels = torch.arange(len(folders)).repeat_interleave(counts)
        super().__init__([path for paths in found for path in paths], labels, folders)


def in_class_order(names: Iterable[str]) -> list[str]:
    """The order in which classes of these names are numbered: of whole numbers by their size, else the alphabet's.

    Example:
        >>> in_class_order(["10", "9", "2"]), in_class_order(["10", "9", "cat"])
        (['2', '9', '10'], ['10', '9', 'cat'])
    """
    names = sorted(names)
    return sorted(names, key=int) if all(name.isascii() and name.isdigit() for name in names) else names


def class_folders(root: Path) -> tuple[str, ...]:
    """The names of the folders in `root`, in the order of classes. InputError for one that cannot name a class."""
    found = check_names([path.name for path in root.iterdir() if path.is_dir() and path.name[0] != "."], str(root))
    return tuple(in_class_order(found))


def image_files(folder: Path) -> list[Path]:
    """The image files in `folder` in alphabetical order; none where there is no such folder."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:  # which reads no more from the disk than the names
        found = [entry for entry in entries if Path(entry.name).suffix.lower() in SUFFIXES]
        for entry in found:
            # It could be a folder, a pipe that never ends, or a link to nothing or to itself.
            if not entry.is_file(follow_symlinks=False) and not Path(entry.path).is_file():
                raise InputError(f"{entry.path} is called like an image and is no file: remove or rename it")
    return sorted(Path(entry.path) for entry in found)
