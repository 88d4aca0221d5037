"""Whether certificates are of the run that a paper's row prints: by how much their figures may differ, and do."""

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
DIGITS = {"acr": 3, "seconds": 1, "hours": 2, "epochs": 0}  # ours, where the paper prints no figure; 1 for all others
EXACT = 1e-9  # rounding of floats
MANY = 0.5  # share of a row's informative cells that differ, from which on the run is another one
CHANCE = 0.99  # level of the interval that other images' figures may lie in


@dataclass(frozen=True)
class Agreement:
    """A row's informative cells, and those that differ by more than print, and chance on other images, allow.

    Attributes:
        telling, large: metric -> ours minus the paper's. same_images: as many here as there.
        off: mean |difference| in units of the printed rounding; 0 without cells.
    """

    telling: dict[str, float]
    large: dict[str, float]
    same_images: bool
    off: float

    @property
    def share(self) -> float:
        """Of the informative cells, how many differ."""
        return len(self.large) / len(self.telling) if self.telling else 0.0


def agreement_of(row: PaperRow, found: CertificateFile) -> Agreement:
    """How the certificates' figures agree with the row's."""
    told = {m: v for m, v in figures(found, tuple(row.figures)).items() if informative(row, found, m)}
    telling = {m: value - row.figures[m] for m, value in told.items()}
    large = {m: d for m, d in telling.items() if not _allowed(row, found, m, told[m])}
    off = float(np.mean([abs(d) / rounding(row, m) for m, d in telling.items()])) if telling else 0.0
    return Agreement(telling, large, not has_other_images(row, found), off)


def is_another_run(row: PaperRow, found: CertificateFile) -> bool:
    """Whether a released log is not the run of the row: many cells differ."""
    if not found.log or not row.figures:
        return False
    agreed = agreement_of(row, found)
    return bool(agreed.large) and agreed.share >= MANY


def has_other_images(row: PaperRow, found: CertificateFile) -> bool:
    """Whether the row's figures rest on more or fewer images."""
    return bool(row.figures) and row.images not in (None, len(found.table))


def figures(found: CertificateFile, columns: Sequence[str]) -> dict[str, float]:
    """What a table of certificates says of each metric that certificates know; accuracy in percent."""
    told = {"acr": float((found.table.radius * found.table.correct).mean())} if "acr" in columns else {}
    radii = {column: float(column.removeprefix(ACCURACY)) for column in columns if column.startswith(ACCURACY)}
    return told | {c: 100.0 * metrics.certified_accuracy(found.table, r).value for c, r in radii.items()}


def informative(row: PaperRow, found: CertificateFile, metric: str) -> bool:
    """Whether a cell could differ: not where the paper prints 0 at a radius that nothing can be certified to."""
    if not metric.startswith(ACCURACY) or row.figures.get(metric) != 0.0:
        return True
    return float(metric.removeprefix(ACCURACY)) <= metrics.farthest(found.table)


def rounding(row: PaperRow, metric: str) -> float:
    """By how much a figure may be off as the paper prints it: half a unit of its last digit."""
    return float(0.5 * 10.0 ** -row.decimals.get(metric, digits(metric)))


def digits(metric: str) -> int:
    return DIGITS.get(metric, 1)


def _allowed(row: PaperRow, found: CertificateFile, metric: str, here: float) -> bool:
    """Whether print explains the difference, or print and the chance of the smaller number of images."""
    low, high = _interval(row, found, metric, here)
    off = max(low - row.figures[metric], row.figures[metric] - high, 0.0)
    return off <= rounding(row, metric) + EXACT


def _interval(row: PaperRow, found: CertificateFile, metric: str, here: float) -> tuple[float, float]:
    """What the paper's figure may be for ours: ours alone on as many images, else widened by chance."""
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
