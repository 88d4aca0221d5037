"""What is drawn from certificates alone: tables, curves, distributions of p_A."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import Problem
from randsmooth.papers.cell_comparison import (
    HERE,
    IMAGES,
    PAPER,
    agreement_of,
    findings,
    tidy,
    wide,
)
from randsmooth.papers.context import Context
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.output import Output, figure_output, numbers
from randsmooth.papers.published_values import ACCURACY
from randsmooth.papers.rows import PaperRow, named
from randsmooth.report import Axes, Line, envelope_axes
from randsmooth.report.curves import budget_curve, p_a_grid
from randsmooth.report.grouping import gathered

RADIUS = "certified L2 radius"
ACCURATE = "certified accuracy (%)"
CLEAN = "accuracy@0"


def table(
    context: Context,
    rows: list[PaperRow],
    beyond: Sequence[dict[str, float]] = (),
    *notes: str,
) -> Output:
    """Draw certified accuracy and ACR beside the published figures.

    Args:
        beyond: of each row, what is known beyond its certificates.
        notes: on these, for the reader.
    """
    compared = context.compared(rows, beyond)
    sentences = [*findings(compared), *notes]
    return Output(
        tables={"": wide(compared)},
        data={"": tidy(compared).drop(columns="explained")},
        notes=sentences,
        footnotes=list(sentences),
    )


def curves(context: Context, rows: list[PaperRow]) -> Output:
    """Draw certified accuracy against the radius, one panel per sigma.

    Published figures are crosses.
    """
    groups = {f"sigma = {sigma:g}": group for sigma, group in by_sigma(rows)}
    return _curves(context, rows, groups)


def ablations(context: Context, rows: list[PaperRow]) -> Output:
    """Draw curves with one panel for each setting that an ablation varies.

    As in k=16 beside k=4.
    """
    return _curves(context, rows, gathered((_varied(row), row) for row in rows))


def _varied(row: PaperRow) -> str:
    """Name what a row varies: a setting, or the parts of a method."""
    name, equals, _ = row.setting.partition("=")
    return name if equals else "parts"


def _curves(
    context: Context, rows: list[PaperRow], groups: Mapping[str, list[PaperRow]]
) -> Output:
    panels = [
        Axes(title, RADIUS, ACCURATE, list(_lines(group, context)))
        for title, group in groups.items()
    ]
    notes = [*findings(context.compared(rows)), *_note_on_crosses(context)]
    return figure_output(panels, *notes)


def _note_on_crosses(context: Context) -> list[str]:
    if not _shows_published(context):
        return []
    return ["crosses are the published figures"]


def _shows_published(context: Context) -> bool:
    """Whether published figures are drawn: on other data they mean nothing."""
    return context.scale.dataset is None


def _lines(rows: Sequence[PaperRow], context: Context) -> Iterator[Line]:
    """Draw each row's accuracy curve, and its published figures behind it."""
    for row in rows:
        found = context.certificates_of(row)
        if found is not None:
            yield _accuracy_line(row, found)
        published = row.accuracy
        if published and _shows_published(context):
            yield Line(
                row.name,
                np.array(list(published)),
                np.array(list(published.values())),
                "points",
                dashed=True,
            )


def _accuracy_line(row: PaperRow, found: CertificateFile) -> Line:
    """Draw a staircase from radius 0 that falls to 0 where it ends."""
    radii, shares = metrics.accuracy_curve(found.table)
    x = np.concatenate(([0.0], radii, radii[-1:]))
    y = np.concatenate((shares[:1], shares, [0.0]))
    # Without any radius there is one point alone.
    return Line(row.name, x, 100.0 * y[: len(x)], "step")


def p_a(context: Context, rows: list[PaperRow]) -> Output:
    """Draw the share of images with at least each p_A, one panel per sigma.

    It is one minus the cumulative distribution.
    """
    panels = []
    notes = []
    for sigma, group in by_sigma(rows):
        lines = []
        for row, found in context.shown(group):
            if metrics.knows_p_a(found.table):
                lines.append(_p_a_line(row, found))
            else:
                notes.append(_undrawn(row, found))
        panels.append(
            Axes(
                f"sigma = {sigma:g}",
                "p_A",
                "images with at least this p_A (%)",
                lines,
            )
        )
    return figure_output(panels, *findings(context.compared(rows)), *notes)


def _p_a_line(row: PaperRow, found: CertificateFile) -> Line:
    grid = p_a_grid()
    shares = metrics.p_a_curve(found.table, grid)
    known = ~np.isnan(shares)
    return Line(row.name, grid[known], 100.0 * shares[known], "step")


