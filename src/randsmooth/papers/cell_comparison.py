"""Our figures beside the published ones, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from randsmooth import metrics
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.row_agreement import ACCURACY, agreement_of, digits, figures, has_other_images, is_another_run
from randsmooth.papers.rows import PaperRow, metrics_of, named

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
