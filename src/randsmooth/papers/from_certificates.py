"""What is drawn from certificates alone: tables, curves, distributions of p_A, trade-offs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from randsmooth import metrics
from randsmooth.papers.cell_comparison import (
    HERE,
    PAPER,
    findings,
    tidy,
    wide,
)
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.output import Output, figure_output
from randsmooth.papers.published_values import ACCURACY
from randsmooth.papers.row_evidence import RowEvidence, certified, compared
from randsmooth.papers.rows import PaperRow, named
from randsmooth.papers.runs import Scale
from randsmooth.report import Axes, Line
from randsmooth.report.curves import LEAST_P_A, budget_curve, p_a_grid
from randsmooth.report.grouping import gathered

# Titles of axes.
RADIUS = "certified L2 radius"
ACCURATE = "certified accuracy (%)"
# What the lines and marks of a table of a paper mean.
LEGEND_OF_LINES = (
    f"{PAPER}: as published, {HERE}: from the certificates at hand, "
    "*: of another number of images"
)
# The metric of accuracy at radius 0.
CLEAN = "accuracy@0"


def table(
    evidence: Sequence[RowEvidence],
    scale: Scale,
    beyond: Sequence[dict[str, float]] = (),
    *notes: str,
) -> Output:
    """Draw certified accuracy and ACR beside the published figures.

    Args:
        beyond: for each row, the figures that do not follow from its certificates.
        notes: sentences on these, for the reader.
    """
    comparison = compared(evidence, beyond)
    sentences = [*findings(comparison), *notes]
    has_figures = any(row.figures for row in comparison.rows)
    return Output(
        tables={"": wide(comparison)},
        data={"": tidy(comparison).drop(columns="explained")},
        notes=sentences,
        footnotes=list(sentences),
        legend=LEGEND_OF_LINES,
        agreed=comparison.summary if has_figures else "",
    )


def curves(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw certified accuracy against the radius, one panel per sigma.

    Published figures are crosses.
    """
    groups = {f"sigma = {sigma:g}": group for sigma, group in by_sigma(evidence)}
    return _curves(evidence, scale, groups)


