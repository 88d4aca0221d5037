"""The comparison as one HTML file that opens anywhere, offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from randsmooth import metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.report import web
from randsmooth.report.against_baseline import compare_all
from randsmooth.report.figures import charts, curves
from randsmooth.report.page import summary
from randsmooth.report.page.panels import PANELS, PageContent, Pictures
from randsmooth.report.sheet import build_sheet


def comparison_page(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    title: str | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
) -> str:
    """The report on `tables` as HTML with everything inlined: first sentences, then the panels in their order.

    Args:
        radii: of the certified accuracies, in pixels in [0, 1]; None for the usual ones.
        baseline: name of the table that the others are compared with; None looks for the Gaussian one.
        command: what was typed to make the page, to be shown on it.
        pictures: pixels (H, W, 1 or 3) uint8 of the images at given positions, to show some that were given up.

    Raises:
        InputError: no table, one that is not sound (see `build_sheet`), a radius that makes no sense, an unknown
            baseline, or a table that shares no image with it.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> comparison_page([table], title="Two images").count("<h1>Two images</h1>")
        1
    """
    content = page_content(tables, radii=radii, baseline=baseline, command=command, pictures=pictures)
    views = {name: view for name, panel in PANELS.items() if (view := panel.view(content)) is not None}
    plots = {place: charts.plot(chart) for view in views.values() for place, chart in view.charts.items()}
    known = {"sheet": content.sheet, "looks": content.looks}
    printed = [web.panel_markup(PANELS[name], __package__, **known, **view.content) for name, view in views.items()]
    scripts = [web.asset(__package__, "page.js"), *(web.panel_script(PANELS[name]) for name in views)]
    return web.page(
        __package__,
        "page.html.j2",
        styles=[web.asset(web.__name__, "base.css"), web.asset(__package__, "page.css")],
        scripts=["".join(scripts)],
        plots=True,
        title=title or "Certified robustness compared",
        summary=summary.sentences(content.sheet, content.against),
        panels=printed,
        data={"plots": plots, "panels": {name: view.data for name, view in views.items()}},
    )


def page_content(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
) -> PageContent:
    """Measure `tables` for the panels of the page; arguments and errors as `comparison_page`.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> content = page_content([table.renamed("gaussian")])
        >>> PANELS["accuracy_table"].view(content).content["columns"][0].figures
        ['0.189']
    """
    sheet = build_sheet(tables, radii, baseline)
    looks = charts.looks(len(sheet.tables), sheet.baseline)
    radius_chart = curves.radius_chart(sheet.tables, looks)
    known = {row: table for row, table in enumerate(sheet.tables) if metrics.knows_p_a(table)}
    p_a_chart = curves.p_a_chart(known, looks) if known else None
    return PageContent(sheet, compare_all(sheet), looks, radius_chart, p_a_chart, pictures, command)


def write_comparison(tables: Sequence[Certificates], path: Path | str, **options: Any) -> None:
    """Write `comparison_page(tables, **options)` to `path`, all or nothing. Errors as `comparison_page`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_comparison([table], Path(folder) / "report.html", title="Two images")
        ...     [file.name for file in Path(folder).iterdir()]
        ['report.html']
    """
    write_atomically(Path(path), comparison_page(tables, **options).encode())
