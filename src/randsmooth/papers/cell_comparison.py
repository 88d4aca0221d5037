"""Our figures beside the published ones, cell by cell: how far they may differ, whether they do, and in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from randsmooth import metrics
from randsmooth.metrics import share_interval
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.published_values import ACCURACY, PaperRow, named
from randsmooth.report.grouping import gathered

# Decimal digits of our figures where the paper prints none. All other metrics have one.
DIGITS = {"acr": 3, "seconds": 1, "hours": 2, "epochs": 0}
EXACT = 1e-9  # rounding of floats: 6,465 of 10,000 is printed as 64.7%
MANY = 0.5  # a run is another one where at least this share of its informative cells differs
CHANCE = 0.99  # level of the interval for figures that are measured on other images


@dataclass(frozen=True)
class Agreement:
    """A row of a paper beside certificates: which of its informative cells differ, and what explains that.

    Attributes:
        row, found: the row and the certificates.
        here: metric -> the figure of the certificates.
        differences: metric -> our figure minus the paper's, of the informative cells.
        unexplained: those of the differences that rounding and, on other images, chance do not explain.
        same_images: whether both figures are measured on equally many images.
        mean_error: mean |difference| in units of the printed rounding; 0 without cells.
    """

    row: PaperRow
    found: CertificateFile
    here: dict[str, float]
    differences: dict[str, float]
    unexplained: dict[str, float]
    same_images: bool
    mean_error: float

    @property
    def share(self) -> float:
        """The share of the informative cells whose difference is unexplained."""
        return (
            len(self.unexplained) / len(self.differences) if self.differences else 0.0
        )

    @property
    def another_run(self) -> bool:
        """Whether a released log is of another run than the row: at least half of its informative cells differ."""
        return self.found.log and bool(self.unexplained) and self.share >= MANY


def agreement_of(
    row: PaperRow, found: CertificateFile, columns: Sequence[str] | None = None
) -> Agreement:
    """How well the figures of the certificates, by default those that the row has, agree with those of the row."""
    same = row.images in (None, len(found.table))
    here = figures(found, tuple(row.figures) if columns is None else columns)
    told = [m for m in here if m in row.figures and informative(row, found, m)]
    differences = {m: here[m] - row.figures[m] for m in told}
    unexplained = {
        m: d
        for m, d in differences.items()
        if not _explained(row, found, m, here[m], same)
    }
    errors = [abs(d) / rounding(row, m) for m, d in differences.items()]
    return Agreement(
        row,
        found,
        here,
        differences,
        unexplained,
        same,
        float(np.mean(errors)) if errors else 0.0,
    )


def figures(found: CertificateFile, columns: Sequence[str]) -> dict[str, float]:
    """The value of each metric in `columns` that certificates determine; accuracy in percent."""
    values = (
        {"acr": float((found.table.radius * found.table.correct).mean())}
        if "acr" in columns
        else {}
    )
    radii = {
        column: float(column.removeprefix(ACCURACY))
        for column in columns
        if column.startswith(ACCURACY)
    }
    return values | {
        c: 100.0 * metrics.certified_accuracy(found.table, r).value
        for c, r in radii.items()
    }


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


def _explained(
    row: PaperRow, found: CertificateFile, metric: str, here: float, same: bool
) -> bool:
    """Whether rounding explains how far the paper's figure is from ours, on another number of images also chance."""
    low, high, there = here, here, row.figures[metric]
    fewer = min(len(found.table), row.images or 0)
    if metric == "acr" and not same:
        spread = float((found.table.radius * found.table.correct).std())
        half = float(special.ndtri(0.5 + CHANCE / 2.0)) * spread / math.sqrt(fewer)
        low, high = here - half, here + half
    elif metric.startswith(ACCURACY) and not same:
        small = here if fewer == len(found.table) else there
        ends = (
            100.0 * float(end)
            for end in share_interval(fewer * small / 100.0, fewer, level=CHANCE)
        )
        low, high = (
            here + shift(end - small, 0.0)
            for shift, end in zip((min, max), ends, strict=True)
        )
    return bool(max(low - there, there - high) <= rounding(row, metric) + EXACT)


def lack(agreed: Agreement | None) -> str:
    """Why certificates are not enough to fill a row, in words; empty where they are."""
    return (
        "nothing at hand"
        if agreed is None
        else "only logs of other runs"
        if agreed.another_run
        else ""
    )


IMAGES = "images"  # heading of the column with the number of images


@dataclass(frozen=True)
class CellComparison:
    """The rows of a table with the paper's figures, and ours where there are certificates.

    Attributes:
        rows: those of the paper.
        metrics: the columns.
        agreed: each row beside its certificates; None where there are none.
        beyond: figures of each row that certificates do not tell; none for all rows where it is empty.
    """

    rows: tuple[PaperRow, ...]
    metrics: tuple[str, ...]
    agreed: tuple[Agreement | None, ...]
    beyond: tuple[dict[str, float], ...] = ()

    @property
    def ours(self) -> list[dict[str, float]]:
        """Our figures of each row, by metric."""
        more = self.beyond or ({},) * len(self.rows)
        return [
            (agreed.here if agreed else {}) | own
            for agreed, own in zip(self.agreed, more, strict=True)
        ]


