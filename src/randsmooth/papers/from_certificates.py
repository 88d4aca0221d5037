"""What is drawn from certificates alone: tables beside the published ones, curves, distributions of p_A."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import pandas as pd

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.papers.cell_comparison import ACCURACY, IMAGES, agreement_of, compare_cells, findings, tidy, wide
from randsmooth.papers.context import Context
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.output import Output, figure_output, numbers
from randsmooth.papers.published_values import PaperRow, metrics_of, named
from randsmooth.report import Axes, Line, envelope_axes
from randsmooth.report.curves import budget_curves, p_a_curve, p_a_grid

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
        published = [{} if context.scale.dataset else row.figures for row in own]
        for values, dashed in ((compared.ours, False), (published, True)):
            there = [(row, v) for row, v in zip(own, values, strict=True) if measure in v and _zero(row) in v]
            if there:
                x, y = np.array([(v[_zero(row)], v[measure]) for row, v in there]).T
                labels = () if dashed else tuple(row.setting.partition("=")[2] or row.setting for row, _ in there)
                lines.append(Line(method, x, y, "points", dashed, labels))
    return Axes(_named(measure), "clean accuracy (%)", _named(measure), tuple(lines))


def _zero(row: PaperRow) -> str:
    return next((m for m in row.figures if m.startswith(ACCURACY) and float(m.removeprefix(ACCURACY)) == 0.0), "")


def _named(measure: str) -> str:
    return "ACR" if measure == "acr" else f"accuracy at {measure.removeprefix(ACCURACY)} (%)"


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


class Best(NamedTuple):
    """The best accuracy at one radius, in percent: its sigma, 95% interval and number of images; NaN where unknown."""

    accuracy: float = math.nan
    sigma: float = math.nan
    low: float = math.nan
    high: float = math.nan
    images: float = math.nan

    def __str__(self) -> str:
        sigma = "" if math.isnan(self.sigma) else f" ({self.sigma:g})"
        return "-" if math.isnan(self.accuracy) else f"{self.accuracy:.1f}{sigma}"


def section_7(context: Context, rows: list[PaperRow]) -> Output:
    """Each method's certified accuracy at every radius by the sigma that is best there, beside the paper's."""
    radii = [float(m.removeprefix(ACCURACY)) for m in metrics_of(rows) if m.startswith(ACCURACY)]
    groups = {m: [row for row in rows if row.method == m] for m in dict.fromkeys(row.method for row in rows)}
    tables, notes = _tables(context, groups)
    published = {} if context.scale.dataset else {m: _published(part, radii) for m, part in groups.items()}
    here = {method: _measured(own, radii) for method, own in tables.items()}
    lines = [
        (m, what, _images(own[m], of), *map(str, own[m]))
        for m, rows_of_it in groups.items()
        for what, own, of in (("paper", published, None), ("here", here, rows_of_it[0].images))
        if m in own
    ]
    table = pd.DataFrame(lines, columns=["method", "", IMAGES, *(f"{r:g}" for r in radii)])
    drawn = _crossed(envelope_axes(tables), radii, published)
    data = {"": _tidy([*groups], radii, published, here), "figure": numbers(drawn)}
    marks = "in brackets the sigma; a dash is farther than the sigmas at hand can certify" + (
        "; crosses are the published figures" if published else ""
    )
    first = f"{marks}; {metrics.NO_ONE_CLASSIFIER}"
    return Output({"": table}, data, {"": drawn}, [first, *notes], [first, *notes])


def _images(best: Sequence[Best], paper: int | None) -> str:
    """The number of images behind a line; with a star where it differs from the `paper`'s."""
    count = best[0].images
    return "" if math.isnan(count) else f"{int(count):,}{'*' * (paper not in (None, count))}"


def _tables(context: Context, groups: dict[str, list[PaperRow]]) -> tuple[dict[str, list[Certificates]], list[str]]:
    """The certificates of each method that can be combined, and notes on those that cannot."""
    tables: dict[str, list[Certificates]] = {}
    notes: list[str] = []
    for method, rows in groups.items():
        logs = _found(context, rows)
        found = [there.table for _, there in logs]
        others = [row for row, there in logs if agreement_of(row, there).another_run]
        notes += [f"{named(others)}: the released log is not the run of the paper's table 2"] if others else []
        try:
            own = _together(found) if found else []
        except InputError as reason:
            notes.append(f"{method} is left out: {reason}")
            continue
        if own:
            tables[method] = own
            if len(own[0]) < max(map(len, found)):
                notes.append(f"{method}: over the {len(own[0]):,} images that its tables share")
            if lacks := ", ".join(f"{row.sigma:g}" for row in rows if context.certificates_of(row) is None):
                notes.append(f"{method}: here without sigma {lacks}")
    return tables, notes


def _together(tables: Sequence[Certificates]) -> list[Certificates]:
    """The tables, restricted to the images that all of them share."""
    shared = reduce(lambda first, other: metrics.pair(first, other)[0], tables)
    return [metrics.pair(shared, table)[1] for table in tables]


def _published(rows: Sequence[PaperRow], radii: Sequence[float]) -> list[Best]:
    """The largest of the paper's figures at each radius; without a sigma where that figure is 0."""
    best = []
    for metric in (f"{ACCURACY}{r:g}" for r in radii):
        there = [row for row in rows if metric in row.figures]
        tops = [Best(row.figures[metric], row.sigma, images=row.images or math.nan) for row in there]
        top = max(tops, default=Best())
        best.append(top if top.accuracy > 0.0 else top._replace(sigma=math.nan))
    return best


def _crossed(panels: list[Axes], radii: Sequence[float], published: dict[str, list[Best]]) -> list[Axes]:
    """The panels, with the published figures as crosses in the first."""
    crosses = [
        Line(method, np.array(radii), np.array([one.accuracy for one in best]), "points", dashed=True)
        for method, best in published.items()
    ]
    return [replace(panels[0], lines=(*panels[0].lines, *crosses)), *panels[1:]] if panels else []


def _measured(tables: Sequence[Certificates], radii: Sequence[float]) -> list[Best]:
    """Our best accuracy at each radius; unknown beyond the largest radius that any of the tables can certify."""
    end, images = max(map(metrics.farthest, tables)), len(tables[0])
    found = metrics.envelope(tables, radii)
    sigmas = [math.nan if table.header.sigma is None else table.header.sigma for table in tables]
    return [
        Best(100.0 * share, sigmas[row] if row >= 0 else math.nan, 100.0 * low, 100.0 * high, images)
        if r <= end
        else Best(images=images)
        for r, share, low, high, row in zip(
            radii, found.share.tolist(), found.low.tolist(), found.high.tolist(), found.best.tolist(), strict=True
        )
    ]


def _tidy(
    methods: Sequence[str], radii: Sequence[float], published: dict[str, list[Best]], here: dict[str, list[Best]]
) -> pd.DataFrame:
    """For programs: one row per method and radius, at full precision."""
    nothing = [Best()] * len(radii)
    lines = [
        (method, r, paper.accuracy, paper.sigma, *ours)
        for method in methods
        for r, paper, ours in zip(radii, published.get(method, nothing), here.get(method, nothing), strict=True)
    ]
    columns = ["published", "published sigma", "here", "here sigma", "low", "high", "images"]
    return pd.DataFrame(lines, columns=["method", "radius", *columns])
