"""What is drawn from certificates alone: tables, curves, distributions of p_A, trade-offs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from randsmooth import metrics
from randsmooth.papers.cell_comparison import (
    HERE,
    PAPER,
    findings,
    tidy,
    wide,
)
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.output import ONLY_PART, Output, figure_output
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
# The metric of clean accuracy, which is certified accuracy at radius 0.
CLEAN = "accuracy@0"


def table(
    evidence: Sequence[RowEvidence],
    scale: Scale,
    other_figures: Sequence[dict[str, float]] = (),
    *notes: str,
) -> Output:
    """Draw certified accuracy and ACR beside the published figures.

    Args:
        evidence: the evidence for each row.
        scale: unused; `drawings.OF_ROWS` passes it to each of its functions.
        other_figures: for each row, our figures that do not follow from certificates.
        notes: sentences on these figures, for the reader.
    """
    comparison = compared(evidence, other_figures)
    # Whoever reads the files needs these sentences as much as whoever reads the terminal.
    sentences = [*findings(comparison), *notes]
    has_published_figures = any(row.figures for row in comparison.rows)
    return Output(
        tables={ONLY_PART: wide(comparison)},
        # Sentences say which differences are explained.
        data={ONLY_PART: tidy(comparison).drop(columns="explained")},
        notes=sentences,
        footnotes=sentences,
        legend=LEGEND_OF_LINES,
        agreed=comparison.summary if has_published_figures else "",
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
    """Return what a row varies: the name of a setting, or "parts" of a method.

    A setting without a value, unlike `k=4`, names a part that is left out or added.
    """
    name, equals, _ = row.setting.partition("=")
    return name if equals else "parts"


def _curves(
    evidence: Sequence[RowEvidence],
    scale: Scale,
    groups: Mapping[str, list[RowEvidence]],
) -> Output:
    """Draw the accuracy curves of each group in a panel, which has the group's name."""
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
    """Return whether published figures are drawn.

    They are not where a scale has a data set of its own: figures on other data cannot be
    compared.
    """
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
            # A dashed line of points is drawn as crosses behind the curves.
            yield Line(row.name, radii, accuracies, "points", dashed=True)


def _accuracy_line(row: PaperRow, file: CertificateFile) -> Line:
    """Return the accuracy curve as a staircase from radius 0, which ends in a fall to 0."""
    radii, shares = metrics.accuracy_curve(file.table)
    x = np.concatenate((radii, radii[-1:]))
    y = np.concatenate((shares, [0.0]))
    return Line(row.name, x, 100.0 * y, "step")


def p_a(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw the share of images with at least each p_A, one panel per sigma.

    It is one minus the cumulative distribution.

    Args:
        evidence: the evidence for each row.
        scale: unused; `drawings.OF_ROWS` passes it to each of its functions.
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
    """Return the p_A curve where it is known; for a log it is from 1/2 upward."""
    grid = p_a_grid()
    shares = metrics.p_a_curve(file.table, grid)
    known = ~np.isnan(shares)
    return Line(row.name, grid[known], 100.0 * shares[known], "step")


def _undrawn(row: PaperRow, file: CertificateFile) -> str:
    """Return the sentence on a row whose p_A, or whose ACR of fewer samples, is unknown."""
    unknown = metrics.p_a_unknown(file.table)
    if unknown is not None:
        return f"{named([row])} is not drawn: {unknown.reason}"
    return f"{named([row])} is not drawn: its samples do not tell what fewer would have"


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
                # Published points lie behind ours, whose labels serve both.
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
    """Return points of a metric against clean accuracy, labelled by setting.

    Args:
        figures: for each row, metric -> figure.

    Returns:
        The points of the rows with both figures; None where there is no such row.
    """
    labels = []
    x = []
    y = []
    for row, values in zip(rows, figures, strict=True):
        if CLEAN in values and metric in values:
            # `k=4` is labelled by 4, a setting without a value by its name.
            _, _, value_of_setting = row.setting.partition("=")
            labels.append(value_of_setting or row.setting)
            x.append(values[CLEAN])
            y.append(values[metric])
    if not labels:
        return None
    return Line(method, np.array(x), np.array(y), "points", labels=tuple(labels))


def budget(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw ACR against the number of samples per image, one panel per sigma.

    Which of two methods has the higher ACR may depend on this number. The ACR of fewer
    samples than were drawn is its exact expectation, given the stored counts.

    Args:
        evidence: the evidence for each row.
        scale: unused; `drawings.OF_ROWS` passes it to each of its functions.
    """
    panels = []
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
        panels.append(
            Axes(
                f"sigma = {sigma:g}",
                "samples per image, n",
                "ACR",
                lines,
                log_x=True,
            )
        )
    return figure_output(panels, *notes)


def by_sigma(
    evidence: Sequence[RowEvidence],
) -> list[tuple[float, list[RowEvidence]]]:
    """Return each sigma, ascending, and the evidence for the rows of this sigma."""
    groups = gathered((of_row.row.sigma, of_row) for of_row in evidence)
    return sorted(groups.items())
