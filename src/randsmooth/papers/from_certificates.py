"""What is drawn from certificates alone: tables beside the published ones, curves, distributions of p_A."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import Problem
from randsmooth.papers.cell_comparison import IMAGES, agreement_of, findings, tidy, wide
from randsmooth.papers.context import Context
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.output import Output, figure_output, numbers
from randsmooth.papers.published_values import ACCURACY, PaperRow, named
from randsmooth.report import Axes, Line, envelope_axes
from randsmooth.report.curves import budget_curve, p_a_grid
from randsmooth.report.grouping import gathered

RADIUS, ACCURATE = "certified L2 radius", "certified accuracy (%)"
CLEAN = "accuracy@0"


def table(
    context: Context,
    rows: list[PaperRow],
    beyond: Sequence[dict[str, float]] = (),
    *notes: str,
) -> Output:
    """Certified accuracy and ACR beside the published figures; and what is known `beyond` them of each row."""
    compared = context.compared(rows, beyond)
    told = [*findings(compared), *notes]
    return Output(
        {"": wide(compared)},
        {"": tidy(compared).drop(columns="explained")},
        notes=told,
        footnotes=told[:],
    )


def curves(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy against the radius, one panel per sigma; published figures as crosses."""
    return _curves(
        context, rows, {f"sigma = {sigma:g}": part for sigma, part in by_sigma(rows)}
    )


