"""Data sets by name: ours, and those of other packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.sources import source_path
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.registry import Registry
from randsmooth.transfer import check_there, fetched
from randsmooth.urls import has_protocol, is_url

BRACES = re.compile(r"\{\d{1,9}\.\.\d{1,9}\}")

DATASETS: Registry[DatasetSpec] = Registry(
    "data set",
    "randsmooth.datasets",
    {
        "cifar10": "randsmooth.data.catalogue:CIFAR10",
        "cifar10-jpeg": "randsmooth.data.catalogue:CIFAR10_JPEG",
        "cifar100": "randsmooth.data.catalogue:CIFAR100",
        "digits": "randsmooth.data.catalogue:DIGITS",
        "fashion-mnist": "randsmooth.data.catalogue:FASHION_MNIST",
        "imagenet": "randsmooth.data.catalogue:IMAGENET",
        "imagenet32": "randsmooth.data.catalogue:IMAGENET32",
        "mnist": "randsmooth.data.catalogue:MNIST",
        "svhn": "randsmooth.data.catalogue:SVHN",
    },
)


def registered(name: object, by: object) -> str:
    """The name of a data set that a file gives; `by` says which file, for the error.

    A file may come from a stranger, so a folder that it names is opened only if the user asks for it.

    Raises:
        InputError: `name` is no registered name.

    Example:
        >>> registered("mnist", "the model")
        'mnist'
        >>> registered("/home/someone", "the model")
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the model names the data set '/home/someone', and a folder that a file names is \
not opened unasked; give the folder yourself (--dataset on the command line)
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise InputError(
            f"{by} names the data set {shown(repr(name))}, and a folder that a file names is not opened unasked; give "
            "the folder yourself (--dataset on the command line)"
        )
    return name


def check_dataset(dataset: str) -> None:
    """Raise InputError unless `dataset` is a name, or a folder or file. Looks at no image, loads no torch.

    Example:
        >>> check_dataset("digits")
        >>> check_dataset("digit")
        Traceback (most recent call last):
        randsmooth.errors.InputError: unknown data set 'digit': did you mean 'digits'? Expected one of: cifar10, ...
    """
    if is_url(dataset):
        check_there(dataset.rpartition("/")[0] if "{" in dataset else dataset)
    elif dataset not in DATASETS:
        with readable(dataset):
            dataset_path(dataset)


@contextmanager
def readable(dataset: str) -> Iterator[None]:
    """Turn what the disk refuses into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{shown(dataset)} cannot be read ({shown(error)})") from error


def dataset_path(dataset: str) -> Path:
    """The folder or file `dataset`; of a URL, that of a copy of it.

    Raises InputError if there is none, or it is of no form that is read.
    """
    return source_path(str(_fetched(dataset)) if has_protocol(dataset) else dataset, list(DATASETS))


def _fetched(dataset: str) -> Path:
    """The copy of what is at a URL; of shards "s3://bucket/a-{0..9}.tar" the pattern in the folder of their copies."""
    folder, _, name = dataset.rpartition("/")
    if "{" not in name:
        return fetched(dataset)
    shard = re.compile(r"\d+".join(map(re.escape, BRACES.split(name))))
    return fetched(folder, lambda path: shard.fullmatch(str(path)) is not None) / name
