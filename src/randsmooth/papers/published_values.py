"""The numbers that the papers print, as one table.

A row is a cell of a paper: what it is about, and what stands there. `setting` is what tells an ablation's rows apart,
named as the presets are: PAPER/METHOD/SETTING. Of a paper's main rows it is empty. Where one paper prints two numbers
for the same thing, both stand here, under the object (a table, or a section's text) that has them: Gaussian training
on CIFAR-10 at sigma 0.5 has an ACR of .562 in table 2 of Sun et al. 2025, and of .525 in table 3.

`version` is the text that was read. Of Sun et al. it is the arXiv version; the ICLR submission has the same numbers,
but for "reweight+attack" in table 3, which it lacks. Left out: hyperparameters, and one ACR that cannot be read (MACER,
table 13, beta 1 at sigma 0.5).
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import pandas as pd

from randsmooth.errors import InputError, unknown


def published(paper: str | None = None, object: str | None = None) -> pd.DataFrame:
    """What `paper` prints in `object`; all papers and all objects by default.

    Returns:
        A row a cell, in the order of print. Texts: paper, object, version (the text it was read in), dataset, method,
        setting, metric ("acr", "accuracy@0.25" for certified accuracy in percent at an L2 radius, "seconds" of an
        epoch, "hours" of a training, ...). Numbers: sigma, NaN where a cell has none, and value. Shares that a paper
        prints as fractions are percent here.

    Raises:
        InputError: no such paper, or no such object in it.
    """
    table = printed(paper, object)
    return table.assign(sigma=pd.to_numeric(table["sigma"]), value=pd.to_numeric(table["value"]).astype(float))


def printed(paper: str | None = None, object: str | None = None) -> pd.DataFrame:
    """`published` with sigma and value as texts: how many digits are printed bounds the rounding."""
    table = _only(_file(), "paper", paper)
    return _only(table, "object", object).reset_index(drop=True)


@cache  # objects ask for their rows again and again; `_only` and `reset_index` give copies
def _file() -> pd.DataFrame:
    with resources.files("randsmooth.papers").joinpath("published.csv").open() as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def _only(table: pd.DataFrame, column: str, name: str | None) -> pd.DataFrame:
    if name is None:
        return table
    known = set(table[column])
    if name not in known:
        raise _unknown(table, column, name)
    return table[table[column] == name]


def _unknown(table: pd.DataFrame, column: str, name: str) -> InputError:
    papers = sorted(set(table["paper"]))
    kind = f"{column} of {papers[0]}" if column == "object" and len(papers) == 1 else column
    return unknown(kind, name, set(table[column]))
