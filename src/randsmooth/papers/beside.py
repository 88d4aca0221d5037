"""Our figures beside the published ones, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from randsmooth import metrics
from randsmooth.papers.rows import Row, metrics_of
from randsmooth.papers.source import Found

ACCURACY = "accuracy@"
DIGITS = {"acr": 3, "seconds": 1, "hours": 2}  # one for all others, which are percentages or norms
TELLING = {"acr": 0.001, "": 0.1}  # differences above these are findings: of ACR, and of percentages
EXACT = 1e-9  # rounding of floats
MANY = 0.5  # share of a row's cells that differ, from which on the run is another one


@dataclass(frozen=True)
class Beside:
    """A table of rows, each with the paper's figures, ours where there are any, and the differences.

    Attributes:
        rows: the paper's. metrics: the columns.
        ours: for each row its figures; empty where nothing was found.
        files: for each row the file that they come from.
        logs: for each row whether that file is a published log.
    """

    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    ours: tuple[dict[str, float], ...]
    files: tuple[str, ...]
    logs: tuple[bool, ...]


def beside(rows: Sequence[Row], found: Sequence[Found | None]) -> Beside:
    """The table of `rows` and the certificates found for each."""
    columns = metrics_of(rows) or ["acr", *(f"{ACCURACY}{r:g}" for r in _radii(found))]
    ours = tuple({} if f is None else figures(f, columns) for f in found)
    files = tuple("" if f is None else f.path.name for f in found)
    return Beside(tuple(rows), tuple(columns), ours, files, tuple(f is not None and f.log for f in found))


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
    """The rows whose differences are more than rounding, in words; of a row that differs throughout, once."""
    told = []
    for row, difference, log in zip(table.rows, differences(table), table.logs, strict=True):
        large = {m: d for m, d in difference.items() if abs(d) > TELLING.get(m, TELLING[""]) + EXACT}
        if not large:
            continue
        cells = ", ".join(f"{title(m)} {d:+.{digits(m)}f}" for m, d in large.items())
        another = log and len(large) > MANY * len(difference)
        why = ": the released log is not the run of the table" if another else ""
        told.append(
            f"{row.name} at sigma {row.sigma:g} differs in {len(large)} of {len(difference)} cells{why} ({cells})"
        )
    return told


def digits(metric: str) -> int:
    return DIGITS.get(metric, 1)


def title(metric: str) -> str:
    """What heads a column."""
    return "ACR" if metric == "acr" else metric.removeprefix(ACCURACY) if metric.startswith(ACCURACY) else metric


def wide(table: Beside) -> pd.DataFrame:
    """As a person reads it: up to three lines a row (paper, ours, difference), figures as text."""
    lines = []
    for row, ours, difference in zip(table.rows, table.ours, differences(table), strict=True):
        what = {"sigma": "" if math.isnan(row.sigma) else f"{row.sigma:g}", "method": row.name}
        parts = [("paper", row.figures, ""), ("here", ours, ""), ("difference", difference, "+")]
        for source, values, sign in parts:
            if values:
                lines.append(what | {"": source} | {title(m): _cell(values.get(m), m, sign) for m in table.metrics})
                what = dict.fromkeys(what, "")
    return pd.DataFrame(lines, columns=["sigma", "method", "", *map(title, table.metrics)], dtype=str).fillna("")


def _cell(value: float | None, metric: str, sign: str) -> str:
    if value is None:
        return ""
    text = f"{value:{sign}.{digits(metric)}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text


def tidy(table: Beside) -> pd.DataFrame:
    """For programs: a row a cell, at full precision."""
    lines = []
    for row, ours, file in zip(table.rows, table.ours, table.files, strict=True):
        for metric in table.metrics:
            values = (row.figures.get(metric, math.nan), ours.get(metric, math.nan))
            lines.append(
                (row.dataset, row.sigma, row.method, row.setting, metric, *values, values[1] - values[0], file)
            )
    columns = ["dataset", "sigma", "method", "setting", "metric", "published", "here", "difference", "file"]
    return pd.DataFrame(lines, columns=columns)
