"""The numbers that the papers print, as one table; and where those of one row contradict each other.

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
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from randsmooth.errors import unknown

if TYPE_CHECKING:
    import pandas as pd

ROW = ["paper", "object", "version", "dataset", "sigma", "method", "setting"]
N, ALPHA = 100_000, 0.001  # what all three papers certify with
ACCURACY = "accuracy@"


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


def inconsistencies() -> pd.DataFrame:
    """The contradictions in rows of the published tables, one per line.

    Certified accuracy cannot rise with the radius, nor be above 0 where no count can certify, and ACR is the area under
    its curve. Every number involved may be off by its rounding, half a unit of the last digit printed. The tables as
    typed here contain no contradiction; a slip in typing them would be likely to introduce one.

    Returns:
        A table with the columns paper, object, version, dataset, sigma, method, setting and `what` contradicts itself.

    Example:
        >>> len(inconsistencies())
        0
    """
    import pandas as pd

    rows: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells():
        rows.setdefault(cell[: len(ROW)], []).append(cell)
    lines = [(*key, what) for key, row in rows.items() for what in _contradictions(row)]
    found = pd.DataFrame(lines, columns=[*ROW, "what"], dtype=str)
    return found.assign(sigma=pd.to_numeric(found["sigma"]))


def _contradictions(row: Sequence[Cell]) -> Iterator[str]:
    from randsmooth import bounds

    printed = {float(c.metric.removeprefix(ACCURACY)): c.value for c in row if c.metric.startswith(ACCURACY)}
    if not printed:
        return
    farthest = bounds.largest_radius(N, ALPHA, float(row[0].sigma))
    for (r, value), (beyond, after) in pairwise(printed.items()):
        if float(after) > float(value):
            yield f"accuracy rises from {value} at {r:g} to {after} at {beyond:g}"
    for r, value in printed.items():
        if r > farthest and float(value) > 0.0:
            yield f"accuracy {value} at {r:g}, but no radius beyond {farthest:.3f} can be certified"
    within = {r: value for r, value in printed.items() if r <= farthest}
    accuracy, slack = ([0.01 * of(v) for v in within.values()] for of in (float, _rounding))
    low, high = area([*within], accuracy, farthest, slack)
    for text in (cell.value for cell in row if cell.metric == "acr"):
        if not low - _rounding(text) <= float(text) <= high + _rounding(text):
            yield f"ACR {text} is outside [{low:.4f}, {high:.4f}], what the accuracies allow"


def area(
    radii: Sequence[float], accuracy: Sequence[float], farthest: float, slack: Sequence[float]
) -> tuple[float, float]:
    """The least and the largest ACR of a classifier whose certified accuracy is known at some radii.

    Args:
        radii: M, ascending from 0, none above `farthest`, the largest radius that can be certified.
        accuracy: M, share of images certified at each, known to within `slack`, M.

    Between two radii the curve lies between its values at both. It may fall right after the first, which gives the
    least area, or only at the second, which gives the largest.
    """
    widths = [after - r for r, after in pairwise([*radii, farthest])]
    low = [max(a - s, 0.0) for a, s in zip(accuracy, slack, strict=True)]
    high = [min(a + s, 1.0) for a, s in zip(accuracy, slack, strict=True)]
    return sum(map(mul, widths[:-1], low[1:])), sum(map(mul, widths, high))


def _rounding(text: str) -> float:
    """Half a unit of the last digit of a printed value."""
    return float(0.5 * 10.0 ** -len(text.partition(".")[2]))