def ablations(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy against the radius, one panel for each setting that an ablation varies: k=16 beside k=4."""
    varied = (
        (row.setting.partition("=")[0] if "=" in row.setting else "parts", row)
        for row in rows
    )
    return _curves(context, rows, gathered(varied))


def _curves(
    context: Context, rows: list[PaperRow], groups: dict[str, list[PaperRow]]
) -> Output:
    panels = [
        Axes(title, RADIUS, ACCURATE, [*_lines(part, context)])
        for title, part in groups.items()
    ]
    return figure_output(panels, *findings(context.compared(rows)), *_crosses(context))


def _crosses(context: Context) -> list[str]:
    return [] if context.scale.dataset else ["crosses are the published figures"]


def _lines(rows: Sequence[PaperRow], context: Context) -> Iterator[Line]:
    for row in rows:
        if (found := context.certificates_of(row)) is not None:
            radii, shares = metrics.accuracy_curve(found.table)
            x, y = (
                np.concatenate(([0.0], radii, radii[-1:])),
                np.concatenate((shares[:1], shares, [0.0])),
            )
            yield Line(row.name, x, 100.0 * y[: len(x)], "step")
        if (
            (points := row.accuracy) and not context.scale.dataset
        ):  # on other data the published figures mean nothing
            yield Line(
                row.name,
                np.array([*points]),
                np.array([*points.values()]),
                "points",
                dashed=True,
            )


def p_a(context: Context, rows: list[PaperRow]) -> Output:
    """Share of images with at least each p_A, one panel per sigma (one minus the cumulative distribution)."""
    panels, notes = [], []
    for sigma, part in by_sigma(rows):
        lines = []
        for row, found in _found(context, part):
            if metrics.knows_p_a(found.table):
                shares = metrics.p_a_curve(found.table, x := p_a_grid())
                lines.append(
                    Line(
                        row.name,
                        x[~np.isnan(shares)],
                        100.0 * shares[~np.isnan(shares)],
                        "step",
                    )
                )
            else:
                notes.append(_undrawn(row, found))
        panels.append(
            Axes(
                f"sigma = {sigma:g}",
                "p_A",
                "images with at least this p_A (%)",
                tuple(lines),
            )
        )
    return figure_output(panels, *findings(context.compared(rows)), *notes)


def _undrawn(row: PaperRow, found: CertificateFile) -> str:
    unknown = metrics.p_a_unknown(found.table)
    too_few_to_resample = "its samples do not tell what fewer would have"
    why = too_few_to_resample if unknown is None else unknown.reason
    return f"{named([row])} is not drawn: {why}"


def trade_off_at_2(context: Context, rows: list[PaperRow]) -> Output:
    """Clean accuracy against that at radius 2, one curve per method with its settings in order."""
    return figure_output([_against("accuracy@2", rows, context)], *_crosses(context))


def trade_offs(context: Context, rows: list[PaperRow]) -> Output:
    """As `trade_off_at_2`, against ACR and accuracy at radii 1 and 2."""
    measures = ("acr", "accuracy@1", "accuracy@2")
    return figure_output(
        [_against(measure, rows, context) for measure in measures], *_crosses(context)
    )


def _against(measure: str, rows: Sequence[PaperRow], context: Context) -> Axes:
    lines = []
    for method, own in gathered((row.method, row) for row in rows).items():
        published = [{} if context.scale.dataset else row.figures for row in own]
        for values, dashed in ((context.compared(own).ours, False), (published, True)):
            there = [
                (row, v)
                for row, v in zip(own, values, strict=True)
                if {CLEAN, measure} <= {*v}
            ]
            if there:
                x, y = np.array([(v[CLEAN], v[measure]) for _, v in there]).T
                labels = (
                    ()
                    if dashed
                    else tuple(
                        row.setting.partition("=")[2] or row.setting for row, _ in there
                    )
                )
                lines.append(Line(method, x, y, "points", dashed, labels))
    return Axes(_named(measure), "clean accuracy (%)", _named(measure), tuple(lines))


def _named(measure: str) -> str:
    return (
        "ACR"
        if measure == "acr"
        else f"accuracy at {measure.removeprefix(ACCURACY)} (%)"
    )


def budget(context: Context, rows: list[PaperRow]) -> Output:
    """ACR against the samples spent, exact from the stored counts: the order of two methods may depend on it."""
    panels, lines, notes = [], [], findings(context.compared(rows))
    for sigma, part in by_sigma(rows):
        drawn = []
        for row, found in _found(context, part):
            if (curve := budget_curve(found.table)) is None:
                notes.append(_undrawn(row, found))
                continue
            drawn.append(Line(row.name, *curve))
            lines += [(sigma, row.name, n, acr) for n, acr in zip(*curve, strict=True)]
        panels.append(
            Axes(
                f"sigma = {sigma:g}",
                "samples per image, n",
                "ACR",
                tuple(drawn),
                log_x=True,
            )
        )
    data = pd.DataFrame(lines, columns=["sigma", "method", "n", "acr"])
    return Output(
        panels={"": [panel for panel in panels if panel.lines]},
        data={"": data},
        notes=notes,
    )


def _found(
    context: Context, rows: Sequence[PaperRow]
) -> list[tuple[PaperRow, CertificateFile]]:
    return [
        (row, found)
        for row in rows
        if (found := context.certificates_of(row)) is not None
    ]


def by_sigma(rows: Sequence[PaperRow]) -> list[tuple[float, list[PaperRow]]]:
    return sorted(
        gathered((row.sigma, row) for row in rows if not math.isnan(row.sigma)).items()
    )


def section_7(context: Context, rows: list[PaperRow]) -> Output:
    """Each method's certified accuracy at every radius by the sigma that is best there, beside the paper's."""
    radii = list(dict.fromkeys(r for row in rows for r in row.accuracy))
    groups = gathered((row.method, row) for row in rows)
    tables, notes = _tables(context, groups)
    drawn, lines, data = envelope_axes(tables), [], dict[str, pd.DataFrame]()
    for method, own in groups.items():
        paper = _nothing(radii) if context.scale.dataset else _published(own, radii)
        here = _measured(tables[method], radii) if method in tables else _nothing(radii)
        for what, best in (("paper", paper), ("here", here)):
            if (images := best["images"].iloc[0]) > 0:
                cells = [
                    _best(*cell)
                    for cell in zip(best["accuracy"], best["sigma"], strict=True)
                ]
                other = what == "here" and own[0].images not in (None, images)
                lines.append((method, what, f"{images:,}{'*' * other}", *cells))
        published = paper[["accuracy", "sigma"]].set_axis(
            ["published", "published sigma"], axis=1
        )
        data[method] = published.join(
            here.rename(columns={"accuracy": "here", "sigma": "here sigma"})
        )
        if drawn and not context.scale.dataset:
            cross = Line(
                method,
                np.array(radii),
                paper["accuracy"].to_numpy(),
                "points",
                dashed=True,
            )
            drawn[0] = replace(drawn[0], lines=(*drawn[0].lines, cross))
    table = pd.DataFrame(
        lines, columns=["method", "", IMAGES, *(f"{r:g}" for r in radii)]
    )
    marks = (
        "in brackets the sigma; a dash is farther than the sigmas at hand can certify"
    )
    notes = ["; ".join([marks, *_crosses(context), metrics.NO_ONE_CLASSIFIER]), *notes]
    every = pd.concat(data, names=["method", "radius"]).reset_index()
    return Output(
        {"": table}, {"": every, "figure": numbers(drawn)}, {"": drawn}, notes, notes[:]
    )


def _best(accuracy: float, sigma: float) -> str:
    return (
        "-"
        if math.isnan(accuracy)
        else f"{accuracy:.1f}" + ("" if math.isnan(sigma) else f" ({sigma:g})")
    )


def _nothing(radii: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame(
        math.nan, index=radii, columns=["accuracy", "sigma", "low", "high", "images"]
    )


def _published(rows: Sequence[PaperRow], radii: Sequence[float]) -> pd.DataFrame:
    """The largest of the paper's figures at each radius; without a sigma where that figure is 0."""
    best = [
        max((row.accuracy[r], row.sigma) for row in rows if r in row.accuracy)
        for r in radii
    ]
    found = pd.DataFrame(best, index=radii, columns=["accuracy", "sigma"])
    return found.assign(
        sigma=found["sigma"].where(found["accuracy"] > 0.0), images=rows[0].images
    )


def _measured(tables: Sequence[Certificates], radii: Sequence[float]) -> pd.DataFrame:
    """Our best accuracy at each radius; unknown beyond the largest radius that any of the tables can certify."""
    found = metrics.envelope(tables, radii)
    sigmas = np.array(
        [*(table.header.sigma or math.nan for table in tables), math.nan]
    )  # of best = -1: unknown
    known = {
        "accuracy": found.share,
        "sigma": sigmas[found.best],
        "low": found.low,
        "high": found.high,
    }
    frame = pd.DataFrame(known, index=radii)
    frame[["accuracy", "low", "high"]] *= 100.0
    frame[frame.index > max(map(metrics.farthest, tables))] = math.nan
    return frame.assign(images=len(tables[0]))


def _tables(
    context: Context, groups: dict[str, list[PaperRow]]
) -> tuple[dict[str, list[Certificates]], list[str]]:
    """The certificates of each method that can be combined, and notes on those that cannot."""
    tables, notes = dict[str, list[Certificates]](), list[str]()
    for method, rows in groups.items():
        logs = _found(context, rows)
        if others := [
            row for row, there in logs if agreement_of(row, there).another_run
        ]:
            notes.append(
                f"{named(others)}: the released log is not the run of the paper's table 2"
            )
        if not logs:
            continue
        found = [there.table for _, there in logs]
        try:
            shared = reduce(
                lambda first, other: metrics.pair(first, other)[0], found
            )  # the images of all of them
            tables[method] = [metrics.pair(shared, table)[1] for table in found]
        except Problem as reason:
            notes.append(f"{method} is left out: {reason}")
            continue
        if len(shared) < max(map(len, found)):
            notes.append(
                f"{method}: over the {len(shared):,} images that its tables share"
            )
        if lacks := ", ".join(
            f"{row.sigma:g}" for row in rows if context.certificates_of(row) is None
        ):
            notes.append(f"{method}: here without sigma {lacks}")
    return tables, notes
