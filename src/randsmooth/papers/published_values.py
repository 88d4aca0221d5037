"""The numbers that the papers print."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from randsmooth.errors import unknown

if TYPE_CHECKING:
    import pandas as pd

# The metric of certified accuracy at a radius begins so, as in "accuracy@0.25".
ACCURACY = "accuracy@"


class Printed(NamedTuple):
    """One number that a paper prints, and where it stands.

    All fields are texts, as published.csv has them; `published` says what each means.
    The value has as many significant digits as the paper prints. Shares are in percent,
    also where the paper prints fractions.
    """

    paper: str
    object: str
    version: str
    dataset: str
    sigma: str
    method: str
    setting: str
    metric: str
    value: str


def published(paper: str | None = None, object: str | None = None) -> pd.DataFrame:
    """Return the numbers that `paper` prints in `object`; by default all numbers.

    Returns:
        One row per number, in the order of print. Texts: paper, object, version (of the
        paper's text, in which the number was read), dataset, method, setting (empty for
        a main row), metric ("acr", "accuracy@0.25" for certified accuracy in percent at
        an L2 radius, "seconds" of an epoch, "hours" of a training run, ...). Floats:
        sigma and value. Shares that a paper prints as fractions are given in percent.

    Raises:
        Problem: no such paper, or no such object in it.

    Example:
        >>> table = published("acr", "table2")
        >>> acr_at_half = table[(table["sigma"] == 0.5) & (table["metric"] == "acr")]
        >>> acr = acr_at_half.set_index("method")["value"]
        >>> float(acr["gaussian"]), float(acr["amplify"])
        (0.562, 0.76)
    """
    # `cells`, in the same module, does without pandas, which takes long to import.
    import pandas as pd

    table = pd.DataFrame(cells(paper, object), columns=list(Printed._fields), dtype=str)
    return table.astype({"sigma": float, "value": float})


def cells(paper: str | None = None, object: str | None = None) -> list[Printed]:
    """Return the numbers of `published` with all fields as texts.

    Only a text keeps the number of digits printed, which bounds the rounding error. They
    are read without pandas, so that a list of what the papers show costs little.

    Raises:
        Problem: no such paper, or no such object in it.
    """
    cells_of_paper = [cell for cell in _all_cells() if paper in (None, cell.paper)]
    if not cells_of_paper:
        raise unknown("paper", str(paper), {cell.paper for cell in _all_cells()})
    cells_of_object = [cell for cell in cells_of_paper if object in (None, cell.object)]
    if not cells_of_object:
        kind = "object" if paper is None else f"object of {paper}"
        raise unknown(kind, str(object), {cell.object for cell in cells_of_paper})
    return cells_of_object


# Cached, since each object of a paper asks for its rows several times.
@cache
def _all_cells() -> tuple[Printed, ...]:
    """Read published.csv, whose columns are the fields of `Printed`."""
    path = resources.files("randsmooth.papers").joinpath("published.csv")
    with path.open() as file:
        return tuple(Printed(**row) for row in csv.DictReader(file))