def _undrawn(row: PaperRow, found: CertificateFile) -> str:
    """Say why a row is not drawn."""
    unknown = metrics.p_a_unknown(found.table)
    reason = "its samples do not tell what fewer would have"
    if unknown is not None:
        reason = unknown.reason
    return f"{named([row])} is not drawn: {reason}"


def trade_off_at_2(context: Context, rows: list[PaperRow]) -> Output:
    """Draw clean accuracy against that at radius 2.

    There is one curve per method, with its settings in order.
    """
    panel = _against_clean("accuracy@2", rows, context)
    return figure_output([panel], *_note_on_crosses(context))


def trade_offs(context: Context, rows: list[PaperRow]) -> Output:
    """Draw as `trade_off_at_2`, against ACR and accuracy at radii 1 and 2."""
    panels = [
        _against_clean(metric, rows, context)
        for metric in ("acr", "accuracy@1", "accuracy@2")
    ]
    return figure_output(panels, *_note_on_crosses(context))


def _against_clean(metric: str, rows: Sequence[PaperRow], context: Context) -> Axes:
    """Draw a metric against clean accuracy, ours and the published figures."""
    lines = []
    for method, own in gathered((row.method, row) for row in rows).items():
        ours = _points(method, metric, own, context.compared(own).ours)
        if ours is not None:
            lines.append(ours)
        if _shows_published(context):
            published = _points(method, metric, own, [row.figures for row in own])
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

    The answer is None where no row has both.
    """
    labels = []
    x = []
    y = []
    for row, values in zip(rows, figures, strict=True):
        if CLEAN in values and metric in values:
            labels.append(row.setting.partition("=")[2] or row.setting)
            x.append(values[CLEAN])
            y.append(values[metric])
    if not labels:
        return None
    return Line(method, np.array(x), np.array(y), "points", labels=tuple(labels))


def budget(context: Context, rows: list[PaperRow]) -> Output:
    """Draw ACR against the samples spent, exact from the stored counts.

    The order of two methods may depend on it.
    """
    panels = []
    points = []
    notes = findings(context.compared(rows))
    for sigma, group in by_sigma(rows):
        lines = []
        for row, found in context.shown(group):
            curve = budget_curve(found.table)
            if curve is None:
                notes.append(_undrawn(row, found))
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


def by_sigma(rows: Sequence[PaperRow]) -> list[tuple[float, list[PaperRow]]]:
    """Group rows by sigma, ascending; rows without one are left out."""
    groups = gathered((row.sigma, row) for row in rows if not math.isnan(row.sigma))
    return sorted(groups.items())


@dataclass(frozen=True)
class BestSigma:
    """The best certified accuracy of one method at each radius, and the sigma of it.

    Attributes:
        accuracy: (M,) in percent; NaN where it is not known.
        sigma: (M,) the sigma that gives it; NaN where none does.
        images: how many it rests on; None where there is nothing.
        low, high: (M,) ends of the 95% band; NaN of published figures.
    """

    accuracy: list[float]
    sigma: list[float]
    images: int | None
    low: list[float]
    high: list[float]


def section_7(context: Context, rows: list[PaperRow]) -> Output:
    """Draw each method's certified accuracy by the sigma that is best at each radius.

    It stands beside the paper's.
    """
    radii = list(dict.fromkeys(radius for row in rows for radius in row.accuracy))
    rows_of_method = gathered((row.method, row) for row in rows)
    tables, notes = _tables(context, rows_of_method)
    lines: list[list[str]] = []
    crosses = []
    data = {}
    for method, own in rows_of_method.items():
        paper = _unknown(radii)
        if _shows_published(context):
            paper = _published(own, radii)
            y = np.array(paper.accuracy)
            crosses.append(Line(method, np.array(radii), y, "points", dashed=True))
        here = _unknown(radii)
        if method in tables:
            here = _measured(tables[method], radii)
        other_images = own[0].images not in (None, here.images)
        lines += _lines_of(method, PAPER, paper, star="")
        lines += _lines_of(method, HERE, here, star="*" if other_images else "")
        data[method] = _data_of(radii, paper, here)

    drawn = envelope_axes(tables)
    if drawn:
        shares = drawn[0]
        drawn[0] = replace(shares, lines=(*shares.lines, *crosses))
    marks = [
        "in brackets the sigma; a dash is farther than the sigmas at hand can certify",
        *_note_on_crosses(context),
        metrics.NO_ONE_CLASSIFIER,
    ]
    sentences = ["; ".join(marks), *notes]
    columns = ["method", "", IMAGES, *(f"{radius:g}" for radius in radii)]
    every = pd.concat(data, names=["method", "radius"]).reset_index()
    return Output(
        tables={"": pd.DataFrame(lines, columns=columns)},
        data={"": every, "figure": numbers(drawn)},
        panels={"": drawn},
        notes=sentences,
        footnotes=list(sentences),
    )


def _lines_of(
    method: str, line: str, best: BestSigma, star: str
) -> Iterator[list[str]]:
    """Print a line of the table, if there is anything to print."""
    if best.images is None:
        return
    cells = [
        _best_words(accuracy, sigma)
        for accuracy, sigma in zip(best.accuracy, best.sigma, strict=True)
    ]
    yield [method, line, f"{best.images:,}{star}", *cells]


def _best_words(accuracy: float, sigma: float) -> str:
    if math.isnan(accuracy):
        return "-"
    if math.isnan(sigma):
        return f"{accuracy:.1f}"
    return f"{accuracy:.1f} ({sigma:g})"


def _data_of(radii: Sequence[float], paper: BestSigma, here: BestSigma) -> pd.DataFrame:
    columns = {
        "published": paper.accuracy,
        "published sigma": paper.sigma,
        "here": here.accuracy,
        "here sigma": here.sigma,
        "low": here.low,
        "high": here.high,
        "images": math.nan if here.images is None else here.images,
    }
    return pd.DataFrame(columns, index=list(radii))


def _unknown(radii: Sequence[float]) -> BestSigma:
    unknown = [math.nan for _ in radii]
    return BestSigma(unknown, unknown, None, unknown, unknown)


def _published(rows: Sequence[PaperRow], radii: Sequence[float]) -> BestSigma:
    """Return the largest of the paper's figures at each radius.

    It has no sigma where that figure is 0.
    """
    accuracies = []
    sigmas = []
    for radius in radii:
        accuracy, sigma = max(
            (row.accuracy[radius], row.sigma) for row in rows if radius in row.accuracy
        )
        accuracies.append(accuracy)
        sigmas.append(sigma if accuracy > 0.0 else math.nan)
    unknown = [math.nan for _ in radii]
    return BestSigma(accuracies, sigmas, rows[0].images, unknown, unknown)


def _measured(tables: Sequence[Certificates], radii: Sequence[float]) -> BestSigma:
    """Return our best accuracy at each radius.

    It is unknown beyond the largest radius that any of the tables can certify.
    """
    envelope = metrics.envelope(tables, radii)
    farthest = max(metrics.farthest(table) for table in tables)
    unknown = np.array(radii) > farthest
    # The last stands for no table, which `best` calls -1.
    sigmas = np.array([*(table.header.sigma or math.nan for table in tables), math.nan])

    def known(values: NDArray[np.float64]) -> list[float]:
        return [float(value) for value in np.where(unknown, math.nan, values)]

    return BestSigma(
        accuracy=known(100.0 * envelope.share),
        sigma=known(sigmas[envelope.best]),
        images=len(tables[0]),
        low=known(100.0 * envelope.low),
        high=known(100.0 * envelope.high),
    )


def _tables(
    context: Context, rows_of_method: Mapping[str, list[PaperRow]]
) -> tuple[dict[str, list[Certificates]], list[str]]:
    """Return the certificates of each method that can be combined.

    And notes on those that cannot.
    """
    tables: dict[str, list[Certificates]] = {}
    notes = []
    for method, rows in rows_of_method.items():
        shown = context.shown(rows)
        others = [row for row, found in shown if agreement_of(row, found).another_run]
        if others:
            notes.append(
                f"{named(others)}: the released log is not the run of the paper's table 2"
            )
        if not shown:
            continue
        own = [found.table for _, found in shown]
        try:
            tables[method] = _on_shared_images(own)
        except Problem as reason:
            notes.append(f"{method} is left out: {reason}")
            continue
        shared = len(tables[method][0])
        if shared < max(map(len, own)):
            notes.append(f"{method}: over the {shared:,} images that its tables share")
        lacking = [
            f"{row.sigma:g}" for row in rows if context.certificates_of(row) is None
        ]
        if lacking:
            notes.append(f"{method}: here without sigma {', '.join(lacking)}")
    return tables, notes


def _on_shared_images(tables: Sequence[Certificates]) -> list[Certificates]:
    """Return the tables on the images that all of them have.

    Raises:
        Problem: two of them cannot be paired.
    """
    shared = reduce(lambda one, other: metrics.pair(one, other)[0], tables)
    return [metrics.pair(shared, table)[1] for table in tables]
