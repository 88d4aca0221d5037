"""Whether certificates belong to the run that a paper's row prints: how far their figures may differ, and do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from randsmooth import metrics
from randsmooth.metrics.estimate import wilson
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.rows import PaperRow

ACCURACY = "accuracy@"
# Decimal digits of our figures where the paper prints none. All other metrics have one.
DIGITS = {"acr": 3, "seconds": 1, "hours": 2, "epochs": 0}
EXACT = 1e-9  # rounding of floats
MANY = 0.5  # a run is another one where at least this share of its informative cells differs
CHANCE = 0.99  # level of the interval for figures that are measured on other images


@dataclass(frozen=True)
class Agreement:
    """A row's informative cells, and those whose difference neither rounding nor, on other images, chance explains.

    Attributes:
        differences: metric -> our figure minus the paper's.
        unexplained: those of the differences that rounding and chance do not explain.
        same_images: whether both figures are measured on equally many images.
        mean_error: mean |difference| in units of the printed rounding; 0 without cells.
    """

    differences: dict[str, float]
    unexplained: dict[str, float]
    same_images: bool
    mean_error: float

    @property
    def share(self) -> float:
        """The share of the informative cells whose difference is unexplained."""
        return len(self.unexplained) / len(self.differences) if self.differences else 0.0


def agreement_of(row: PaperRow, found: CertificateFile) -> Agreement:
    """How well the figures of the certificates agree with those of the row."""
    here = {m: v for m, v in figures(found, tuple(row.figures)).items() if informative(row, found, m)}
    differences = {m: value - row.figures[m] for m, value in here.items()}
    unexplained = {m: d for m, d in differences.items() if not _explained(row, found, m, here[m])}
    errors = [abs(d) / rounding(row, m) for m, d in differences.items()]
    return Agreement(
        differences, unexplained, not has_other_images(row, found), float(np.mean(errors)) if errors else 0.0
    )


def is_another_run(row: PaperRow, found: CertificateFile) -> bool:
    """Whether a released log is of another run than the row: at least half of its informative cells differ."""
    if not found.log or not row.figures:
        return False
    agreed = agreement_of(row, found)
    return bool(agreed.unexplained) and agreed.share >= MANY


def has_other_images(row: PaperRow, found: CertificateFile) -> bool:
    """Whether the row's figures are measured on another number of images than the certificates."""
    return bool(row.figures) and row.images not in (None, len(found.table))


def figures(found: CertificateFile, columns: Sequence[str]) -> dict[str, float]:
    """The value of each metric in `columns` that certificates determine; accuracy in percent."""
    values = {"acr": float((found.table.radius * found.table.correct).mean())} if "acr" in columns else {}
    radii = {column: float(column.removeprefix(ACCURACY)) for column in columns if column.startswith(ACCURACY)}
    return values | {c: 100.0 * metrics.certified_accuracy(found.table, r).value for c, r in radii.items()}


def informative(row: PaperRow, found: CertificateFile, metric: str) -> bool:
    """Whether a cell could differ: not where the paper prints 0 at a radius that cannot be certified."""
    if not metric.startswith(ACCURACY) or row.figures.get(metric) != 0.0:
        return True
    return float(metric.removeprefix(ACCURACY)) <= metrics.farthest(found.table)


def rounding(row: PaperRow, metric: str) -> float:
    """The rounding error of a printed figure: half a unit of its last digit."""
    return float(0.5 * 10.0 ** -row.decimals.get(metric, digits(metric)))


def digits(metric: str) -> int:
    return DIGITS.get(metric, 1)


def _explained(row: PaperRow, found: CertificateFile, metric: str, here: float) -> bool:
    """Whether rounding explains a difference or, where the numbers of images differ, rounding and chance."""
    low, high = _interval(row, found, metric, here)
    off = max(low - row.figures[metric], row.figures[metric] - high, 0.0)
    return off <= rounding(row, metric) + EXACT


def _interval(row: PaperRow, found: CertificateFile, metric: str, here: float) -> tuple[float, float]:
    """Where the paper's figure may lie, given ours: exactly there on equally many images, else in an interval."""
    if not has_other_images(row, found) or (metric != "acr" and not metric.startswith(ACCURACY)):
        return here, here
    fewer = min(len(found.table), row.images or 0)
    if metric == "acr":
        spread = float((found.table.radius * found.table.correct).std())
        half = float(special.ndtri(0.5 + CHANCE / 2.0)) * spread / math.sqrt(fewer)
        return here - half, here + half
    small = here if fewer == len(found.table) else row.figures[metric]
    low, high = (100.0 * float(end) for end in wilson(fewer * small / 100.0, fewer, level=CHANCE))
    return here + min(low - small, 0.0), here + max(high - small, 0.0)
