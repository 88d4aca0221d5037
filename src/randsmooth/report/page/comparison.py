"""The comparison as one HTML file that opens anywhere, offline: its first sentences, then its panels."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.errors import NotComparable, Problem, WrongTable
from randsmooth.escape import printable, shortened
from randsmooth.metrics import Comparison, Difference
from randsmooth.noise import NORMS, OWN_UNITS
from randsmooth.report import charts, curves, web
from randsmooth.report.page.panels import PANELS, PageContent, Pictures
from randsmooth.report.sheet import (
    UNJUDGED,
    Sheet,
    budget_remarks,
    build_sheet,
    gathered,
    held_columns,
    paired_with,
    sure_of,
)


def sentences(sheet: Sheet) -> list[str]:
    """One table: its figures. More: whose budgets differ, who of three leads in ACR, `what_acr_hides`, verdicts."""
    against, refused = sheet.compared
    names, tables, acr = [table.name for table in sheet.tables], sheet.tables, sheet.acr
    known = [row for row, table in enumerate(tables) if table.labelled]
    if len(known) < min(2, len(tables)):
        return [
            f"{names[row]}: {len(tables[row]):,} images without labels; it abstains on {figure}%."
            for row, figure in enumerate(sheet.abstention.figures)
            if row not in known
        ]
    if len(tables) == 1:
        clean = "".join(
            f"{c.figures[0]}% at radius {c.title}, " for c in sheet.accuracy[:1]
        )
        norm = tables[0].norm
        unit = f" ({NORMS[norm].title})" if norm in OWN_UNITS else ""
        average = f"ACR {acr.figures[0]} ({' to '.join(acr.ends[0])})"
        return [f"{names[0]}: {clean}{average}, on {len(tables[0]):,} images{unit}."]
    by_acr = sorted(known, key=lambda row: -sheet.summaries[row].acr.value)  # type: ignore[union-attr]
    others = [row for row in by_acr if row != sheet.baseline]
    second = others[1] if sheet.baseline is None else sheet.baseline
    judged = next((one.comparison for one in against if one.row == others[0]), None)
    leading, hidden = (
        [*_leading([(tables[row], acr.figures[row]) for row in by_acr])],
        list[str](),
    )
    try:
        ours, theirs = metrics.pair(tables[others[0]], tables[second])
        on = f"On the {len(ours):,} images of both: " * (
            len(ours) < max(map(len, (tables[others[0]], tables[second])))
        )
        hidden = [on + what_acr_hides(ours, theirs, judged)]
        leading = leading if len(tables) > 2 else []  # of two that says it all
    except Problem as reason:
        if str(reason) not in refused.values():  # which is said below
            hidden = [f"What ACR hides cannot be said here: {reason}."]
    verdicts = gathered((str(one.comparison), names[one.row]) for one in against)
    clauses = "; ".join(
        f"{', '.join(called)}: {verdict}" for verdict, called in verdicts.items()
    )
    reference = names[sheet.baseline or 0]
    said = [*budget_remarks(tables), *leading, *hidden]
    said += [f"By certified accuracy against {reference}, {clauses}."] * bool(clauses)
    said += [UNJUDGED] * (sheet.baseline is None)
    if tables[0].norm in OWN_UNITS:
        said.append(f"r is the {NORMS[tables[0].norm].title}.")
    return said + [
        f"{name} is not compared with {reference} image by image: {why}."
        for name, why in refused.items()
    ]


def _leading(by_acr: Sequence[tuple[Certificates, str]]) -> Iterator[str]:
    """Who has the highest ACR, of tables and their ACR as printed, the highest first; and who cannot be tested."""
    (first, figure), *rest = by_acr
    said = gathered(
        (_ahead(first, table), f"{table.name} {printed}") for table, printed in rest
    )
    tied, apart = [f"{first.name} {figure}", *said.get(False, [])], said.get(None, [])
    tested = len(by_acr) - len(apart)
    highest = "higher" if tested == 2 else "highest"
    if tested > 1:
        leads = f"it cannot be told with {len(first):,} images which has the {highest} ACR ({', '.join(tied)})"
        if len(tied) == 1:
            leads = f"{first.name} has the {highest} ACR ({figure})"
        yield f"Of {tested} tables{' that can be paired' * bool(apart)}, {leads}."
    if apart:
        yield f"ACR is not compared between {tied[0]} and {', '.join(apart)}: no test pairs their images."


def _ahead(first: Certificates, second: Certificates) -> bool | None:
    """Whether the first's ACR is the higher one beyond chance, on the images that both have; None without a pair."""
    try:
        ours, theirs = metrics.pair(first, second)
    except Problem:
        return None
    return metrics.acr_difference(ours, theirs).low > 0.0


