"""What is drawn from certificates alone: tables beside the published ones, curves, distributions of p_A."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from randsmooth import metrics
from randsmooth.papers.cell_comparison import ACCURACY, compare_cells, findings, tidy, wide
from randsmooth.papers.context import Context
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.output import Output, figure_output
from randsmooth.papers.rows import PaperRow
from randsmooth.report import Axes, Line
from randsmooth.report.figures.curves import budget_curves, p_a_curve, p_a_grid

RADIUS, ACCURATE = "certified L2 radius", "certified accuracy (%)"


def table(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy and ACR beside the published figures."""
    compared = compare_cells(rows, [context.certificates_of(row) for row in rows])
    return Output(tables={"": wide(compared)}, data={"": tidy(compared)}, notes=findings(compared))


def curves(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy against the radius, one panel per sigma; published figures as crosses."""
    panels = [_curves(f"sigma = {sigma:g}", part, context) for sigma, part in by_sigma(rows)]
    return figure_output(panels, *_crosses(context))


def ablations(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy against the radius, one panel for each setting that an ablation varies."""
    return figure_output([_curves(what, part, context) for what, part in by_setting(rows)], *_crosses(context))


def _crosses(context: Context) -> list[str]:
    return [] if context.scale.dataset else ["crosses are the published figures"]


def _curves(title: str, rows: Sequence[PaperRow], context: Context) -> Axes:
    lines = []
    for row in rows:
        found = context.certificates_of(row)
        if found is not None:
            radii, shares = metrics.accuracy_curve(found.table)
            x, y = np.concatenate(([0.0], radii, radii[-1:])), np.concatenate((shares[:1], shares, [0.0]))
            lines.append(Line(row.name, x, 100.0 * y[: len(x)], "step"))
        points = {float(m.removeprefix(ACCURACY)): v for m, v in row.figures.items() if m.startswith(ACCURACY)}
        if points and not context.scale.dataset:  # on other data the published figures mean nothing
            lines.append(Line(row.name, np.array([*points]), np.array([*points.values()]), "points", dashed=True))
    return Axes(title, RADIUS, ACCURATE, tuple(lines))


def p_a(context: Context, rows: list[PaperRow]) -> Output:
    """Share of images with at least each p_A, one panel per sigma (one minus the cumulative distribution)."""
    panels, notes = [], []
    for sigma, part in by_sigma(rows):
        lines = []
        for row, found in _found(context, part):
            if metrics.knows_p_a(found.table):
                curve = p_a_curve(found.table, p_a_grid())
                lines.append(Line(row.name, curve.x, 100.0 * curve.share, "step"))
            else:
                notes.append(f"{found.path.name}: samples that stopped early tell no p_A")
        panels.append(Axes(f"sigma = {sigma:g}", "p_A", "images with at least this p_A (%)", tuple(lines)))
    return figure_output(panels, *notes)


def trade_off_at_2(context: Context, rows: list[PaperRow]) -> Output:
    """Clean accuracy against that at radius 2, one curve per method with its settings in order."""
    return figure_output([_against("accuracy@2", rows, context)], *_crosses(context))


def trade_offs(context: Context, rows: list[PaperRow]) -> Output:
    """As `trade_off_at_2`, against ACR and accuracy at radii 1 and 2."""
    measures = ("acr", "accuracy@1", "accuracy@2")
    return figure_output([_against(measure, rows, context) for measure in measures], *_crosses(context))


def _against(measure: str, rows: Sequence[PaperRow], context: Context) -> Axes:
    lines = []
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        compared = compare_cells(own, [context.certificates_of(row) for row in own])
        labels = tuple(row.setting.partition("=")[2] or row.setting for row in own)
        ours = [
            (o[_zero(row)], o[measure], label)
            for row, o, label in zip(own, compared.ours, labels, strict=True)
            if measure in o and _zero(row) in o
        ]
        published = [
            (row.figures[_zero(row)], row.figures[measure], label)
            for row, label in zip(own, labels, strict=True)
            if measure in row.figures and _zero(row) in row.figures and not context.scale.dataset
        ]
        lines += [_points(method, points, dashed) for points, dashed in ((ours, False), (published, True)) if points]
    return Axes(_named(measure), "clean accuracy (%)", _named(measure), tuple(lines))


def _zero(row: PaperRow) -> str:
    return next((m for m in row.figures if m.startswith(ACCURACY) and float(m.removeprefix(ACCURACY)) == 0.0), "")


def _named(measure: str) -> str:
    return "ACR" if measure == "acr" else f"accuracy at {measure.removeprefix(ACCURACY)} (%)"


def _points(name: str, points: Sequence[tuple[float, float, str]], dashed: bool) -> Line:
    x, y, labels = zip(*points, strict=True)
    return Line(name, np.array(x), np.array(y), "points", dashed, () if dashed else labels)


def budget(context: Context, rows: list[PaperRow]) -> Output:
    """ACR against the samples spent, exact from the stored counts: the order of two methods may depend on it."""
    panels, lines, notes = [], [], []
    for sigma, part in by_sigma(rows):
        drawn, there = [], _found(context, part)
        for (row, found), curve in zip(there, budget_curves([found.table for _, found in there]), strict=True):
            if curve is None:
                notes.append(f"{found.path.name}: its samples do not tell what fewer would have")
                continue
            drawn.append(Line(row.name, np.array(curve.n, np.float64), np.array(curve.acr)))
            lines += [(sigma, row.name, n, acr) for n, acr in zip(curve.n, curve.acr, strict=True)]
        panels.append(Axes(f"sigma = {sigma:g}", "samples per image, n", "ACR", tuple(drawn), log_x=True))
    data = pd.DataFrame(lines, columns=["sigma", "method", "n", "acr"])
    return Output(panels={"": [panel for panel in panels if panel.lines]}, data={"": data}, notes=notes)


def _found(context: Context, rows: Sequence[PaperRow]) -> list[tuple[PaperRow, CertificateFile]]:
    return [(row, found) for row in rows if (found := context.certificates_of(row)) is not None]


def by_sigma(rows: Sequence[PaperRow]) -> list[tuple[float, list[PaperRow]]]:
    sigmas = sorted({row.sigma for row in rows if not math.isnan(row.sigma)})
    return [(sigma, [row for row in rows if row.sigma == sigma]) for sigma in sigmas]


def by_setting(rows: Sequence[PaperRow]) -> list[tuple[str, list[PaperRow]]]:
    """Rows grouped by the setting that they vary: `k=16` and `k=4` together."""
    groups: dict[str, list[PaperRow]] = {}
    for row in rows:
        groups.setdefault(row.setting.partition("=")[0] if "=" in row.setting else "parts", []).append(row)
    return list(groups.items())
