"""Data sets by name, ours (of named.yaml) and others'; and which folder or file a text means. Loads no torch."""

import os
import re
from functools import cache, partial
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.documents import parse_yaml, refused, shown
from randsmooth.errors import NotFound, Problem, unknown
from randsmooth.extras import MissingPackage, installed, needs
from randsmooth.registry import OnDemand, Registry
from randsmooth.urls import check_there, fetched, is_url

HOME = "RANDSMOOTH_DATA"  # the variable that names the folder of the named data sets

# What a data set can be, on the command line and in Python; docs/data.md has an example of each.
FORMS = (
    "the name of a data set (`randsmooth data list`), a folder (of class folders, of images, of train/ and test/, of "
    "Parquet files, of WebDataset tar files, or written by save_to_disk of datasets), a file .npz, .csv, .parquet or "
    ".tar; in Python also arrays or tensors (x, y) or x, a torch Dataset or DataLoader, a Dataset or DatasetDict of "
    "datasets, or what `data.load` gives"
)

BRACES = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
SUFFIXES = (".npz", ".csv", ".tsv", ".jsonl", ".parquet", ".tar")


def registered(name: object, by: object) -> str:
    """The name of a data set that a file gives; `by` says which file, for the error.

    A file may come from a stranger, so a folder that it names is opened only if the user asks for it.

    Raises:
        Problem: `name` is no registered name.

    Example:
        >>> registered("mnist", "the model")
        'mnist'
        >>> registered("/home/someone", "the model")
        Traceback (most recent call last):
        ...
        randsmooth.errors.NotFound: the model names the data set '/home/someone', and a folder that a file names is \
not opened unasked: give ...
    """
    if not isinstance(name, str) or name not in DATASETS:
        way = "a folder that a file names is not opened unasked: give it yourself"
        raise NotFound(f"{by} names the data set {shown(repr(name))}, and {way}")
    return name


def check_dataset(dataset: str, *, images: bool = True) -> None:
    """Raise Problem unless `dataset` is a name, whose `images` can be had, or a folder or file. Loads no torch.

    Example:
        >>> check_dataset("digits")
        >>> check_dataset("digit")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: unknown data set 'digit': did you mean 'digits'? Expected one of: cifar10, ...
    """
    if is_url(dataset):
        check_there(dataset)
    elif dataset not in DATASETS:
        with refused(f"{shown(dataset)} cannot be read", OSError):
            dataset_path(dataset)
    elif (
        images
        and (spec := DATASETS[dataset]).hub
        and not is_at_hand(dataset)
        and not installed("datasets")
    ):
        raise not_had(
            spec, MissingPackage(f"the data set {spec.hub} of the hub", "datasets")
        )


def not_had(spec: DatasetSpec, error: Problem) -> Problem:
    """The error for a data set that is in no folder, nor from the hub because of `error`; with the ways to have it.

    Example:
        >>> raise not_had(DATASETS["mnist"], Problem("the hub is not reached"))
        Traceback (most recent call last):
        randsmooth.errors.NotFound: mnist is not at ..., and the hub is not reached. Or run `hf download ...
    """
    folder = folder_of(spec.name)
    there = f"{spec.name} is not at {folder} ({HOME} is {os.environ.get(HOME) or 'not set'})"
    way = f"run `hf download {spec.hub} --repo-type dataset --local-dir {folder}` where there is a network"
    return NotFound(
        f"{there}, and {error}. Or {way}, and set {HOME} to the parent of that folder"
    )


# How data in files of other kinds come into one that is read, by suffix.
WAYS = {
    ".npy": "np.savez('mine.npz', x=np.load('x.npy'), y=np.load('y.npy'))",
    ".pt": "np.savez('mine.npz', x=x.numpy(), y=y.numpy()) of what torch.load gives",
    ".pth": "np.savez('mine.npz', x=x.numpy(), y=y.numpy()) of what torch.load gives",
    ".mat": "np.savez('mine.npz', x=x, y=y) of what scipy.io.loadmat gives, as (N, H, W, C)",
    ".h5": "np.savez('mine.npz', x=x, y=y) of what h5py gives",
    ".hdf5": "np.savez('mine.npz', x=x, y=y) of what h5py gives",
    ".pkl": "np.savez('mine.npz', x=x, y=y) of what pickle gives, where you trust it",
    ".pickle": "np.savez('mine.npz', x=x, y=y) of what pickle gives, where you trust it",
    ".txt": "call it .csv with a first line such as path,label",
    ".zip": "unpack it",
    ".gz": "unpack it",
    ".tgz": "unpack it",
    ".7z": "unpack it",
    ".rar": "unpack it",
}


