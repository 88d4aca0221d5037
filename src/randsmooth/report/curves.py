"""Curves of tables: accuracy by radius, shares by p_A, ACR by samples; as lines, and as figures of several panels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.certificates.logs.inferred import ROUNDED
from randsmooth.errors import Problem, WrongTable
from randsmooth.noise import NORMS
from randsmooth.report.baseline import find_baseline
from randsmooth.report.charts import Axes, Line, Look, draw, looks
from randsmooth.report.grouping import gathered
from randsmooth.report.sheet import with_distinct_names

Floats = NDArray[np.float64]

POINTS = 500
STEPS = (
    0.00001,
    0.00002,
    0.00005,
    0.0001,
    0.0002,
    0.0005,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
)
BUDGETS = (100, 300, 1_000, 3_000, 10_000, 30_000)
MARGIN = 0.06  # of p_A, to the left of where the first curve begins


def radius_grid(tables: Sequence[Certificates]) -> Floats:
    """Radii from 0 to just past the farthest certificate, at most about POINTS, on a round step."""
    farthest = max(
        (float(np.max(t.radius * t.correct, initial=0.0)) for t in tables), default=0.0
    )
    step = next((s for s in STEPS if farthest / s <= POINTS), farthest / POINTS)
    return np.round(np.arange(int(farthest / step) + 3) * step, 9)


def radius_title(tables: Sequence[Certificates]) -> str:
    """What an axis of the tables' radii says; Problem for tables of different norms."""
    metrics.require_one_norm(tables)
    return f"certified {NORMS[tables[0].norm].title}"


def p_a_grid() -> Floats:
    """p_A from 0 to 1, finer above 0.99, where the curves fall steeply.

    Divided, as counts are, so that k / n = x is met exactly.
    """
    return np.unique(
        np.concatenate((np.arange(401) / 400, np.arange(9900, 10001, 2) / 10000))
    )


ON_PAGE: dict[str, Any] = {"from_zero": True, "hover": ".4~g", "height": 400}


def radius_chart(tables: Sequence[Certificates], looks: Sequence[Look]) -> Axes:
    """Certified accuracy in percent against the radius, a line for each table whose images have labels."""
    grid = radius_grid(tables)
    known = [(row, table) for row, table in enumerate(tables) if table.labelled]
    lines = [
        _line(row, table, grid, metrics.certified_shares(table, grid), looks[row])
        for row, table in known
    ]
    return Axes(
        "",
        radius_title(tables),
        "certified accuracy (%)",
        lines,
        x_range=(0.0, float(grid[-1])),
        **ON_PAGE,
    )


def p_a_chart(known: Mapping[int, Certificates], looks: Sequence[Look]) -> Axes:
    """Share of images in percent with at least each p_A, a line for each table.

    A log gives p_A from 1/2 upward only: where no table gives more, the rest is left out and shaded.

    Args:
        known: the tables whose p_A is known, one or more, by their rows in the sheet.

    Raises:
        Problem: the p_A of one is not known (see `metrics.p_a`).
    """
    grid = p_a_grid()
    lines = [
        _line(row, table, grid, metrics.p_a_curve(table, grid), looks[row])
        for row, table in known.items()
    ]
    start = min(float(one.x[0]) for one in lines)
    ends, unknown_below = (
        (round(max(0.0, start - MARGIN), 3), 1.0),
        0.5 if start > 0.0 else None,
    )
    y = "images with at least this p_A (%)"
    return Axes(
        "", "p_A", y, lines, x_range=ends, unknown_below=unknown_below, **ON_PAGE
    )


def _line(row: int, table: Certificates, x: Floats, shares: Floats, look: Look) -> Line:
    """A falling staircase in percent, from where the shares are known, with its pointwise 95% band."""
    x, shares = x[~np.isnan(shares)], shares[~np.isnan(shares)]
    low, high = metrics.share_interval(np.rint(shares * len(table)), len(table))
    band: dict[str, Any] = {"low": 100.0 * low, "high": 100.0 * high}
    return Line(
        table.name,
        x,
        100.0 * shares,
        "step",
        look=look,
        row=row,
        hover="%{y:.1f}%",
        **band,
    )


def budget_curve(table: Certificates) -> tuple[list[int], list[float]] | None:
    """Some n up to the table's own, and ACR at each, in expectation given the stored samples.

    None where the table does not allow it (see `metrics.expected_radius`).
    """
    header = table.header
    if (
        header.n is None or not header.alpha
    ):  # not known; or 0, as no sample can be left out of all copies
        return None
    least = bounds.smallest_n(header.alpha)
    n = [budget for budget in BUDGETS if least <= budget < header.n] + [header.n]
    try:
        return n, [float(metrics.expected_radius(table, budget).mean()) for budget in n]
    except Problem:
        return None


P_A = "p_A (share of noisy copies given the true label)"
OWN_P_A = "p_A (share of copies, under each table's own noise, given the true label)"


