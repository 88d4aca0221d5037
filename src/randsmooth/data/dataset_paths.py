"""Which data set a text means: a named one, or a folder or file. Loads no torch."""

from pathlib import Path

from randsmooth.data.forms import (
    CONVERSIONS,
    is_file_of_many,
    shards,
    unknown_form,
)
from randsmooth.data.registry import DATASETS, is_at_hand, not_had
from randsmooth.documents import refused, shown
from randsmooth.errors import NotFound, unknown
from randsmooth.extras import MissingPackage, installed
from randsmooth.urls import check_there, fetched, is_url


def check_dataset(dataset: str, *, images: bool = True) -> None:
    """Raise Problem unless `dataset` is the name of a data set, a folder, a file or a URL.

    Args:
        dataset: the text that a user gives.
        images: whether it is also checked that the images of a named data set can be had.

    Example:
        >>> check_dataset("digits")
        >>> check_dataset("digit")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: unknown data set 'digit': did you mean 'digits'? ...
    """
    if is_url(dataset):
        check_there(dataset)
    elif dataset in DATASETS:
        if images:
            _check_can_be_had(dataset)
    else:
        with refused(f"{shown(dataset)} cannot be read", OSError):
            dataset_path(dataset)


def _check_can_be_had(name: str) -> None:
    """Raise Problem where a data set is only on the hub, and `datasets` is not installed."""
    spec = DATASETS[name]
    if spec.hub and not is_at_hand(name) and not installed("datasets"):
        missing = MissingPackage(f"the data set {spec.hub} of the hub", "datasets")
        raise not_had(spec, missing)


def dataset_path(dataset: str) -> Path:
    """Return the folder or file that `dataset` means.

    For a URL it is a copy. A pattern of shards, such as `a-{0..9}.tar`, is returned as it
    is, once all of its files were found.

    Raises:
        NotFound: there is no such folder or file, or it is of no form that is read.
    """
    # `expanduser` raises a RuntimeError where "~name" names no user.
    with refused(f"no folder at {shown(dataset)}", RuntimeError):
        path = fetched(dataset) if is_url(dataset) else Path(dataset).expanduser()
    if path.is_dir():
        return path

    files = shards(path)
    missing = [file for file in files if not file.is_file()]
    if is_file_of_many(path) and files and not missing:
        return path
    raise _no_data_set(dataset, path, missing)


def _no_data_set(dataset: str, path: Path, missing: list[Path]) -> NotFound:
    """Return the error for a text that names no data set.

    Args:
        dataset: the text.
        path: the folder or file that it may mean.
        missing: the files that it may mean and that are not there.
    """
    if path.is_file():
        conversion = CONVERSIONS.get(path.suffix.lower())
        fault = f"{path} is of no form that is read as a data set"
        return unknown_form(fault if conversion is None else f"{fault}: {conversion}")

    names_file = is_file_of_many(path)
    if names_file or len(path.parts) > 1:
        kind = "file" if names_file else "folder"
        place = missing[0] if missing else path
        return unknown_form(
            f"no {kind} at {place}: give the path of one, or one of "
            f"{', '.join(DATASETS)}"
        )
    return unknown_form(str(unknown("data set", dataset, DATASETS)))