def ablations(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw curves with one panel for each setting that an ablation varies.

    The curves of k=16 and k=4, for instance, share the panel of k.
    """
    groups = gathered((_varied(of_row.row), of_row) for of_row in evidence)
    return _curves(evidence, scale, groups)


def _varied(row: PaperRow) -> str:
    """Name what a row varies: a setting, or the parts of a method."""
    name, equals, _ = row.setting.partition("=")
    return name if equals else "parts"


def _curves(
    evidence: Sequence[RowEvidence],
    scale: Scale,
    groups: Mapping[str, list[RowEvidence]],
) -> Output:
    panels = [
        Axes(title, RADIUS, ACCURATE, list(_lines(group, scale)))
        for title, group in groups.items()
    ]
    notes = [*findings(compared(evidence)), *note_on_crosses(scale)]
    return figure_output(panels, *notes)


def note_on_crosses(scale: Scale) -> list[str]:
    """Return the note that explains crosses in a figure, where there may be some."""
    if not shows_published(scale):
        return []
    return ["crosses are the published figures"]


def shows_published(scale: Scale) -> bool:
    """Return whether published figures are drawn: on other data they mean nothing."""
    return scale.dataset is None


def _lines(evidence: Sequence[RowEvidence], scale: Scale) -> Iterator[Line]:
    """Draw each row's accuracy curve, and its published figures behind it."""
    for of_row in evidence:
        row = of_row.row
        if of_row.found is not None:
            yield _accuracy_line(row, of_row.found)
        if row.accuracy and shows_published(scale):
            radii = np.array(list(row.accuracy))
            accuracies = np.array(list(row.accuracy.values()))
            yield Line(row.name, radii, accuracies, "points", dashed=True)


def _accuracy_line(row: PaperRow, file: CertificateFile) -> Line:
    """Draw a staircase from radius 0 that falls to 0 where it ends."""
    radii, shares = metrics.accuracy_curve(file.table)
    # One point before the curve, at radius 0, and one behind it, at share 0.
    x = np.concatenate(([0.0], radii, radii[-1:]))
    y = np.concatenate((shares[:1], shares, [0.0]))
    # Without any radius there is one point alone.
    return Line(row.name, x, 100.0 * y[: len(x)], "step")


def p_a(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw the share of images with at least each p_A, one panel per sigma.

    It is one minus the cumulative distribution. The scale decides whether published
    figures are drawn; papers print none of p_A, so it changes nothing here.
    """
    panels = []
    notes = []
    for sigma, evidence_of_sigma in by_sigma(evidence):
        lines = []
        for row, file in certified(evidence_of_sigma):
            if metrics.knows_p_a(file.table):
                lines.append(_p_a_line(row, file))
            else:
                notes.append(_undrawn(row, file))
        panels.append(
            Axes(
                f"sigma = {sigma:g}",
                "p_A",
                "images with at least this p_A (%)",
                lines,
                probit_x=True,
                x_range=(LEAST_P_A, 1.0),
            )
        )
    return figure_output(panels, *findings(compared(evidence)), *notes)


def _p_a_line(row: PaperRow, file: CertificateFile) -> Line:
    """Draw a row's p_A curve where it is known; a log tells it from 1/2 upward."""
    grid = p_a_grid()
    shares = metrics.p_a_curve(file.table, grid)
    known = ~np.isnan(shares)
    return Line(row.name, grid[known], 100.0 * shares[known], "step")


def _undrawn(row: PaperRow, file: CertificateFile) -> str:
    """Say why a row is not drawn: p_A is not known, or not what fewer samples give."""
    unknown = metrics.p_a_unknown(file.table)
    reason = "its samples do not tell what fewer would have"
    if unknown is not None:
        reason = unknown.reason
    return f"{named([row])} is not drawn: {reason}"


def trade_off_at_2(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw clean accuracy against that at radius 2.

    There is one curve per method, with its settings in order.
    """
    panel = _against_clean("accuracy@2", evidence, scale)
    return figure_output([panel], *note_on_crosses(scale))


def trade_offs(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw clean accuracy against ACR, and against accuracy at radii 1 and 2."""
    panels = [
        _against_clean(metric, evidence, scale)
        for metric in ("acr", "accuracy@1", "accuracy@2")
    ]
    return figure_output(panels, *note_on_crosses(scale))


def _against_clean(metric: str, evidence: Sequence[RowEvidence], scale: Scale) -> Axes:
    """Draw a metric against clean accuracy, ours and the published figures."""
    lines = []
    evidence_of_method = gathered((of_row.row.method, of_row) for of_row in evidence)
    for method, evidence_of_one in evidence_of_method.items():
        rows = [of_row.row for of_row in evidence_of_one]
        ours = _points(method, metric, rows, compared(evidence_of_one).ours)
        if ours is not None:
            lines.append(ours)
        if shows_published(scale):
            published = _points(method, metric, rows, [row.figures for row in rows])
            if published is not None:
                lines.append(replace(published, dashed=True, labels=()))
    title = "ACR"
    if metric != "acr":
        title = f"accuracy at {metric.removeprefix(ACCURACY)} (%)"
    return Axes(title, "clean accuracy (%)", title, lines)


def _points(
    method: str,
    metric: str,
    rows: Sequence[PaperRow],
    figures: Sequence[Mapping[str, float]],
) -> Line | None:
    """Draw the metric of rows against their clean accuracy, labelled by setting.

    It is None where no row has both.
    """
    labels = []
    x = []
    y = []
    for row, values in zip(rows, figures, strict=True):
        if CLEAN in values and metric in values:
            # `k=4` is labelled by 4, a setting without a value by its name.
            labels.append(row.setting.partition("=")[2] or row.setting)
            x.append(values[CLEAN])
            y.append(values[metric])
    if not labels:
        return None
    return Line(method, np.array(x), np.array(y), "points", labels=tuple(labels))


def budget(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw ACR against the samples spent, exact from the stored counts.

    Which of two methods has the higher ACR may depend on their number.
    """
    panels = []
    points = []
    notes = findings(compared(evidence))
    for sigma, evidence_of_sigma in by_sigma(evidence):
        lines = []
        for row, file in certified(evidence_of_sigma):
            curve = budget_curve(file.table)
            if curve is None:
                notes.append(_undrawn(row, file))
                continue
            samples, acrs = curve
            lines.append(Line(row.name, samples, acrs))
            for n, acr in zip(samples, acrs, strict=True):
                points.append((sigma, row.name, n, acr))
        if lines:
            panels.append(
                Axes(
                    f"sigma = {sigma:g}",
                    "samples per image, n",
                    "ACR",
                    lines,
                    log_x=True,
                )
            )
    data = pd.DataFrame(points, columns=["sigma", "method", "n", "acr"])
    return Output(panels={"": panels}, data={"": data}, notes=notes)


def by_sigma(
    evidence: Sequence[RowEvidence],
) -> list[tuple[float, list[RowEvidence]]]:
    """Group rows by sigma, ascending; rows without one are left out."""
    groups = gathered(
        (of_row.row.sigma, of_row)
        for of_row in evidence
        if not math.isnan(of_row.row.sigma)
    )
    return sorted(groups.items())