def unknown_form(what: str) -> Problem:
    """The error for something that is no data set, with the forms that exist."""
    return NotFound(f"{what}; a data set is {FORMS}")


def is_source(path: Path) -> bool:
    """Whether `path` is a folder, or a file, that holds many images."""
    return path.is_dir() or path.suffix.lower() in SUFFIXES


def shards(path: Path) -> list[Path]:
    """The files that a pattern of WebDataset means, or `path` itself.

    Example:
        >>> [path.name for path in shards(Path("part-{009..011}.tar"))]
        ['part-009.tar', 'part-010.tar', 'part-011.tar']
    """
    if not (found := BRACES.search(path.name)):
        return [path]
    first, last = found.groups()
    numbers = [
        str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)
    ]
    return [
        path.with_name(BRACES.sub(number, path.name, count=1)) for number in numbers
    ]


def dataset_path(dataset: str) -> Path:
    """The folder or file that `dataset` means, of a URL that of a copy; of shards `a-{0..9}.tar` the pattern.

    Raises:
        Problem: there is no such folder or file, or it is of no form that is read.
    """
    with refused(
        f"no folder at {shown(dataset)}", RuntimeError
    ):  # at ~name, of a user who does not exist
        path = fetched(dataset) if is_url(dataset) else Path(dataset).expanduser()
    file = path.suffix.lower() in SUFFIXES
    missing = [each for each in shards(path) if not each.is_file()]
    if path.is_dir() or (file and not missing and shards(path)):
        return path
    if path.is_file():
        way = WAYS.get(path.suffix.lower())
        done = "" if way is None else f": {way}"
        raise unknown_form(f"{path} is of no form that is read as a data set{done}")
    if len(path.parts) > 1 or file:
        there = f"no {'file' if file else 'folder'} at {[*missing, path][0]}"
        raise unknown_form(
            f"{there}: give the path of one, or one of {', '.join(DATASETS)}"
        )
    raise unknown_form(str(unknown("data set", dataset, DATASETS)))


def is_at_hand(dataset: str) -> bool:
    """Whether `data.load` finds the named `dataset` without a network.

    Example:
        >>> is_at_hand("digits")
        True
    """
    return DATASETS[dataset].read is not None or folder_of(dataset).is_dir()


def folder_of(name: str) -> Path:
    """Where the data set with a name is looked for on this machine."""
    return Path(os.environ.get(HOME) or f"${HOME}") / name


TEST_EVERY = 5


def read_digits(split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 1, 8, 8) and labels (N,) of one split, as `DatasetSpec.read` asks for them.

    scikit-learn has no split of its own. Ours is fixed: within each class, in the order of the file, the
    first of every five images is test (35 to 37 a class), the others train.

    Raises:
        Problem: scikit-learn is not installed.
    """
    with needs("the data set digits"):
        from sklearn.datasets import load_digits
    import pandas as pd

    bunch = load_digits()
    among = (
        pd.Series(bunch.target).groupby(bunch.target).cumcount().to_numpy()
    )  # the images of the class
    kept = (among % TEST_EVERY == 0) == (split == "test")
    # The file's values are 0..16; 255 is no multiple of 16, so round.
    return np.rint(bunch.images[kept] * 255 / 16).astype(np.uint8)[
        :, None
    ], bunch.target[kept].astype(np.int64)


@cache
def named_sets() -> dict[str, DatasetSpec]:
    """The data sets of named.yaml.

    Example:
        >>> named_sets()["svhn"].shape
        (3, 32, 32)
    """
    sets = parse_yaml(
        resources.files("randsmooth.data").joinpath("named.yaml").read_text(),
        "named.yaml",
    )
    for name, facts in sets.items():
        numbers = isinstance(facts["classes"], int)
        facts["classes"] = (
            [str(k) for k in range(facts["classes"])] if numbers else facts["classes"]
        )
        facts |= {"name": name, "read": read_digits if name == "digits" else None}
    return TypeAdapter(dict[str, DatasetSpec]).validate_python(sets)


def named_set(name: str) -> DatasetSpec:
    """Return the data set of named.yaml that has this name."""
    return named_sets()[name]


# Their names are known before the file is read, which takes longer than most errors.
DATASETS: Registry[DatasetSpec] = Registry(
    "data set",
    "randsmooth.datasets",
    OnDemand(
        {
            name: partial(named_set, name)
            for name in (
                "cifar10",
                "cifar10-jpeg",
                "cifar100",
                "digits",
                "fashion-mnist",
                "imagenet",
                "imagenet32",
                "mnist",
                "svhn",
            )
        }
    ),
)
