"""The two curves as PNG, PDF or SVG, for papers and slides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.extras import needs
from randsmooth.report.figures import curves
from randsmooth.report.figures.charts import Chart
from randsmooth.report.figures.colours import looks
from randsmooth.report.figures.matplotlib_parts import (
    LINE_STYLES,
    PAPER_FORMATS,
    as_text,
    legend_name,
    plain_axes,
    saved,
)
from randsmooth.report.sheet import rows

P_A = "p_A (share of noisy copies given the true label)"


def draw_radius_accuracy(tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None) -> None:
    """Draw certified accuracy against the radius, with pointwise 95% bands.

    Args:
        path: of a PNG, PDF or SVG file.
        baseline: name of the table that is drawn in grey; None looks for the Gaussian one.

    Raises:
        InputError: no table, one without images, an unknown baseline, or another suffix.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_radius_accuracy([table], Path(folder) / "radius.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['radius.svg']
    """
    named = rows.with_distinct_names(tables)
    chart = curves.radius_chart(named, looks(len(named), rows.find_baseline(named, baseline)))
    figure, axes = _axes(chart.x.label, chart.y.label)
    _draw(axes, chart)
    axes.set_xlim(0.0, max((chart.x.span or (0.0, 0.0))[1], curves.STEPS[-1]))
    _write(figure, path)


def draw_p_a_curves(tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None) -> None:
    """Draw the share of images whose p_A reaches each value, with pointwise 95% bands.

    A log gives p_A from 1/2 upward only; the figure says so rather than drawing the rest.

    Args:
        path, baseline: as in `draw_radius_accuracy`.

    Raises:
        InputError: as `draw_radius_accuracy`, or a log whose sigma, n or alpha is not known.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_p_a_curves([table], Path(folder) / "p_a.png")
        ...     [file.name for file in Path(folder).iterdir()]
        ['p_a.png']
    """
    named = rows.with_distinct_names(tables)
    chart = curves.p_a_chart(dict(enumerate(named)), looks(len(named), rows.find_baseline(named, baseline)))
    figure, axes = _axes(P_A, chart.y.label)
    _draw(axes, chart)
    starts = [float(series.x[0]) for series in chart.series]
    _limit(axes, min(starts), unknown=max(starts) > 0.0)
    _write(figure, path)


def _axes(x: str, y: str) -> tuple[Any, Any]:
    with needs("a figure"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    plain_axes(axes)
    return figure, axes


def _draw(axes: Any, chart: Chart) -> None:
    for series in chart.series:
        style = {"color": series.look.colour, "linestyle": LINE_STYLES[series.look.dash], "linewidth": 1.6}
        axes.plot(series.x, series.y, drawstyle="steps-pre", label=legend_name(series.name), **style)
        band = {"color": series.look.colour, "alpha": 0.13, "linewidth": 0}
        axes.fill_between(series.x, series.low, series.high, step="pre", **band)
    highest = max(float(np.max(np.asarray(series.high))) for series in chart.series) / 100.0
    axes.set_ylim(0.0, min(100.0, 10.0 * np.ceil(10.0 * highest + 0.3)))
    axes.figure.set_figheight(max(4.0, 0.4 + 0.21 * len(chart.series)))  # room for every line of the legend
    legend = axes.figure.legend(loc="outside right upper", frameon=False)
    as_text(*legend.get_texts())


def _limit(axes: Any, start: float, *, unknown: bool) -> None:
    left = max(0.0, start - curves.MARGIN)
    axes.set_xlim(left, 1.0)
    if unknown:
        axes.axvspan(left, 0.5, color="#eeeeee", linewidth=0, zorder=0)
        place = {"ha": "center", "va": "center", "rotation": 90, "color": "#555555", "fontsize": 8}
        axes.text((left + 0.5) / 2, 0.5, "p_A < 1/2: not in the logs", transform=axes.get_xaxis_transform(), **place)


def _write(figure: Any, path: Path | str) -> None:
    path = Path(path)
    suffix = path.suffix.lstrip(".").lower()
    if suffix not in PAPER_FORMATS:
        raise errors.unknown("figure format", suffix, PAPER_FORMATS)
    write_atomically(path, saved(figure, suffix, dpi=200))
