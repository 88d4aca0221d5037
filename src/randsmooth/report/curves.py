"""Curves of tables: accuracy by radius, shares by p_A, ACR by samples.

They are drawn as charts of a page, or as figures of their own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.certificates.logs.budgets import ROUNDED
from randsmooth.errors import Problem, WrongTable
from randsmooth.noise import NORMS, Gaussian
from randsmooth.number_text import half_up
from randsmooth.report.baseline import find_baseline
from randsmooth.report.charts import Axes, Line, Look, looks
from randsmooth.report.figures import draw
from randsmooth.report.sheet import with_distinct_names

Floats = NDArray[np.float64]

# The most steps between the radii of a curve, but for two beyond its end.
MOST_RADII = 500
# The round widths of a step. The first that needs no more than MOST_RADII steps is taken.
RADIUS_STEPS = (
    *(0.00001, 0.00002, 0.00005),
    *(0.0001, 0.0002, 0.0005),
    *(0.001, 0.002, 0.005),
    *(0.01, 0.02, 0.05),
    0.1,
)
# The numbers of samples, below the table's own, at which ACR is drawn.
SAMPLE_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)
# The left end of the axis of p_A: every method gives up images with a smaller p_A.
LEAST_P_A = 0.05
# The left end for logs, which tell p_A from 1/2 on.
LEAST_P_A_OF_LOGS = 0.3
# Height of a chart on a page, in pixels.
PAGE_HEIGHT = 400
# Plotly's format of the radius under the pointer: four significant digits.
RADIUS_FORMAT = ".4~g"


def radius_grid(tables: Sequence[Certificates]) -> Floats:
    """Return radii from 0 to just past the farthest certificate, in round steps."""
    ends = [
        float(np.max(table.radius * table.correct, initial=0.0)) for table in tables
    ]
    farthest = max(ends, default=0.0)
    # Radii beyond 50 have a step that is not round.
    step = next(
        (step for step in RADIUS_STEPS if farthest / step <= MOST_RADII),
        farthest / MOST_RADII,
    )
    # From 0 up to the farthest certificate, and two steps beyond: the curve ends at 0.
    number = int(farthest / step) + 3
    return np.round(np.arange(number) * step, decimals=9)


def radius_title(tables: Sequence[Certificates]) -> str:
    """Return the title of an axis of the tables' radii.

    Raises:
        Problem: the tables are of different norms.
    """
    metrics.require_one_norm(tables)
    return f"certified {NORMS[tables[0].norm].title}"


def p_a_grid() -> Floats:
    """Return p_A from 0 to 1, finer above 0.99 and 0.999, where the curves fall steeply.

    Each is a quotient of integers, so that it equals a share k / n of counts exactly.
    """
    coarse = np.arange(401) / 400
    fine = np.arange(9900, 10001, 2) / 10000
    finest = np.arange(99900, 100001, 2) / 100000
    return np.unique(np.concatenate((coarse, fine, finest)))


def page_axes(
    x: str,
    y: str,
    lines: Sequence[Line],
    x_range: tuple[float, float] | None = None,
    unknown_below: float | None = None,
) -> Axes:
    """Return a chart of a page, whose y begins at 0.

    It has no title, since the panel around it has a heading.
    """
    return Axes(
        title="",
        x=x,
        y=y,
        lines=lines,
        x_range=x_range,
        unknown_below=unknown_below,
        from_zero=True,
        hover=RADIUS_FORMAT,
        height=PAGE_HEIGHT,
    )


def radius_chart(tables: Sequence[Certificates], looks: Sequence[Look]) -> Axes:
    """Return the chart of certified accuracy in percent against the radius.

    There is a line for each table whose images have labels.

    Args:
        looks: the look of each table's line.
    """
    grid = radius_grid(tables)
    lines = [
        _line(row, table, grid, metrics.certified_shares(table, grid), looks[row])
        for row, table in enumerate(tables)
        if table.labelled
    ]
    end = float(grid[-1])
    return page_axes(
        radius_title(tables), "certified accuracy (%)", lines, x_range=(0.0, end)
    )


def p_a_chart(known: Mapping[int, Certificates], looks: Sequence[Look]) -> Axes:
    """Return the chart of the share of images with at least each p_A, in percent.

    A log gives p_A from 1/2 upward only. Where all tables are logs, the axis begins
    little below 1/2, and the part without data is shaded.

    Args:
        known: row in the sheet -> table, for one or more tables whose p_A is known.
        looks: the look of each row of the sheet.

    Raises:
        Problem: the p_A of one is not known (see `metrics.p_a`).
    """
    grid = p_a_grid()
    lines = [
        _line(row, table, grid, metrics.p_a_curve(table, grid), looks[row])
        for row, table in known.items()
    ]
    start = min(float(line.x[0]) for line in lines)
    # The line of a table with counts begins at p_A = 0.
    are_logs = start > 0.0
    chart = page_axes(
        "p_A",
        "images with at least this p_A (%)",
        lines,
        x_range=(LEAST_P_A_OF_LOGS if are_logs else LEAST_P_A, 1.0),
        unknown_below=0.5 if are_logs else None,
    )
    return replace(chart, probit_x=True)


def _line(row: int, table: Certificates, x: Floats, shares: Floats, look: Look) -> Line:
    """Return the falling staircase of one table, with its pointwise 95% band.

    It begins where the shares are known.

    Args:
        row: the row of the table in the sheet.
        x: (M,) radii or values of p_A.
        shares: (M,) the share of images at each x, in 0 to 1; NaN where it is unknown.
    """
    known = ~np.isnan(shares)
    successes = np.rint(shares[known] * len(table))
    low, high = metrics.share_interval(successes, len(table))
    return Line(
        table.name,
        x[known],
        100.0 * shares[known],
        "step",
        low=100.0 * low,
        high=100.0 * high,
        look=look,
        row=row,
        hover="%{text}%",
        figures=[half_up(100.0 * share, decimals=1) for share in shares[known]],
    )


def budget_curve(table: Certificates) -> tuple[list[int], list[float]] | None:
    """Return numbers of samples n, up to the table's own, and ACR at each.

    ACR with fewer samples is an expectation given the stored samples. The answer is None
    where the table does not determine it (see `metrics.expected_radius`).
    """
    header = table.header
    # Without alpha all copies were counted, of which none can be left out; or the header
    # is that of a log without alpha.
    if header.n is None or not header.alpha:
        return None
    fewest = bounds.smallest_n(header.alpha)
    sizes = [size for size in SAMPLE_SIZES if fewest <= size < header.n]
    sizes.append(header.n)
    try:
        acrs = [float(metrics.expected_radius(table, size).mean()) for size in sizes]
    except Problem:
        return None
    return sizes, acrs


# Titles of an axis of p_A: under one noise, and under the noise of each table.
P_A_TITLE = "p_A (share of noisy copies given the true label)"
OWN_P_A_TITLE = (
    "p_A (share of copies, under each table's own noise, given the true label)"
)


def draw_radius_accuracy(
    tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None
) -> None:
    """Draw certified accuracy against the radius, with pointwise 95% bands.

    Args:
        path: the PNG, PDF, SVG or HTML file to write.
        baseline: name of the table whose curve is solid; None looks for the Gaussian
            one.

    Raises:
        Problem: no table, none with labels, an unknown baseline, or another suffix.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> columns = {"counts0": counts0, "counts": counts, "seconds": idx * 1.0}
        >>> table = from_evidence(header, idx=idx, label=idx, **columns)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_radius_accuracy([table], Path(folder) / "radius.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['radius.svg']
    """
    named, looks_of_rows = _named(tables, baseline)
    chart = radius_chart(named, looks_of_rows)
    if not chart.lines:
        raise WrongTable(
            "the images have no labels, so that there is no accuracy to draw"
        )
    _draw(chart, path)


def draw_p_a_curves(
    tables: Sequence[Certificates], path: Path | str, *, baseline: str | None = None
) -> None:
    """Draw the share of images whose p_A reaches each value, with pointwise 95% bands.

    A log gives p_A from 1/2 upward only; the figure says so rather than drawing the
    rest. Tables under different noises, whose radii may be in different norms, are
    drawn together: each p_A is under the table's own noise.

    Args:
        path: the PNG, PDF, SVG or HTML file to write.
        baseline: the table of the solid curve, as for `draw_radius_accuracy`.

    Raises:
        Problem: a table that `draw_radius_accuracy` refuses, or a log whose sigma, n
            or alpha is not known.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> columns = {"counts0": counts0, "counts": counts, "seconds": idx * 1.0}
        >>> table = from_evidence(header, idx=idx, label=idx, **columns)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_p_a_curves([table], Path(folder) / "p_a.png")
        ...     [file.name for file in Path(folder).iterdir()]
        ['p_a.png']
    """
    named, looks_of_rows = _named(tables, baseline)
    noises = {table.header.noise for table in named}
    chart = p_a_chart(dict(enumerate(named)), looks_of_rows)
    title = OWN_P_A_TITLE if len(noises) > 1 else P_A_TITLE
    _draw(replace(chart, x=title), path)


def _named(
    tables: Sequence[Certificates], baseline: str | None
) -> tuple[list[Certificates], list[Look]]:
    """Return the tables under distinct names, and the looks of their curves.

    Args:
        baseline: the name of the table whose curve is solid; None looks for the
            Gaussian one.
    """
    named = with_distinct_names(tables)
    return named, looks_of_tables(named, find_baseline(named, baseline))


def looks_of_tables(tables: Sequence[Certificates], baseline: int | None) -> list[Look]:
    """Return the look of each table's curve.

    The method decides the colour, which is the same on all charts of a report. Where
    all tables are of one method, their names decide it.

    Args:
        baseline: the row of the baseline, whose curve is solid; None where there is no
            baseline, and the first curve is solid.
    """
    names = [table.name for table in tables]
    methods = [
        str((table.header.model or {}).get("method") or table.name) for table in tables
    ]
    return looks(names, methods, first=baseline)


def _draw(chart: Axes, path: Path | str) -> None:
    """Draw a chart of shares in percent, made for a page, as a figure of its own."""
    band_tops = [
        float(np.max(line.high)) for line in chart.lines if line.high is not None
    ]
    # The axis ends at a multiple of 10%, at least 3% above the highest band.
    tens_of_percent = float(np.ceil(max(band_tops) / 10.0 + 0.3))
    top = min(100.0, 10.0 * tens_of_percent)
    left, right = chart.x_range or (0.0, 1.0)
    # Where nothing is certified, the radii are a few of the smallest steps: the axis
    # would look as if it showed something.
    if right <= 10 * RADIUS_STEPS[0]:
        right = RADIUS_STEPS[-1]
    draw([replace(chart, y_range=(0.0, top), x_range=(left, right))], path)


def group_by_method(tables: Sequence[Certificates]) -> dict[str, list[Certificates]]:
    """Return the tables of each method that has tables under several noises.

    Where there are several kinds of noise, each kind has groups of its own. A group is
    called by the preset in the header, or by the method where there is no preset; a
    table with neither, such as most logs, is in no group.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     model = {"method": "macer"}
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model=model)
        ...     counts0 = np.array([[9, 1], [4, 6]])
        ...     counts = np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     columns = {"counts0": counts0, "counts": counts, "seconds": idx * 1.0}
        ...     return from_evidence(header, idx=idx, label=idx, **columns)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> {method: len(group) for method, group in group_by_method(tables).items()}
        {'macer': 2}
    """
    # What is unknown of a table is an empty text.
    methods = [_method(table) for table in tables]
    kinds = [_kind_of_noise(table) for table in tables]
    several_kinds = len(set(kinds) - {""}) > 1
    several_methods = len(set(methods) - {""}) > 1
    groups: dict[str, list[Certificates]] = {}
    for table, method, kind in zip(tables, methods, kinds, strict=True):
        name = method
        if several_kinds:
            name = f"{method}, {kind}" if several_methods else kind
        if name:
            groups.setdefault(name, []).append(table)

    with_several_noises = {
        name: group for name, group in groups.items() if _has_several_noises(group)
    }
    # Beside a kind with several noises, other kinds are shown even with a single noise,
    # since kinds are what is compared.
    if with_several_noises and several_kinds:
        return groups
    return with_several_noises


def _kind_of_noise(table: Certificates) -> str:
    """Return the name of the kind of noise, such as "gaussian"; empty if unknown."""
    noise = table.header.noise
    return "" if noise is None else noise.name


def _has_several_noises(tables: Sequence[Certificates]) -> bool:
    """Return whether the tables have noises of different kinds or widths."""
    return len({table.header.noise for table in tables}) > 1


def _method(table: Certificates) -> str:
    """Return the preset of a table's model, or else its method; empty if unknown."""
    model = table.header.model or {}
    return str(model.get("preset") or model.get("method") or "")


