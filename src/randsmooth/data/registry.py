"""Data sets by name, ours and those of other packages.

Names are checked without loading torch.
"""

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

# The names are written here as well as in named.yaml. Reading that file takes longer than
# saying that a name is wrong.
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
    """Check that a file, such as a model's, names a registered data set; return the name.

    A file may come from a stranger. A folder that it names is not opened unless the user
    gives it.

    Args:
        name: what the file gives as its data set.
        by: the file in the words of an error.

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
    """Return the folder where the named data set is looked for on this machine.

    Where HOME is not set, it is a path that says so, and does not exist.
    """
    return Path(os.environ.get(HOME) or f"${HOME}") / name


def is_at_hand(dataset: str) -> bool:
    """Return whether the named `dataset` is on this machine, or is made here.

    Example:
        >>> is_at_hand("digits")
        True
    """
    return DATASETS[dataset].read is not None or folder_of(dataset).is_dir()


def not_had(spec: DatasetSpec, error: Problem) -> NotFound:
    """Return the error for a data set that is neither on this machine nor on the hub.

    It tells how to download it.

    Args:
        spec: the data set.
        error: why it cannot be had from the hub.

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
