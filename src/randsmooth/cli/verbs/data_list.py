"""`randsmooth data list`: the named data sets."""

from __future__ import annotations

from randsmooth import data
from randsmooth.cli.options import Answered
from randsmooth.cli.settings import Unsaved


class List(Unsaved, Answered):
    """`randsmooth data list` has no settings."""


def run(settings: List) -> None:
    """List the named data sets, and whether each is here, on the hub or away.

    randsmooth fetches a data set from the hub when you first use it. It looks for a
    name in `$RANDSMOOTH_DATA/NAME/{train,test}.parquet` first: put missing data sets
    there.
    """
    # A data set of another package may be broken: `describe` says so in its place.
    described = {
        name: data.DATASETS.describe(name, _description) for name in data.DATASETS
    }
    lines = [f"{name:15} {description}" for name, description in described.items()]
    settings.answer(lines, lambda: described)


def _description(spec: data.DatasetSpec) -> str:
    """Return a line on a data set: here, on the hub or away, and what it holds."""
    if data.is_at_hand(spec.name):
        where = "here"
    elif spec.hub:
        where = "hub"
    else:
        where = "away"
    return f"{where:4}  {spec.description}"
