"""Data sets by name, ours and those of other packages. Loads no torch."""

import os
from functools import partial
from pathlib import Path

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.named import named_set
from randsmooth.documents import shown
from randsmooth.errors import NotFound, Problem
from randsmooth.registry import OnDemand, Registry

# The variable of the environment that names the folder of the named data sets.
HOME = "RANDSMOOTH_DATA"

# Names are known before the file with their facts is read, which takes longer than most
# errors.
OUR_NAMES = (
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

DATASETS: Registry[DatasetSpec] = Registry(
    "data set",
    "randsmooth.datasets",
    OnDemand({name: partial(named_set, name) for name in OUR_NAMES}),
)


def registered(name: object, by: object) -> str:
    """Return the name of a data set that a file gives.

    A file may come from a stranger, so a folder that it names is opened only if the
    user asks for it.

    Args:
        name: the name of the data set.
        by: which file, for the error.

    Raises:
        NotFound: `name` is no registered name.

    Example:
        >>> registered("mnist", "the model")
        'mnist'
        >>> registered("/home/someone", "the model")
        Traceback (most recent call last):
        ...
        randsmooth.errors.NotFound: the model names the data set '/home/someone', and \
a folder that a file names is not opened unasked; give it yourself
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise NotFound(
            f"{by} names the data set {shown(repr(name))}, and a folder that a file "
            "names is not opened unasked",
            field="dataset",
            value=name,
            fix="give it yourself",
        )
    return name


def folder_of(name: str) -> Path:
    """Return where the data set with a name is looked for on this machine."""
    return Path(os.environ.get(HOME) or f"${HOME}") / name


def is_at_hand(dataset: str) -> bool:
    """Return whether `data.load` finds the named `dataset` without a network.

    Example:
        >>> is_at_hand("digits")
        True
    """
    return DATASETS[dataset].read is not None or folder_of(dataset).is_dir()


def not_had(spec: DatasetSpec, error: Problem) -> NotFound:
    """Return the error for a data set that is in no folder, nor from the hub.

    It names the ways to have it.

    Args:
        spec: the data set.
        error: why it is not had from the hub.

    Example:
        >>> raise not_had(DATASETS["mnist"], Problem("the hub is not reached"))
        Traceback (most recent call last):
        randsmooth.errors.NotFound: mnist is not at ..., and the hub is not reached. ...
    """
    folder = folder_of(spec.name)
    home = os.environ.get(HOME) or "not set"
    return NotFound(
        f"{spec.name} is not at {folder} ({HOME} is {home}), and {error}. Or run "
        f"`hf download {spec.hub} --repo-type dataset --local-dir {folder}` where "
        f"there is a network, and set {HOME} to the parent of that folder",
        field="dataset",
        value=spec.name,
    )
