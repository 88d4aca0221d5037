"""The rows of a published table: which model each is about, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from randsmooth.papers.images import images_of
from randsmooth.papers.published_values import printed

# Rows that print another paper's run: (paper, object, dataset, sigma, method) -> the preset of that run.
# Table 3 of Sun et al. repeats the Gaussian row of CAT-RS's table 2 (m = 1) at sigma 0.5, all nine figures of it.
REPEATED = {("acr", "table3", "cifar10", "0.5", "gaussian"): "cat-rs/gaussian"}


@dataclass(frozen=True)
class Row:
    """One model of a table.

    Attributes:
        paper: acr, macer or cat-rs.
        setting: what an ablation changes; empty for a main row.
        preset: that trains it.
        figures: metric -> published value. decimals: metric -> with how many decimals it is printed.
        images: that the figures rest on; None where nothing says.
    """

    paper: str
    dataset: str
    sigma: float
    method: str
    setting: str
    preset: str
    figures: dict[str, float] = field(default_factory=dict, compare=False)
    decimals: dict[str, int] = field(default_factory=dict, compare=False)
    images: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What to call the row in a legend."""
        return f"{self.method}, {self.setting}" if self.setting else self.method


def rows_of(paper: str, object: str, version: str | None = None) -> list[Row]:
    """The rows of a published object in the paper's order; of one version where the texts differ, by default the first.

    Raises:
        InputError: no such object.
    """
    frame = printed(paper, object)
    frame = frame[frame["version"] == (version or frame["version"].iloc[0])]
    keys = ["dataset", "sigma", "method", "setting"]
    return [_row(paper, object, key, part) for key, part in frame.groupby(keys, sort=False, dropna=False)]


def _row(paper: str, object: str, key: tuple[str, ...], cells: pd.DataFrame) -> Row:
    dataset, sigma, method, setting = key
    repeated = REPEATED.get((paper, object, dataset, sigma, method))
    texts = dict(zip(cells["metric"], cells["value"], strict=True))
    return Row(
        paper,
        dataset,
        float(sigma or "nan"),
        method,
        setting,
        repeated or preset_of(paper, dataset, method, setting),
        figures={metric: float(text) for metric, text in texts.items()},
        decimals={metric: len(text.partition(".")[2]) for metric, text in texts.items()},
        images=images_of(paper, object),
    )


def preset_of(paper: str, dataset: str, method: str, setting: str) -> str:
    """The preset that trains a row: the variation that the setting names, else the method's main one.

    On MNIST the figures of CAT-RS's baselines are of released logs: "table1" trains them, not the text's preset.
    """
    logged = (paper, dataset) == ("cat-rs", "mnist") and method != "cat-rs"
    variation = setting or ("table1" if logged else "")
    return f"{paper}/{method}" + (f"/{variation}" if variation else "")


def is_main(preset: str) -> bool:
    """Whether a preset is of a main row, not one of an ablation's."""
    return preset.count("/") == 1 or preset.endswith(("/table1", "/prose"))


def named(rows: Sequence[Row]) -> str:
    """`gaussian, macer at sigma 0.5; macer at sigma 1`."""
    sigmas = dict.fromkeys(row.sigma for row in rows)
    names = {sigma: ", ".join(row.name for row in rows if row.sigma == sigma) for sigma in sigmas}
    return "; ".join(f"{name} at sigma {sigma:g}" for sigma, name in names.items())


def metrics_of(rows: Sequence[Row]) -> list[str]:
    """The metrics that any row has, in the first row's order."""
    return list(dict.fromkeys(metric for row in rows for metric in row.figures))
