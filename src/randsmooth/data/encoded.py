"""One split as it lies on disk: labels, and compressed images read by index."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Protocol

import torch
from torch import Tensor

from randsmooth.errors import InputError


class Encoded(Protocol):
    """`labels` is (N,) int64; `classes` are the names the data itself gives, None where it gives none.

    `open` may be called from several threads at once.
    """

    labels: Tensor
    classes: tuple[str, ...] | None

    def open(self, index: int) -> IO[bytes]: ...

    def where(self, index: int) -> str:
        """How to name image `index` in an error."""
        ...


def check_labels(encoded: Encoded, classes: int, source: str) -> None:
    """Raises InputError naming the first label outside 0..classes-1, or an empty split."""
    if not len(encoded.labels):
        raise InputError(f"no images in {source}")
    bad = torch.nonzero((encoded.labels < 0) | (encoded.labels >= classes)).flatten()
    if len(bad):
        index = int(bad[0])
        raise InputError(
            f"label {int(encoded.labels[index])} of {encoded.where(index)} is not in 0..{classes - 1}: "
            f"the data set has {classes} classes"
        )


SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".pgm", ".ppm"}


class ImageFolder:
    """A folder of class folders of image files; class k is the k-th of `folders`."""

    def __init__(self, root: Path, folders: tuple[str, ...]) -> None:
        """Raises InputError if `root` holds a class folder that is not in `folders`."""
        self.classes: tuple[str, ...] | None = folders
        extra = set(class_folders(root)) - set(folders)
        if extra:
            raise InputError(f"{root} has the class folder {min(extra)!r}; known are {', '.join(folders)}")
        found = [_images(root / folder) for folder in folders]
        self.paths = [path for paths in found for path in paths]
        counts = torch.tensor([len(paths) for paths in found])
        self.labels = torch.arange(len(folders)).repeat_interleave(counts)

    def open(self, index: int) -> IO[bytes]:
        return self.paths[index].open("rb")

    def where(self, index: int) -> str:
        return f"image {index} ({self.paths[index]})"


def class_folders(root: Path) -> tuple[str, ...]:
    """The names of the folders in `root`, in alphabetical order."""
    return tuple(sorted(path.name for path in root.iterdir() if path.is_dir() and path.name[0] != "."))


def _images(folder: Path) -> list[Path]:
    """The image files of one class in alphabetical order; none where the split lacks the class."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