def what_acr_hides(
    first: Certificates, second: Certificates, compared: Comparison | None = None
) -> str:
    """One plain sentence: whose ACR is higher, where certified accuracies part, and what ACR therefore hides.

    Only what is shown counts as a difference: one 95% band over ACR and all radii together (see `metrics.compare`).

    Args:
        compared: the first against the second, where it was judged together with others; by itself if None.

    Raises:
        Problem: the tables are not about the same images, hold none, or a rule answered particular radii only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> print(what_acr_hides(table.renamed("a"), table.renamed("b")).split(",")[0])
        a and b have the same ACR (0.189)
    """
    found = compared or metrics.compare([(first, second)])[0]
    shown, curve = found.acr_shown, found.curve
    if curve is None or found.acr is None or found.verdict is None:
        raise NotComparable(
            f"{first.name} and {second.name} are compared {found.limit}: their ACR is not known"
        )
    a, b = (
        shortened(printable(table.name).strip()) or "a table"
        for table in (first, second)
    )
    acr_a, acr_b = _apart(metrics.acr(first).value, metrics.acr(second).value)
    ends = {
        end: rounded
        for x in found.verdict.crossings
        for end, rounded in zip((x.low, x.high), x.rounded, strict=False)
    }
    below, above = (
        _stretch(curve, where, ends) for where in (curve.below, curve.above)
    )
    surprising = (
        below or above if shown == 0 else below if shown > 0 else above
    )  # ACR alone would not tell it
    said = f"Which of {a} and {b} has the higher ACR ({acr_a} and {acr_b}) cannot be told with {found.images:,} images"
    if shown:
        said = f"{_of(a)} ACR is {'higher' if shown > 0 else 'lower'} than {_of(b)} ({acr_a} against {acr_b})"
    elif acr_a == acr_b:
        said = f"{a} and {b} have the same ACR ({acr_a})"
    said += f", {'yet' if surprising else 'and'} {'its' if shown else _of(a)} certified accuracy is "
    if below and above:
        said += f"below {_of(b)} {below} and above it {above}"
    elif below or above:
        way, other = ("below", "above") if below else ("above", "below")
        said += f"{way} {_of(b)} {below or above} and nowhere shown {other} it"
    else:
        equal = "nowhere different beyond chance" if curve.value.any() else "the same"
        said += f"{equal} {metrics.Stretch(0.0, float(curve.radii[-1]), ahead=True, gaps=False)}"
    if surprising:
        fewer = bool(below) and shown >= 0
        r = float(
            curve.radii[np.argmax(np.round(-curve.value if fewer else curve.value, 3))]
        )  # as printed
        one, other = (
            f"{100.0 * metrics.certified_accuracy(table, r).value:.1f}%"
            for table in (first, second)
        )
        few = f"{'fewer' if fewer else 'more'} images are certified {metrics.Stretch(r, r, True, False)} under {a}"
        said += f": ACR hides that {few} ({one} against {other})"
    elif below or above:
        said += ": here the curve bears ACR out"
    else:
        said += ": " + (
            "the curve shows nothing that ACR hides"
            if shown
            else "these images do not tell the two apart"
        )
    scope = f"; compared {found.limit}" if found.limit else ""
    return f"{said}{scope}."


