"""What Sun et al. (2025, section 7) propose: certified accuracy at radii, each method free to choose its sigma."""

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
from randsmooth.papers.cell_comparison import ACCURACY, IMAGES, is_another_run
from randsmooth.papers.context import Context
from randsmooth.papers.output import Output, numbers
from randsmooth.papers.rows import PaperRow, metrics_of, named
from randsmooth.report import Axes, Line, envelope_axes


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
    partial: dict[str, list[str]] = {}
    for method, rows in groups.items():
        logs = [(row, there) for row in rows if (there := context.certificates_of(row)) is not None]
        if not logs:
            continue
        found = [there.table for _, there in logs]
        others = [row for row, there in logs if is_another_run(row, there)]
        notes += [f"{named(others)}: the released log is not the run of the paper's table 2"] if others else []
        try:
            own = _together(found)
        except InputError as reason:
            notes.append(f"{method} is left out: {reason}")
            continue
        tables[method] = own
        if len(own[0]) < max(map(len, found)):
            notes.append(f"{method}: over the {len(own[0]):,} images that its tables share")
        if len(own) < len(rows):
            sigmas = [table.header.sigma for table in own]
            at = ", ".join(f"{sigma:g}" for sigma in sigmas)
            lacks = ", ".join(f"{row.sigma:g}" for row in rows if row.sigma not in sigmas)
            partial.setdefault(f"here at sigma {at} alone, without {lacks}", []).append(method)
    return tables, [*notes, *(f"{what}: {', '.join(methods)}" for what, methods in partial.items())]


def _together(tables: Sequence[Certificates]) -> list[Certificates]:
    """The tables, restricted to the images that all of them share."""
    shared = reduce(lambda first, other: metrics.pair(first, other)[0], tables)
    return [metrics.pair(shared, table)[1] for table in tables]


def _published(rows: Sequence[PaperRow], radii: Sequence[float]) -> list[Best]:
    """The largest of the paper's figures at each radius; without a sigma where that figure is 0."""
    best = []
    for metric in (f"{ACCURACY}{r:g}" for r in radii):
        top = max(
            (
                Best(row.figures[metric], row.sigma, images=row.images or math.nan)
                for row in rows
                if metric in row.figures
            ),
            default=Best(),
        )
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
