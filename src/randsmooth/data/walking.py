"""The image files in a folder and below it, and what is left out there."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from randsmooth.data.notes import tell
from randsmooth.data.split_words import split_of
from randsmooth.documents import shown
from randsmooth.errors import WrongData
from randsmooth.notes import Note

# The suffixes of image files, in small letters.
SUFFIXES = {
    ".png",
    ".apng",
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".jif",
    ".bmp",
    ".webp",
    ".tif",
    ".tiff",
    ".gif",
    ".pgm",
    ".ppm",
    ".pbm",
    ".pnm",
    ".avif",
}

# The first bytes of an image file, by which one without a suffix is known.
BEGINNINGS = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"II*\0",
    b"MM\0*",
)

# The first and the last four of the first twelve bytes of a WebP file; between them is
# the length of the file.
WEBP = (b"RIFF", b"WEBP")

# The bytes that are read of a file: as many as the longest of these beginnings has.
BEGINNING_BYTES = 12

# Names, in small letters, of what systems and programs put beside data. Names that begin with
# a point are such too.
SYSTEM_FOLDERS = {
    "__macosx",
    "@eadir",
    "#recycle",
    "lost+found",
    "$recycle.bin",
    "system volume information",
    "__pycache__",
}
SYSTEM_FILES = {"thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"}

# The beginnings, in small letters, of the names of files that describe data.
ABOUT_DATA = ("readme", "license", "licence", "citation", "dataset_info")

# The most suffixes of left-out files that a note lists.
SUFFIXES_LISTED = 4


class LeftOut:
    """A count of the files in a folder that are not read.

    Example:
        >>> left_out = LeftOut(Path("photos"))
        >>> left_out.add(Path("photos/cat/1.heic"))
        >>> print(left_out.note)
        left out of photos: 1 file of a kind that is not read (1 .heic), cat/1.heic
    """

    def __init__(self, root: Path, read: Iterable[Path] = ()) -> None:
        """Begin to count.

        Args:
            root: the folder.
            read: files that are read although they are no images.
        """
        self.root = root
        self.read = set(read)
        self.suffixes = Counter[str]()
        self.first: Path | None = None

    def add(self, path: Path) -> None:
        """Count a file, unless it is read, or only says what the data are."""
        if path in self.read or path.name.casefold().startswith(ABOUT_DATA):
            return
        self.suffixes[path.suffix.lower() or "without a suffix"] += 1
        if self.first is None or path < self.first:
            self.first = path

    @property
    def note(self) -> Note | None:
        """A `Note` of how many files there are of which kinds; None: there are none."""
        if self.first is None:
            return None
        return Note(
            "files_left_out",
            root=str(self.root),
            number=self.suffixes.total(),
            suffixes=dict(self.suffixes.most_common(SUFFIXES_LISTED)),
            first=str(self.first.relative_to(self.root)),
        )

    def tell(self) -> None:
        """Give the note, if files were left out."""
        note = self.note
        if note is not None:
            tell(note)


def is_system(name: str) -> bool:
    """Return whether a system or a program put a folder or file of this name there.

    Example:
        >>> is_system("__MACOSX"), is_system("._1.png"), is_system("cat")
        (True, True, False)
    """
    return name.startswith(".") or name.casefold() in SYSTEM_FOLDERS | SYSTEM_FILES


def scan(
    folder: Path, left_out: LeftOut | None = None
) -> tuple[list[Path], list[Path]]:
    """Return the image files and the folders in `folder`, each in alphabetical order.

    Args:
        folder: the folder, whose own folders are not opened. If it is missing, both lists
            are empty.
        left_out: counts the other files.

    Raises:
        WrongData: something is called like an image and is no file.
    """
    if not folder.is_dir():
        return [], []

    images = list[str]()
    folders = list[str]()
    # scandir() reads no more from the disk than the names.
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_system(entry.name):
                continue
            if _is_called_like_image(entry.name):
                _check_is_file(entry)
                images.append(entry.name)
            elif entry.is_dir():
                folders.append(entry.name)
            elif "." not in entry.name and _begins_as_image(Path(entry.path)):
                images.append(entry.name)
            elif left_out is not None:
                left_out.add(Path(entry.path))
    return _in_order(folder, images), _in_order(folder, folders)


def _is_called_like_image(name: str) -> bool:
    """Return whether a name has a suffix of image files."""

    _, point, ending = name.rpartition(".")
    return f"{point}{ending.lower()}" in SUFFIXES


def _check_is_file(entry: os.DirEntry[str]) -> None:
    """Raise WrongData where something is called like an image and is no file.

    It could be a folder, a pipe that never ends, or a link to nothing or to itself.
    """
    if entry.is_file(follow_symlinks=False) or Path(entry.path).is_file():
        return
    raise WrongData(
        f"{entry.path} is called like an image and is no file",
        fix="remove or rename it",
    )


def _in_order(folder: Path, names: list[str]) -> list[Path]:
    """Return the paths in `folder` in the order in which this system compares names.

    Names are compared before paths are made of them: there may be a million.
    """
    return [folder / name for name in sorted(names, key=os.path.normcase)]


def _begins_as_image(path: Path) -> bool:
    """Return whether the first bytes of a file are those of an image."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(BEGINNING_BYTES)
    return start.startswith(BEGINNINGS) or (start[:4], start[8:]) == WEBP


def images_below(
    folder: Path, left_out: LeftOut | None = None, *, in_class: bool = False
) -> list[Path]:
    """Return the image files in `folder` and below it, in alphabetical order.

    Args:
        folder: the folder to begin with. A folder to which several links lead is read
            once.
        left_out: counts the other files.
        in_class: whether `folder` is a class folder, in which splits are refused.

    Raises:
        WrongData: in the cases of `scan`; or a folder in that of a class is called like
            a split, so that it may be no class.
    """
    paths = list[Path]()
    # Device and inode of each folder.
    seen = set[tuple[int, int]]()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if not current.is_dir():
            continue
        # Links may lead to a folder twice, or in a circle.
        status = current.stat()
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            continue
        seen.add(identity)

        images, folders = scan(current, left_out)
        if in_class:
            _check_no_split(folder, folders)
        paths += images
        waiting += folders

    # The images of a single folder are in order already.
    return paths if len(seen) == 1 else sorted(paths)


def _check_no_split(class_folder: Path, folders: Iterable[Path]) -> None:
    """Raise WrongData where a folder in that of a class is called like a split."""
    for folder in folders:
        if split_of(folder.name):
            raise WrongData(
                f"{shown(folder)} is called like a split and lies in "
                f"{shown(class_folder.name)}",
                fix=f"give {folder.parent} for its splits, or put the splits above the "
                "classes",
            )