def _of(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _apart(one: float, other: float) -> tuple[str, str]:
    """Both figures with three decimals, or with as many more as it takes to tell them apart."""
    decimals = next((d for d in range(3, 8) if f"{one:.{d}f}" != f"{other:.{d}f}"), 3)
    return f"{one:.{decimals}f}", f"{other:.{decimals}f}"


def _stretch(
    curve: Difference, where: NDArray[np.bool_], ends: dict[float, float]
) -> str:
    """`from r = 0 to 0.31 by up to 9.1 points`, with `ends` as the verdict prints them; empty if `where` (M,) never."""
    if not where.any():
        return ""
    inside = np.flatnonzero(where)
    most = 100.0 * np.abs(curve.value[where]).max()
    low, high = (ends.get(r, r) for r in curve.radii[inside[[0, -1]]].tolist())
    span = metrics.Stretch(low, high, ahead=True, gaps=False)
    return f"{span}{' (with gaps)' if inside[-1] - inside[0] >= len(inside) else ''} by up to {most:.1f} points"


def comparison_page(
    tables: Sequence[Certificates],
    *,
    title: str | None = None,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
) -> str:
    """The report on `tables` as HTML with everything inlined: first sentences, then the panels in their order.

    Args:
        title: of the page.
        radii, baseline, command, pictures: as for `page_content`, which says what is
            refused, too.

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
    content = page_content(
        tables, radii=radii, baseline=baseline, command=command, pictures=pictures
    )
    return _page(content, sentences(content.sheet), title)


def _page(content: PageContent, summary: list[str], title: str | None) -> str:
    views = {
        name: view
        for name, panel in PANELS.items()
        if (view := panel.view(content)) is not None
    }
    plots = {
        place: charts.plot(chart)
        for view in views.values()
        for place, chart in view.charts.items()
    }
    known = {"sheet": content.sheet, "looks": content.looks}
    printed = [
        web.panel_markup(PANELS[name], __package__, **known, **view.content)
        for name, view in views.items()
    ]
    scripts = [
        web.asset(__package__, "page.js"),
        *(web.panel_script(PANELS[name]) for name in views),
    ]
    return web.page(
        __package__,
        "page.html.j2",
        styles=[
            web.asset(web.__name__, "base.css"),
            web.asset(__package__, "page.css"),
        ],
        scripts=["".join(scripts)],
        plots=True,
        title=title or "Certified robustness compared",
        summary=summary,
        panels=printed,
        norm=content.sheet.norm,
        held=held_columns(content.sheet.tables),
        sure=sure_of(content.sheet.tables),
        data={
            "plots": plots,
            "panels": {name: view.data for name, view in views.items()},
        },
    )


def page_content(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
) -> PageContent:
    """Measure `tables` for the panels of the page.

    Args:
        radii: of the certified accuracies, in pixels in [0, 1]; None for the usual ones.
        baseline: name of the table that the others are compared with; None looks for the Gaussian one.
        command: what was typed to make the page, to be shown on it.
        pictures: pixels (H, W, 1 or 3) uint8 of the images at given positions, to show some that were given up.

    Raises:
        Problem: no table, one that is not sound (see `build_sheet`), a radius that makes no sense, an unknown
            baseline, or a table that shares no image with it.

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
    reference = sheet.tables[sheet.baseline or 0]
    _, refused = paired_with(
        sheet.baseline or 0, sheet.tables
    )  # the first, where there is no baseline
    for table in sheet.tables:
        apart = (
            metrics.differing_source(table, reference)
            or not np.isin(table.idx, reference.idx).any()
        )
        if table.name in refused and table.labelled and reference.labelled and apart:
            raise WrongTable(refused[table.name])
    known = {
        row: table for row, table in enumerate(sheet.tables) if metrics.knows_p_a(table)
    }
    p_a_chart = curves.p_a_chart(known, looks) if known else None
    return PageContent(
        sheet, sheet.compared[0], looks, radius_chart, p_a_chart, pictures, command
    )


def write_comparison(
    tables: Sequence[Certificates],
    path: Path | str,
    *,
    title: str | None = None,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    command: str | None = None,
    pictures: Pictures | None = None,
) -> list[str]:
    """Write the `comparison_page` on `tables` to `path`, all or nothing.

    The other arguments and the errors are those of `comparison_page`.

    Returns:
        The sentences at the head of the page, which say what was found.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_comparison([table.renamed("gaussian")], Path(folder) / "report.html")
        ['gaussian: 50.0% at radius 0, ACR 0.189 (0.005 to 0.667), on 2 images.']
    """
    content = page_content(
        tables, radii=radii, baseline=baseline, command=command, pictures=pictures
    )
    summary = sentences(content.sheet)
    write_atomically(Path(path), _page(content, summary, title).encode())
    return summary
