"""The numbers that the papers print, as one table.

A row is a cell of a paper: what it is about, and the value printed there. `setting` distinguishes the rows of an
ablation and is named as the presets are: PAPER/METHOD/SETTING. It is empty for a paper's main rows. Where one paper
prints two numbers for the same thing, both are kept, each under the object (a table, or the text of a section) that
prints it: Gaussian training on CIFAR-10 at sigma 0.5 has an ACR of .562 in table 2 of Sun et al. 2025, and of .525 in
table 3.

`version` is the text that was read. For Sun et al. it is the arXiv version; the ICLR submission has the same numbers,
except that its table 3 lacks "reweight+attack". Left out are hyperparameters, and one ACR that is illegible (MACER,
table 13, beta 1 at sigma 0.5).
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from randsmooth.errors import unknown

if TYPE_CHECKING:
    import pandas as pd


class Cell(NamedTuple):
    """One number that a paper prints. All are texts, as printed; see `published` for what each means."""

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
    """The numbers that `paper` prints in `object`; by default those of all papers and all objects.

    Returns:
        One row per cell, in the order of print. Texts: paper, object, version (the text it was read in), dataset,
        method, setting, metric ("acr", "accuracy@0.25" for certified accuracy in percent at an L2 radius, "seconds" of
        an epoch, "hours" of a training run, ...). Numbers: sigma, NaN where a cell has none, and value. Shares that a
        paper prints as fractions are given in percent.

    Raises:
        InputError: no such paper, or no such object in it.

    Example:
        >>> table = published("acr", "table2")
        >>> best = table[(table["sigma"] == 0.5) & (table["metric"] == "acr")].set_index("method")["value"]
        >>> float(best["gaussian"]), float(best["amplify"])
        (0.562, 0.76)
    """
    import pandas as pd

    table = published_texts(paper, object)
    return table.assign(sigma=pd.to_numeric(table["sigma"]), value=pd.to_numeric(table["value"]).astype(float))


def published_texts(paper: str | None = None, object: str | None = None) -> pd.DataFrame:
    """`published` with sigma and value as texts: the number of digits printed bounds the rounding error."""
    import pandas as pd

    return pd.DataFrame(cells(paper, object), columns=list(Cell._fields), dtype=str)


def cells(paper: str | None = None, object: str | None = None) -> list[Cell]:
    """The cells of `published`, read without pandas so that a list of what the papers show costs little.

    Raises:
        InputError: no such paper, or no such object in it.
    """
    of_paper = [cell for cell in _file() if paper in (None, cell.paper)]
    if not of_paper:
        raise unknown("paper", str(paper), {cell.paper for cell in _file()})
    chosen = [cell for cell in of_paper if object in (None, cell.object)]
    if not chosen:
        kind = "object" if paper is None else f"object of {paper}"
        raise unknown(kind, str(object), {cell.object for cell in of_paper})
    return chosen


@cache  # objects ask for their rows again and again
def _file() -> tuple[Cell, ...]:
    with resources.files("randsmooth.papers").joinpath("published.csv").open() as file:
        return tuple(Cell(**row) for row in csv.DictReader(file))
