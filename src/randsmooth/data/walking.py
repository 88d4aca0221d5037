"""The image files in a folder and below it, and what is left out there, by number and place."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from randsmooth.data.notes import tell
from randsmooth.data.splits import split_of
from randsmooth.documents import shown
from randsmooth.errors import WrongData
from randsmooth.notes import Note

# Of the files that are looked for in folders and tar files.
SUFFIXES = {
    *(".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".bmp", ".webp"),
    *(".tif", ".tiff", ".gif", ".pgm", ".ppm", ".pbm", ".pnm", ".avif"),
}

# How a file without a suffix begins that is an image.
BEGINNINGS = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"II*\0",
    b"MM\0*",
)
WEBP = (b"RIFF", b"WEBP")  # with four bytes between them

# What systems and programs put beside data, in small letters; and all whose names begin with a point.
SYSTEM_FOLDERS = {
    *(
        "__macosx",
        "@eadir",
        "#recycle",
        "lost+found",
        "$recycle.bin",
        "system volume information",
    ),
    "__pycache__",
}
SYSTEM_FILES = {"thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"}

# How the names of files begin that describe data, in small letters.
ABOUT = ("readme", "license", "licence", "citation", "dataset_info")

MOST_SUFFIXES = 4  # that a note lists


class LeftOut:
    """What lies in a folder and is not read.

    Example:
        >>> left = LeftOut(Path("photos"))
        >>> left.add(Path("photos/cat/1.heic"))
        >>> print(left.note)
        left out of photos: 1 file of a kind that is not read (1 .heic), cat/1.heic
    """

    def __init__(self, root: Path, read: Iterable[Path] = ()) -> None:
        """`read`: files that are not left out, although they are no images."""
        self.root = root
        self.read = set(read)
        self.suffixes = Counter[str]()
        self.first: Path | None = None

    def add(self, path: Path) -> None:
        """Count a file, unless it is read, or only says what the data are."""
        if path in self.read or path.name.casefold().startswith(ABOUT):
            return
        self.suffixes[path.suffix.lower() or "without a suffix"] += 1
        if self.first is None or path < self.first:
            self.first = path

    @property
    def note(self) -> Note | None:
        """How many files of which kinds, and where the first is; None where there are none."""
        if self.first is None:
            return None
        return Note(
            "files_left_out",
            root=str(self.root),
            number=self.suffixes.total(),
            suffixes=dict(self.suffixes.most_common(MOST_SUFFIXES)),
            first=str(self.first.relative_to(self.root)),
        )

    def tell(self) -> None:
        """Warn of it, where there is something."""
        note = self.note
        if note is not None:
            tell(note)


def is_system(name: str) -> bool:
    """Whether a folder or file of this name was put there by a system or a program.

    Example:
        >>> is_system("__MACOSX"), is_system("._1.png"), is_system("cat")
        (True, True, False)
    """
    return name.startswith(".") or name.casefold() in SYSTEM_FOLDERS | SYSTEM_FILES


def scan(folder: Path, left: LeftOut | None = None) -> tuple[list[Path], list[Path]]:
    """Return the image files and the folders in `folder`, each in alphabetical order; none of what is not there.

    Args:
        folder: is not gone down into.
        left: counts the other files.

    Raises:
        Problem: something is called like an image and is no file.
    """
    if not folder.is_dir():
        return [], []
    images, folders = list[str](), list[str]()
    with os.scandir(
        folder
    ) as entries:  # which reads no more from the disk than the names
        for entry in entries:
            if is_system(entry.name):
                continue
            _, point, ending = entry.name.rpartition(".")
            if point and f".{ending.lower()}" in SUFFIXES:
                # It could be a folder, a pipe that never ends, or a link to nothing or to itself.
                if (
                    not entry.is_file(follow_symlinks=False)
                    and not Path(entry.path).is_file()
                ):
                    raise WrongData(
                        f"{entry.path} is called like an image and is no file: remove or rename it"
                    )
                images.append(entry.name)
            elif entry.is_dir():
                folders.append(entry.name)
            elif (
                not point
                and Path(entry.path).is_file()
                and _begins_as_image(Path(entry.path))
            ):
                images.append(entry.name)
            elif left is not None:
                left.add(Path(entry.path))
    # Names are compared before paths are made of them: there may be a million.
    return [folder / name for name in _in_order(images)], [
        folder / name for name in _in_order(folders)
    ]


def _in_order(names: list[str]) -> list[str]:
    """`names` in the order in which this system compares them."""
    return sorted(names, key=os.path.normcase)


def _begins_as_image(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(12)
    return start.startswith(BEGINNINGS) or (start[:4], start[8:]) == WEBP


def images_below(
    folder: Path, left: LeftOut | None = None, *, in_class: bool = False
) -> list[Path]:
    """Return the image files in `folder` and in the folders below it, in alphabetical order.

    Args:
        folder: where to begin. A folder to which several links lead is read once.
        left: counts the other files.
        in_class: whether `folder` is that of one class.

    Raises:
        Problem: as `scan`; or a folder in that of a class is called like a split, so that it may be no class.
    """
    found, seen, waiting = list[Path](), set[tuple[int, int]](), [folder]
    while waiting:
        place = waiting.pop()
        if not place.is_dir():
            continue
        status = place.stat()
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        images, folders = scan(place, left)
        split = next((each for each in folders if split_of(each.name)), None)
        if in_class and split is not None:
            way = f"give {split.parent} for its splits, or put the splits above the classes"
            raise WrongData(
                f"{shown(split)} is called like a split and lies in {shown(folder.name)}: {way}"
            )
        found += images
        waiting += folders
    return found if len(seen) == 1 else sorted(found)
