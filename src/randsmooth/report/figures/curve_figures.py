"""The two curves as PNG, PDF or SVG, for papers and slides."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.extras import needs
from randsmooth.report.figures import curves
from randsmooth.report.figures import matplotlib_text as drawing
from randsmooth.report.figures.colours import DASHES, looks
from randsmooth.report.figures.curves import Curve
from randsmooth.report.sheet import baseline as baselines
from randsmooth.report.sheet import naming

SUFFIXES = ("pdf", "png", "svg")
STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))


def radius_accuracy(tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None) -> None:
    """Draw certified accuracy against the radius, with pointwise 95% bands.

    Raises:
        InputError: no table, one without images, an unknown baseline or a suffix other than SUFFIXES.
    """
    named = naming.distinct(tables)
    grid = curves.radius_grid(named)
    drawn = [curves.radius_curve(table, grid) for table in named]
    figure, axes = _axes("certified L2 radius (pixels in [0, 1])", "certified accuracy (%)")
    _draw(axes, named, drawn, baselines.find(named, baseline))
    axes.set_xlim(0.0, max(grid[-1], curves.STEPS[-1]))
    _save(figure, path)


def p_a_curves(tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None) -> None:
    """Draw the share of images whose p_A reaches each value, with pointwise 95% bands.

    Logs tell p_A from 1/2 upward only; the figure says so rather than drawing the rest.

    Raises:
        InputError: as `radius_accuracy`, or a log whose sigma, n or alpha is not known.
    """
    named = naming.distinct(tables)
    drawn = [curves.p_a_curve(table, curves.p_a_grid()) for table in named]
    figure, axes = _axes("p_A (share of noisy copies given the true label)", "images with at least this p_A (%)")
    _draw(axes, named, drawn, baselines.find(named, baseline))
    start = min(float(curve.x[0]) for curve in drawn)
    _limit(axes, start, unknown=max(float(curve.x[0]) for curve in drawn) > 0.0)
    _save(figure, path)


def _axes(x: str, y: str) -> tuple[Any, Any]:
    with needs("a figure"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(0.0, 100.0)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _draw(axes: Any, tables: Sequence[Certificates], drawn: Sequence[Curve], reference: int | None) -> None:
    for table, curve, look in zip(tables, drawn, looks(len(tables), reference), strict=True):
        style = {"color": look.colour, "linestyle": STYLES[look.dash], "linewidth": 1.6}
        axes.plot(curve.x, 100 * curve.share, drawstyle="steps-pre", label=drawing.name(table.name), **style)
        axes.fill_between(
            curve.x, 100 * curve.low, 100 * curve.high, step="pre", color=look.colour, alpha=0.13, linewidth=0
        )
    highest = max(float(np.max(curve.high)) for curve in drawn)
    axes.set_ylim(0.0, min(100.0, 10.0 * np.ceil(10.0 * highest + 0.3)))
    axes.figure.set_figheight(max(4.0, 0.4 + 0.21 * len(tables)))  # room for every line of the legend
    legend = axes.figure.legend(loc="outside right upper", frameon=False)
    drawing.as_text(*legend.get_texts())


def _limit(axes: Any, start: float, *, unknown: bool) -> None:
    left = max(0.0, start - 0.06)
    axes.set_xlim(left, 1.0)
    if unknown:
        axes.axvspan(left, 0.5, color="#eeeeee", linewidth=0, zorder=0)
        place = {"ha": "center", "va": "center", "rotation": 90, "color": "#555555", "fontsize": 8}
        axes.text((left + 0.5) / 2, 0.5, "p_A < 1/2: not in the logs", transform=axes.get_xaxis_transform(), **place)


def _save(figure: Any, path: Path | str) -> None:
    path = Path(path)
    suffix = path.suffix.lstrip(".").lower()
    if suffix not in SUFFIXES:
        raise errors.unknown("figure format", suffix, SUFFIXES)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, dpi=200)
    write_atomically(path, buffer.getvalue())
