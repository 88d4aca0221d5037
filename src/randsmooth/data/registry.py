"""Names of data sets, and what each stands for."""

from __future__ import annotations

from randsmooth.data.catalogue import CATALOGUE
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

_KNOWN: dict[str, DatasetSpec] = {}


def register(spec: DatasetSpec) -> None:
    """Make `spec` loadable by its name. Raises InputError if the name is taken."""
    if spec.name in _KNOWN:
        raise InputError(f"data set {spec.name!r} is registered already: choose another name")
    _KNOWN[spec.name] = spec


def names() -> list[str]:
    """The registered names, in alphabetical order."""
    return sorted(_KNOWN)


def spec(name: str) -> DatasetSpec:
    """The data set registered as `name`. Raises InputError, with the nearest name, if there is none."""
    if name not in _KNOWN:
        raise unknown("dataset", name, _KNOWN)
    return _KNOWN[name]


def told(name: object, by: object) -> str:
    """The data set that a file names, `by` which it is told. Raises InputError unless that is a registered name.

    A file may be a stranger's, so a folder that it names is opened on the user's word only.
    """
    if name not in names():
        raise InputError(
            f"{by} names the data set {shown(repr(name))}, and a folder that a file names is not opened unasked; give "
            "the folder yourself (--dataset on the command line)"
        )
    return str(name)


for _spec in CATALOGUE:
    register(_spec)
