"""Our figures beside the published ones, cell by cell: how far they may differ, whether they do, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from randsmooth import metrics
from randsmooth.metrics.estimate import wilson
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.published_values import PaperRow, metrics_of, named

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


IMAGES = "images"  # heading of the column with the number of images


@dataclass(frozen=True)
class CellComparison:
    """The rows of a table with the paper's figures, and ours where there are certificates.

    Attributes:
        rows: those of the paper.
        metrics: the columns.
        found: the certificates of each row; None where there are none.
        ours: the figures of each row's certificates; empty where there are none.
    """

    rows: tuple[PaperRow, ...]
    metrics: tuple[str, ...]
    found: tuple[CertificateFile | None, ...]
    ours: tuple[dict[str, float], ...]


def compare_cells(rows: Sequence[PaperRow], found: Sequence[CertificateFile | None]) -> CellComparison:
    """Compare each row of a paper with the certificates found for it."""
    columns = metrics_of(rows) or ["acr", *(f"{ACCURACY}{r:g}" for r in _radii(found))]
    ours = tuple({} if f is None else figures(f, columns) for f in found)
    return CellComparison(tuple(rows), tuple(columns), tuple(found), ours)


def _radii(found: Sequence[CertificateFile | None]) -> list[float]:
    tables = [f.table for f in found if f is not None]
    return metrics.usual_radii(tables) if tables else []


def differences(table: CellComparison) -> list[dict[str, float]]:
    """Our figure minus the paper's, for each row and each metric that both have."""
    return [
        {m: ours[m] - row.figures[m] for m in table.metrics if m in ours and m in row.figures}
        for row, ours in zip(table.rows, table.ours, strict=True)
    ]


def findings(table: CellComparison) -> list[str]:
    """In words: which rows differ by more than rounding explains, and which are measured on other images."""
    parts = zip(table.rows, table.found, strict=True)
    sentences = [_finding(row, found) for row, found in parts if found is not None]
    return [*filter(None, sentences), *_other_images(table)]


def _finding(row: PaperRow, found: CertificateFile) -> str:
    agreed = agreement_of(row, found)
    if not agreed.unexplained:
        return ""
    cells = ", ".join(
        f"{title(m)} {d:+.{max(digits(m), row.decimals.get(m, 0))}f}" for m, d in agreed.unexplained.items()
    )
    chance = "" if agreed.same_images else " by more than rounding and chance"
    why = ": the released log is not the run of the table" if is_another_run(row, found) else ""
    return (
        f"{named([row])} differs in {len(agreed.unexplained)} of {len(agreed.differences)} cells{chance}{why} ({cells})"
    )


def _other_images(table: CellComparison) -> list[str]:
    """A sentence for each group of rows whose number of images differs from the paper's in the same way."""
    counts: dict[tuple[int, int], list[PaperRow]] = {}
    for row, found in zip(table.rows, table.found, strict=True):
        if found is not None and has_other_images(row, found):
            counts.setdefault((int(row.images or 0), len(found.table)), []).append(row)
    return [
        f"{named(rows)}: {ours:,} images here, {theirs:,} in the paper, so that some of the difference is chance: "
        "a cell is said to differ where rounding and a 99% interval for the smaller number do not explain it"
        for (theirs, ours), rows in counts.items()
    ]


def title(metric: str) -> str:
    """The heading of a metric's column."""
    return "ACR" if metric == "acr" else metric.removeprefix(ACCURACY) if metric.startswith(ACCURACY) else metric


def wide(table: CellComparison) -> pd.DataFrame:
    """The comparison for a person to read: up to three lines per row (paper, here, difference), figures as text."""
    lines = []
    for row, found, ours, difference in zip(table.rows, table.found, table.ours, differences(table), strict=True):
        what = {"sigma": "" if math.isnan(row.sigma) else f"{row.sigma:g}", "method": row.name}
        counts = _counts(row, found)
        parts = [("paper", row.figures, ""), ("here", ours, ""), ("difference", difference, "+")]
        for source, values, sign in parts:
            if values:
                cells = {title(m): _cell(values.get(m), m, row, source, sign) for m in table.metrics}
                lines.append(what | {"": source, IMAGES: counts.get(source, "")} | cells)
                what = dict.fromkeys(what, "")
    columns = ["sigma", "method", "", IMAGES, *map(title, table.metrics)]
    return pd.DataFrame(lines, columns=columns, dtype=str).fillna("")


def _counts(row: PaperRow, found: CertificateFile | None) -> dict[str, str]:
    """The number of images behind the figures; with a star where it differs from the paper's."""
    counts = {} if row.images is None else {"paper": f"{row.images:,}"}
    if found is not None:
        counts["here"] = f"{len(found.table):,}{'*' * has_other_images(row, found)}"
    return counts


def _cell(value: float | None, metric: str, row: PaperRow, source: str, sign: str) -> str:
    """A figure as text: the paper's as printed, ours with at least as many digits."""
    if value is None:
        return ""
    decimals = row.decimals.get(metric, digits(metric))
    text = f"{value:{sign}.{decimals if source == 'paper' else max(decimals, digits(metric))}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text


def tidy(table: CellComparison) -> pd.DataFrame:
    """The comparison for programs: one row per cell, at full precision."""
    lines = []
    for row, found, ours in zip(table.rows, table.found, table.ours, strict=True):
        what = (row.dataset, row.sigma, row.method, row.setting)
        here = (None, "") if found is None else (len(found.table), found.path.name)
        for metric in table.metrics:
            values = (row.figures.get(metric, math.nan), ours.get(metric, math.nan))
            lines.append((*what, metric, *values, values[1] - values[0], row.images, *here))
    columns = ["dataset", "sigma", "method", "setting", "metric", "published", "here", "difference"]
    frame = pd.DataFrame(lines, columns=[*columns, "published_images", "images", "file"])
    return frame.astype({"published_images": "Int64", "images": "Int64"})
