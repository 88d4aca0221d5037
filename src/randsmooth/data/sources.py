"""Where the images of a data set are: which forms there are, and which of them a text means. Loads no torch."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

# What a data set can be, on the command line and in Python; docs/data.md has an example of each.
FOLDERS = (
    "a folder (of class folders, of images, of train/ and test/, of Parquet files, of WebDataset tar files, or written "
    "by save_to_disk of datasets)"
)
FILES = "a file .npz, .csv, .parquet or .tar"
OBJECTS = (
    "arrays or tensors (x, y) or x, a torch Dataset or DataLoader, a Dataset or DatasetDict of datasets, or what "
    "`data.load` gives"
)
FORMS = f"the name of a data set (`randsmooth data list`), {FOLDERS}, {FILES}; in Python also {OBJECTS}"

SUFFIXES = (".npz", ".csv", ".tsv", ".parquet", ".tar")
COMPRESSED = re.compile(r"\.(tar\.(gz|bz2|xz|zst)|tgz|zip)$")


def unknown_form(what: str) -> InputError:
    """The error for something that is no data set, with the forms that exist."""
    return InputError(f"{what}; a data set is {FORMS}")


def is_source(path: Path) -> bool:
    """Whether `path` is a folder, or a file or pattern of files, that holds many images."""
    return path.is_dir() or path.suffix.lower() in SUFFIXES


def source_path(dataset: str, names: list[str]) -> Path:
    """The folder or file that `dataset` means; of shards "a-{0..9}.tar" the pattern. No image is looked at.

    Args:
        dataset: what a user gave, and no name of a data set.
        names: those names, for the error.

    Raises:
        InputError: there is no such folder or file, or it is of no form that is read.
    """
    try:
        path = Path(dataset).expanduser()
    except RuntimeError as error:  # ~name, of a user who does not exist
        raise unknown_form(f"no folder at {shown(dataset)}: {error}") from error
    if path.is_dir() or (path.suffix.lower() in SUFFIXES and ("{" in path.name or path.is_file())):
        return path
    if path.is_file():
        way = ": unpack it first" if COMPRESSED.search(path.name) else ""
        raise unknown_form(f"{path} is of no form that is read as a data set{way}")
    if len(path.parts) > 1 or path.is_absolute() or path.suffix.lower() in SUFFIXES:
        kind = "file" if path.suffix.lower() in SUFFIXES else "folder"
        raise unknown_form(f"no {kind} at {path}: give the path of one, or one of {', '.join(names)}")
    raise InputError(f"{unknown('data set', dataset, names)}; or give {FOLDERS}, or {FILES}")
