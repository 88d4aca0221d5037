"""The forms that a user's data set can have. Loads no torch."""

import re
from pathlib import Path

from randsmooth.errors import NotFound

# What a data set can be, on the command line and in Python; docs/data.md has an example
# of each.
FORMS = (
    "the name of a data set (`randsmooth data list`), a folder (of class folders, of "
    "images, of train/ and test/, of Parquet files, of WebDataset tar files, or "
    "written by save_to_disk of datasets), a file .npz, .csv, .parquet or .tar; in "
    "Python also arrays or tensors (x, y) or x, a torch Dataset or DataLoader, a "
    "Dataset or DatasetDict of datasets, or what `data.load` gives"
)

# The suffixes of files that are data sets by themselves.
SUFFIXES = (".npz", ".csv", ".tsv", ".jsonl", ".parquet", ".tar")

# The first and last number in a pattern of shards, as WebDataset writes it: {000..146}.
BRACES = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")

# The suffix of a file that is not read -> how a user makes one of it that is.
_SAVE_TORCH = "np.savez('mine.npz', x=x.numpy(), y=y.numpy()) of what torch.load gives"
_SAVE_HDF5 = "np.savez('mine.npz', x=x, y=y) of what h5py gives"
_SAVE_PICKLE = "np.savez('mine.npz', x=x, y=y) of what pickle gives, where you trust it"
CONVERSIONS = {
    ".npy": "np.savez('mine.npz', x=np.load('x.npy'), y=np.load('y.npy'))",
    ".pt": _SAVE_TORCH,
    ".pth": _SAVE_TORCH,
    ".mat": "np.savez('mine.npz', x=x, y=y) of what scipy.io.loadmat gives, as (N, H, "
    "W, C)",
    ".h5": _SAVE_HDF5,
    ".hdf5": _SAVE_HDF5,
    ".pkl": _SAVE_PICKLE,
    ".pickle": _SAVE_PICKLE,
    ".txt": "call it .csv with a first line such as path,label",
    ".zip": "unpack it",
    ".gz": "unpack it",
    ".tgz": "unpack it",
    ".7z": "unpack it",
    ".rar": "unpack it",
}


def unknown_form(what: str) -> NotFound:
    """Return the error for something that is no data set; it lists the forms of data sets.

    Args:
        what: the beginning of the message, which says what it is.
    """
    return NotFound(what, fix=f"a data set is {FORMS}")


def is_source(path: Path) -> bool:
    """Return whether `path` is a folder, or a file, that holds many images."""
    return path.is_dir() or is_file_of_many(path)


def is_file_of_many(path: Path) -> bool:
    """Return whether a file of this name holds many images."""
    return path.suffix.lower() in SUFFIXES


def shards(path: Path) -> list[Path]:
    """Return the files that a pattern of WebDataset means, or `path` itself.

    Example:
        >>> [path.name for path in shards(Path("part-{009..011}.tar"))]
        ['part-009.tar', 'part-010.tar', 'part-011.tar']
    """
    pattern = BRACES.search(path.name)
    if pattern is None:
        return [path]

    first, last = pattern.groups()
    paths = list[Path]()
    for number in range(int(first), int(last) + 1):
        # As many digits as the first number has.
        written = str(number).zfill(len(first))
        paths.append(path.with_name(BRACES.sub(written, path.name, count=1)))
    return paths
