"""Our figures beside the published ones, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from randsmooth import bounds, metrics
from randsmooth.papers.rows import Row, metrics_of, named
from randsmooth.papers.source import Found

ACCURACY = "accuracy@"
DIGITS = {"acr": 3, "seconds": 1, "hours": 2, "epochs": 0}  # ours, where the paper prints no figure; 1 for all others
IMAGES = "images"  # head of the column that counts them
EXACT = 1e-9  # rounding of floats
MANY = 0.5  # share of a row's informative cells that differ, from which on the run is another one


@dataclass(frozen=True)
class Beside:
    """A table of rows, each with the paper's figures, ours where there are any, and the differences.

    Attributes:
        rows: the paper's. metrics: the columns.
        found: for each row its certificates; None where there are none. ours: their figures.
    """

    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    found: tuple[Found | None, ...]
    ours: tuple[dict[str, float], ...]


def beside(rows: Sequence[Row], found: Sequence[Found | None]) -> Beside:
    """The table of `rows` and the certificates found for each."""
    columns = metrics_of(rows) or ["acr", *(f"{ACCURACY}{r:g}" for r in _radii(found))]
    ours = tuple({} if f is None else figures(f, columns) for f in found)
    return Beside(tuple(rows), tuple(columns), tuple(found), ours)


def figures(found: Found, columns: Sequence[str]) -> dict[str, float]:
    """What a table of certificates says of each metric that certificates know; accuracy in percent."""
    told = {"acr": metrics.acr(found.table).value} if "acr" in columns else {}
    radii = {column: float(column.removeprefix(ACCURACY)) for column in columns if column.startswith(ACCURACY)}
    return told | {c: 100.0 * metrics.certified_accuracy(found.table, r).value for c, r in radii.items()}


def _radii(found: Sequence[Found | None]) -> list[float]:
    tables = [f.table for f in found if f is not None]
    return metrics.usual_radii(tables) if tables else []


def differences(table: Beside) -> list[dict[str, float]]:
    """Ours minus the paper's, for each row and the metrics that both have."""
    return [
        {m: ours[m] - row.figures[m] for m in table.metrics if m in ours and m in row.figures}
        for row, ours in zip(table.rows, table.ours, strict=True)
    ]


def findings(table: Beside) -> list[str]:
    """The rows that differ by more than the printed digits round, and those that rest on other images, in words."""
    parts = zip(table.rows, table.found, differences(table), strict=True)
    told = [_finding(row, found, difference) for row, found, difference in parts if found is not None]
    return [*filter(None, told), *_other_images(table)]


def differing(row: Row, found: Found) -> int:
    """How many cells of a row differ by more than the printed digits round."""
    told = figures(found, tuple(row.figures))
    return len(_large(row, {m: value - row.figures[m] for m, value in told.items()}))


def _large(row: Row, difference: dict[str, float]) -> dict[str, float]:
    return {m: d for m, d in difference.items() if abs(d) > rounding(row, m) + EXACT}


def _finding(row: Row, found: Found, difference: dict[str, float]) -> str:
    telling = {m: d for m, d in difference.items() if informative(row, found, m)}
    large = _large(row, telling)
    if not large:
        return ""
    cells = ", ".join(f"{title(m)} {d:+.{max(digits(m), row.decimals.get(m, 0))}f}" for m, d in large.items())
    another = found.log and row.images == len(found.table) and len(large) > MANY * len(telling)
    why = ": the released log is not the run of the table" if another else ""
    return f"{named([row])} differs in {len(large)} of {len(telling)} cells{why} ({cells})"


def informative(row: Row, found: Found, metric: str) -> bool:
    """Whether a cell could differ: not where the paper prints 0 at a radius that nothing can be certified to."""
    if not metric.startswith(ACCURACY) or row.figures.get(metric) != 0.0:
        return True
    return float(metric.removeprefix(ACCURACY)) <= _farthest(found)


def _farthest(found: Found) -> float:
    """The largest radius that sigma, n and alpha of the table allow; where they are not known, the largest it has."""
    header = found.table.header
    if header.sigma is None or header.n is None or header.alpha is None:
        return float(found.table.radius.max(initial=0.0))
    return bounds.largest_radius(header.n, header.alpha, header.sigma)


def rounding(row: Row, metric: str) -> float:
    """By how much a figure may be off as the paper prints it: half a unit of its last digit."""
    return float(0.5 * 10.0 ** -row.decimals.get(metric, digits(metric)))


def _other_images(table: Beside) -> list[str]:
    """That rows rest on other images than the paper's, once for all that do alike."""
    counts: dict[tuple[int, int], list[Row]] = {}
    for row, found in zip(table.rows, table.found, strict=True):
        if found is not None and row.figures and row.images not in (None, len(found.table)):
            counts.setdefault((int(row.images or 0), len(found.table)), []).append(row)
    return [
        f"{named(rows)}: {ours:,} images here, {theirs:,} in the paper, so that some of the difference is chance"
        for (theirs, ours), rows in counts.items()
    ]


def digits(metric: str) -> int:
    return DIGITS.get(metric, 1)


def title(metric: str) -> str:
    """What heads a column."""
    return "ACR" if metric == "acr" else metric.removeprefix(ACCURACY) if metric.startswith(ACCURACY) else metric


def wide(table: Beside) -> pd.DataFrame:
    """As a person reads it: up to three lines a row (paper, ours, difference), figures as text."""
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


def _counts(row: Row, found: Found | None) -> dict[str, str]:
    """How many images the figures rest on; a star where they are not as many as the paper's."""
    counts = {} if row.images is None else {"paper": f"{row.images:,}"}
    if found is not None:
        other = bool(row.figures) and row.images not in (None, len(found.table))
        counts["here"] = f"{len(found.table):,}{'*' * other}"
    return counts


def _cell(value: float | None, metric: str, row: Row, source: str, sign: str) -> str:
    """The paper's as it prints it, ours with a digit to compare by."""
    if value is None:
        return ""
    printed = row.decimals.get(metric, digits(metric))
    text = f"{value:{sign}.{printed if source == 'paper' else max(printed, digits(metric))}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text


def tidy(table: Beside) -> pd.DataFrame:
    """For programs: a row a cell, at full precision."""
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