def compare_cells(
    rows: Sequence[PaperRow],
    found: Sequence[CertificateFile | None],
    beyond: Sequence[dict[str, float]] = (),
) -> CellComparison:
    """Compare each row of a paper with the certificates found for it."""
    tables = [f.table for f in found if f is not None]
    columns = list(dict.fromkeys(metric for row in rows for metric in row.figures))
    columns = columns or [
        "acr",
        *(f"{ACCURACY}{r:g}" for r in (metrics.usual_radii(tables) if tables else [])),
    ]
    agreed = tuple(
        agreement_of(r, f, columns) if f else None
        for r, f in zip(rows, found, strict=True)
    )
    return CellComparison(tuple(rows), tuple(columns), agreed, tuple(beyond))


def findings(table: CellComparison) -> list[str]:
    """In words: which rows differ by more than rounding explains, and which are measured on other images."""
    there = [agreed for agreed in table.agreed if agreed]
    others = gathered(
        ((one.row.images or 0, len(one.found.table)), one.row)
        for one in there
        if not one.same_images
    )
    return [_finding(one) for one in there if one.unexplained] + [
        f"{named(rows)}: {ours:,}* images here, {theirs:,} in the paper, so that some of the difference is chance: "
        "a cell is said to differ where rounding and a 99% interval for the smaller number do not explain it"
        for (theirs, ours), rows in others.items()
    ]


def _finding(one: Agreement) -> str:
    places = {m: max(digits(m), one.row.decimals.get(m, 0)) for m in one.unexplained}
    cells = ", ".join(
        f"{title(m)} {d + EXACT:+.{places[m]}f}" for m, d in one.unexplained.items()
    )
    chance = "" if one.same_images else " by more than rounding and chance"
    why = ": the released log is not the run of the table" if one.another_run else ""
    many = f"{len(one.unexplained)} of {len(one.differences)} cells"
    return f"{named([one.row])} differs in {many}{chance}{why} ({cells})"


def title(metric: str) -> str:
    """The heading of a metric's column."""
    return (
        "ACR"
        if metric == "acr"
        else metric.removeprefix(ACCURACY)
        if metric.startswith(ACCURACY)
        else metric
    )


def wide(table: CellComparison) -> pd.DataFrame:
    """The comparison for a person to read: up to three lines per row (paper, here, difference), figures as text."""
    lines, several = [], len({row.dataset for row in table.rows}) > 1
    for row, agreed, ours in zip(table.rows, table.agreed, table.ours, strict=True):
        name = f"{row.name}, {row.dataset}" if several else row.name
        what = {
            "sigma": "" if math.isnan(row.sigma) else f"{row.sigma:g}",
            "method": name,
        }
        counts = {} if row.images is None else {"paper": f"{row.images:,}"}
        if agreed:  # with a star where it differs from the paper's
            counts["here"] = (
                f"{len(agreed.found.table):,}{'*' * (not agreed.same_images)}"
            )
        both = {
            m: ours[m] - row.figures[m]
            for m in table.metrics
            if m in ours and m in row.figures
        }
        for source, values, sign in (
            ("paper", row.figures, ""),
            ("here", ours, ""),
            ("difference", both, "+"),
        ):
            if values:
                cells = {
                    title(m): _cell(values.get(m), m, row, source, sign)
                    for m in table.metrics
                }
                lines.append(
                    what | {"": source, IMAGES: counts.get(source, "")} | cells
                )
                what = dict.fromkeys(what, "")
    columns = ["sigma", "method", "", IMAGES, *map(title, table.metrics)]
    return pd.DataFrame(lines, columns=columns, dtype=str).fillna("")


def _cell(
    value: float | None, metric: str, row: PaperRow, source: str, sign: str
) -> str:
    """A figure as text: the paper's as printed, ours with at least as many digits, rounded half up."""
    if value is None:
        return ""
    decimals = row.decimals.get(metric, digits(metric))
    text = f"{value + EXACT:{sign}.{decimals if source == 'paper' else max(decimals, digits(metric))}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text


def tidy(table: CellComparison) -> pd.DataFrame:
    """The comparison for programs: one row per cell, at full precision."""
    lines = []
    for row, agreed, ours in zip(table.rows, table.agreed, table.ours, strict=True):
        what = (row.dataset, row.sigma, row.method, row.setting)
        here = (
            (len(agreed.found.table), agreed.found.path.name) if agreed else (None, "")
        )
        for metric in table.metrics:
            values = (row.figures.get(metric, math.nan), ours.get(metric, math.nan))
            explained = (
                metric not in agreed.unexplained
                if agreed and metric in agreed.differences
                else None
            )
            lines.append(
                (
                    *what,
                    metric,
                    *values,
                    values[1] - values[0],
                    row.images,
                    *here,
                    explained,
                )
            )
    columns = [
        "dataset",
        "sigma",
        "method",
        "setting",
        "metric",
        "published",
        "here",
        "difference",
    ]
    frame = pd.DataFrame(
        lines, columns=[*columns, "published_images", "images", "file", "explained"]
    )
    return frame.astype(
        {"published_images": "Int64", "images": "Int64", "explained": "boolean"}
    )
