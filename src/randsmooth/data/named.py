"""The data sets that have a name: the facts in named.yaml."""

from functools import cache
from importlib import resources
from typing import Any

from pydantic import TypeAdapter

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.digits import read_digits
from randsmooth.documents import parse_yaml


def named_set(name: str) -> DatasetSpec:
    """Return the data set of named.yaml that has this name.

    Example:
        >>> named_set("svhn").shape
        (3, 32, 32)
    """
    return _named_sets()[name]


@cache
def _named_sets() -> dict[str, DatasetSpec]:
    """Return the data sets of named.yaml by their names."""
    file = resources.files("randsmooth.data").joinpath("named.yaml")
    written: dict[str, dict[str, Any]] = parse_yaml(file.read_text(), "named.yaml")
    for name, facts in written.items():
        facts["name"] = name
        # A number of classes stands for those that are called "0", "1", ...
        if isinstance(facts["classes"], int):
            facts["classes"] = [str(k) for k in range(facts["classes"])]
    written["digits"]["read"] = read_digits
    return TypeAdapter(dict[str, DatasetSpec]).validate_python(written)