def draw_envelopes(
    groups: Mapping[str, Sequence[Certificates]], path: Path | str
) -> None:
    """Draw each group's best certified accuracy against the radius.

    A second panel draws the sigma, or other width of the noise, that gives it.

    Raises:
        Problem: no method, a suffix that is no figure's, or groups that
            `metrics.envelope` refuses.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     model = {"method": "macer"}
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model=model)
        ...     counts0 = np.array([[9, 1], [4, 6]])
        ...     counts = np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     columns = {"counts0": counts0, "counts": counts, "seconds": idx * 1.0}
        ...     return from_evidence(header, idx=idx, label=idx, **columns)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_envelopes({"macer": tables}, Path(folder) / "best.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['best.svg']
    """
    draw(envelope_axes(groups), path)


def envelope_axes(groups: Mapping[str, Sequence[Certificates]]) -> list[Axes]:
    """Return the two panels of `draw_envelopes`; none where there is no group.

    Bands are pointwise, of 95%. A curve falls to 0 beyond the last certified image. It
    ends without a fall at the largest radius that the tables could have certified.

    Args:
        groups: name of a group -> its tables, which are on the same images.

    Raises:
        Problem: groups that `metrics.envelope` refuses.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     model = {"method": "macer"}
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model=model)
        ...     counts0 = np.array([[9, 1], [4, 6]])
        ...     counts = np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     columns = {"counts0": counts0, "counts": counts, "seconds": idx * 1.0}
        ...     return from_evidence(header, idx=idx, label=idx, **columns)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> [panel.title for panel in envelope_axes({"macer": tables})]
        ["The best sigma at each radius: no one classifier's", 'That sigma']
    """
    share_lines = []
    width_lines = []
    for name, tables in groups.items():
        envelope = metrics.envelope(tables)
        share_lines.append(_share_line(name, tables, envelope))
        # `best` has the index of a table, negative where no table certifies an image.
        certified = envelope.best >= 0
        widths = np.array([_width(table) for table in tables])
        x = envelope.radii[certified]
        y = widths[envelope.best[certified]]
        width_lines.append(Line(name, x, y, "step"))
    if not share_lines:
        return []
    all_tables = [table for tables in groups.values() for table in tables]
    noises = [table.header.noise for table in all_tables]
    # Where the noise is not known, a log gave no sigma: logs are of Gaussian noise.
    all_gaussian = all(noise is None or isinstance(noise, Gaussian) for noise in noises)
    width = "sigma" if all_gaussian else "width of the noise"
    radius = radius_title(all_tables)
    title = f"The best {width} at each radius: no one classifier's"
    return [
        Axes(title, radius, "certified accuracy (%)", tuple(share_lines)),
        Axes(f"That {width}", radius, width, tuple(width_lines)),
    ]


def _share_line(
    name: str, tables: Sequence[Certificates], envelope: metrics.Envelope
) -> Line:
    """Return the curve of the best shares of a group, with its band.

    It falls to 0 at its end where the tables could have certified a larger radius.
    """
    radii = envelope.radii
    share = envelope.share
    low = envelope.low
    high = envelope.high
    farthest = max(metrics.farthest(table) for table in tables)
    # A log prints its radii rounded, so that the largest may seem a little short.
    if farthest > (1.0 + ROUNDED) * radii[-1]:
        radii = np.append(radii, radii[-1])
        share = np.append(share, 0.0)
        low = np.append(low, 0.0)
        high = np.append(high, 0.0)
    return Line(name, radii, 100.0 * share, "step", low=100.0 * low, high=100.0 * high)


def _width(table: Certificates) -> float:
    """Return the width of the noise: its sigma, lam, b or k.

    The answer is NaN where the noise has no single width, or is not known.
    """
    noise = table.header.noise
    return math.nan if noise is None else noise.width
