"""The comparison as one HTML file that opens anywhere, offline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.errors import WrongTable
from randsmooth.notes import Note
from randsmooth.progress import worded
from randsmooth.report import curves, web
from randsmooth.report.baseline import paired_with
from randsmooth.report.headings import EVIDENCE_HEADING
from randsmooth.report.page.panel import PageContent, PanelView, Pictures
from randsmooth.report.page.panels.registry import FIRST, LAST, OPEN, PANELS
from randsmooth.report.page.summary import sentences
from randsmooth.report.plotly_charts import plot
from randsmooth.report.remarks import held_columns, sure_of
from randsmooth.report.sheet import Sheet, build_sheet

# The usual title of the page.
TITLE = "Certified robustness compared"


def comparison_page(
    tables: Sequence[Certificates],
    *,
    title: str | None = None,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    at: float | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> str:
    """Return the report on `tables` as HTML with everything inlined.

    First come the checks, then the answer, then the evidence: the panels in their order,
    below a list of contents. The findings and the first curves are unfolded.

    Args:
        title: the title of the page; None for the usual one.
        radii, baseline, at, command, pictures, labels, anyway: the arguments of
            `page_content`, which also lists the errors.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> comparison_page([table], title="Two images").count("<h1>Two images</h1>")
        1
    """
    content = page_content(
        tables,
        radii=radii,
        baseline=baseline,
        at=at,
        command=command,
        pictures=pictures,
        labels=labels,
        anyway=anyway,
    )
    return _page(content, title)


def write_comparison(
    tables: Sequence[Certificates],
    path: Path | str,
    *,
    title: str | None = None,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    at: float | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> list[str]:
    """Write the page of `comparison_page` to `path`, all or nothing.

    The arguments and errors are those of `comparison_page`.

    Returns:
        The findings of the page in sentences, with settings as Python spells them.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_comparison([table.renamed("gaussian")], Path(folder) / "report.html")
        ['gaussian: 50.0% at radius 0, ACR 0.189 (0.005 to 0.667), on 2 images.']
    """
    content = page_content(
        tables,
        radii=radii,
        baseline=baseline,
        at=at,
        command=command,
        pictures=pictures,
        labels=labels,
        anyway=anyway,
    )
    return write_page(content, path, title=title)


def write_page(
    content: PageContent, path: Path | str, *, title: str | None = None
) -> list[str]:
    """Write the page of `content` to `path`, all or nothing.

    Returns:
        The sentences of `write_comparison`.

    Example:
        >>> import tempfile
        >>> from randsmooth.certificates import from_radii
        >>> content = page_content([from_radii([0.5, 0.2], sigma=0.5, n=1000, alpha=0.001, name="a")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write_page(content, f"{folder}/page.html", title="One log")
        ...     Path(folder, "page.html").is_file()
        True
    """
    write_atomically(Path(path), _page(content, title).encode())
    return [
        worded(sentence) if isinstance(sentence, Note) else sentence
        for sentence in content.summary
    ]


def page_content(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    at: float | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> PageContent:
    """Return the measurements of `tables` that the panels of the page show.

    Args:
        radii: the radii of the certified accuracies, in pixels in [0, 1]; None for the
            usual ones.
        baseline: name of the table that the others are compared with; None looks for
            the Gaussian one.
        at: the radius of the answer; None for one sigma of the baseline.
        command: the command that makes the page, to be shown on it.
        pictures: the function that finds images, of which the page shows some that were
            given up (see `Pictures`).
        labels, anyway: as in `render`.

    Raises:
        Problem: no table, one that is not sound (see `build_sheet`), a radius that
            makes no sense, an unknown baseline, or a table that shares no image with
            it.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> content = page_content([table.renamed("gaussian")])
        >>> PANELS["accuracy_table"].view(content).content["columns"][0].figures
        ['0.189']
    """
    sheet = build_sheet(tables, radii, baseline, at=at, labels=labels, anyway=anyway)
    looks = curves.looks_of_tables(sheet.tables, sheet.baseline)
    radius_chart = curves.radius_chart(sheet.tables, looks)
    _require_shared_images(sheet)
    known_p_a = {
        row: table for row, table in enumerate(sheet.tables) if metrics.knows_p_a(table)
    }
    p_a_chart = curves.p_a_chart(known_p_a, looks) if known_p_a else None
    return PageContent(
        sheet=sheet,
        against=sheet.compared.against,
        looks=looks,
        radius_chart=radius_chart,
        p_a_chart=p_a_chart,
        pictures=pictures,
        command=command,
        summary=sentences(sheet),
    )


def _require_shared_images(sheet: Sheet) -> None:
    """Raise Problem for a table that has no image of the baseline.

    Where there is no baseline, the first table stands in for it.
    """
    row = sheet.baseline or 0
    reference = sheet.tables[row]
    _, refused = paired_with(row, sheet.tables)
    for table in sheet.tables:
        if table.name not in refused or not (table.labelled and reference.labelled):
            continue
        shares_images = np.isin(table.idx, reference.idx).any()
        if metrics.differing_source(table, reference) or not shares_images:
            raise WrongTable(refused[table.name])


def _page(content: PageContent, title: str | None) -> str:
    """Return the page as HTML.

    Args:
        title: the title of the page; None for the usual one.
    """
    sheet = content.sheet
    views: dict[str, PanelView] = {}
    for name, panel in PANELS.items():
        view = panel.view(content)
        if view is not None:
            views[name] = view

    markup: dict[str, Markup] = {}
    plots = {}
    scripts = [web.asset(__package__, "page.js")]
    for name, view in views.items():
        markup[name] = web.panel_markup(
            PANELS[name],
            __package__,
            sheet=sheet,
            looks=content.looks,
            **view.content,
        )
        scripts.append(web.panel_script(PANELS[name]))
        for element_id, chart in view.charts.items():
            plots[element_id] = plot(chart)

    folded = [_folded(name, views[name], markup[name]) for name in _evidence(views)]
    return web.page(
        __package__,
        "page.html.j2",
        styles=[
            web.asset(web.__name__, "base.css"),
            web.asset(__package__, "page.css"),
        ],
        scripts=["".join(scripts)],
        plots=True,
        title=title or TITLE,
        first=[markup[name] for name in FIRST if name in markup],
        evidence_heading=EVIDENCE_HEADING,
        panels=[panel for panel in folded if panel["name"] != LAST],
        last=[panel for panel in folded if panel["name"] == LAST],
        norm=sheet.norm,
        held=held_columns(sheet.tables),
        declined=sheet.declined is not None,
        sure=sure_of(sheet.tables),
        data={
            "plots": plots,
            "panels": {name: view.data for name, view in views.items()},
        },
    )


def _evidence(views: Mapping[str, PanelView]) -> list[str]:
    """Return the names of the panels that are folded, in the order of the page."""
    return [name for name in views if name not in FIRST]


def _folded(name: str, view: PanelView, markup: Markup) -> dict[str, Any]:
    """Return what the page unfolds: a panel, its heading and the name that links have."""
    words = name.replace("_", " ")
    return {
        "name": name,
        "slug": name.replace("_", "-"),
        "title": view.title or words.capitalize(),
        "markup": markup,
        "is_open": name in OPEN,
    }