def draw_radius_accuracy(
    tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None
) -> None:
    """Draw certified accuracy against the radius, with pointwise 95% bands.

    Args:
        path: of a PNG, PDF, SVG or HTML file.
        baseline: name of the table that is drawn in grey; None looks for the Gaussian one.

    Raises:
        Problem: no table, none with labels, an unknown baseline, or another suffix.

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
    named, by_row = _named(tables, baseline)
    chart = radius_chart(named, by_row)
    if not chart.lines:
        raise WrongTable(
            "the images have no labels, so that there is no accuracy to draw"
        )
    _draw(chart, path)


def draw_p_a_curves(
    tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None
) -> None:
    """Draw the share of images whose p_A reaches each value, with pointwise 95% bands.

    A log gives p_A from 1/2 upward only; the figure says so rather than drawing the rest. Tables under different
    noises, whose radii may be in different norms, are drawn together: each p_A is under the table's own noise.

    Args:
        path, baseline: as in `draw_radius_accuracy`.

    Raises:
        Problem: as `draw_radius_accuracy`, or a log whose sigma, n or alpha is not known.

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
    named, by_row = _named(tables, baseline)
    x = OWN_P_A if len({table.header.noise_name for table in named}) > 1 else P_A
    _draw(replace(p_a_chart(dict(enumerate(named)), by_row), x=x), path)


def _named(
    tables: Sequence[Certificates], baseline: str | None
) -> tuple[list[Certificates], list[Look]]:
    """The tables under distinct names, and the looks of their curves."""
    named = with_distinct_names(tables)
    return named, looks(len(named), find_baseline(named, baseline))


def _draw(chart: Axes, path: Path | str) -> None:
    """The chart of a page as a figure of its own."""
    highest = (
        max(float(np.max(line.high)) for line in chart.lines if line.high is not None)
        / 100.0
    )
    top = min(100.0, 10.0 * float(np.ceil(10.0 * highest + 0.3)))
    left, right = chart.x_range or (0.0, 1.0)
    right = right if right > 10 * STEPS[0] else STEPS[-1]  # where nothing is certified
    draw([replace(chart, y_range=(0.0, top), x_range=(left, right))], path)


def group_by_method(tables: Sequence[Certificates]) -> dict[str, list[Certificates]]:
    """The tables of each method that has tables under several noises; of each kind of noise, if there are several.

    A method goes by the preset in the header, or by its name where there is no preset. A log names neither.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        ...     counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> {method: len(group) for method, group in group_by_method(tables).items()}
        {'macer': 2}
    """
    said = [
        (
            _method(table),
            table.header.smoothing.name if table.header.names_noise else "",
        )
        for table in tables
    ]
    kinds, methods = (
        ({*of} - {""} for of in zip(*(each[::-1] for each in said), strict=True))
        if said
        else ([], [])
    )
    names = [
        m if len(kinds) < 2 else f"{m}, {kind}" if len(methods) > 1 else kind
        for m, kind in said
    ]
    groups = gathered(
        (name, table) for name, table in zip(names, tables, strict=True) if name
    )
    several = {
        name
        for name, group in groups.items()
        if len({table.header.noise_words for table in group}) > 1
    }
    return {
        name: group
        for name, group in groups.items()
        if name in several or (several and len(kinds) > 1)
    }


def _method(table: Certificates) -> str:
    model = table.header.model or {}
    return str(model.get("preset") or model.get("method") or "")


def draw_envelopes(
    groups: Mapping[str, Sequence[Certificates]], path: Path | str
) -> None:
    """Draw each group's best certified accuracy, and the sigma or other width that gives it, against the radius.

    Raises:
        Problem: no method, a suffix that is no figure's, or as `metrics.envelope`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        ...     counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_envelopes({"macer": tables}, Path(folder) / "best.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['best.svg']
    """
    draw(envelope_axes(groups), path)


def envelope_axes(groups: Mapping[str, Sequence[Certificates]]) -> list[Axes]:
    """The two panels of `draw_envelopes`; none for no method.

    Bands are pointwise, of 95%. A curve falls to 0 where no image is certified any more, and ends where the tables'
    noises can certify no farther.

    Raises:
        Problem: as `metrics.envelope`.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        ...     counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> [panel.title for panel in envelope_axes({"macer": tables})]
        ["The best sigma at each radius: no one classifier's", 'That sigma']
    """
    shares, widths = [], []
    for name, tables in groups.items():
        found = metrics.envelope(tables)
        ends = max(map(metrics.farthest, tables)) > (1.0 + ROUNDED) * found.radii[-1]
        x = np.append(found.radii, found.radii[-1:] if ends else [])
        y, low, high = (
            100.0 * np.append(of, [0.0] * bool(ends))
            for of in (found.share, found.low, found.high)
        )
        shares.append(Line(name, x, y, "step", low=low, high=high))
        held = found.best >= 0
        widths.append(
            Line(
                name,
                found.radii[held],
                np.array(list(map(_width, tables)))[found.best[held]],
                "step",
            )
        )
    if not shares:
        return []
    every = [table for tables in groups.values() for table in tables]
    what = (
        "sigma"
        if all(table.header.distribution is None for table in every)
        else "width of the noise"
    )
    title, radius = (
        f"The best {what} at each radius: no one classifier's",
        radius_title(every),
    )
    shown = Axes(title, radius, "certified accuracy (%)", tuple(shares))
    return [shown, Axes(f"That {what}", radius, what, tuple(widths))]


def _width(table: Certificates) -> float:
    """The number of the noise: sigma, lam, b or k; NaN where it is not one, or not known."""
    facts = table.header.distribution or {"sigma": table.header.sigma}
    width = next(value for fact, value in facts.items() if fact != "name")
    return float(width) if isinstance(width, int | float) else np.nan
