"""The comparison as one HTML file that opens anywhere, offline: its first sentences, then its panels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.escape import printable, shortened
from randsmooth.metrics import CROSSES, NO_DIFFERENCE, Comparison, Difference
from randsmooth.report import charts, curves, web
from randsmooth.report.against_baseline import AgainstBaseline, compare_all
from randsmooth.report.page.panels import PANELS, PageContent, Pictures
from randsmooth.report.sheet import Column, Sheet, build_sheet


def sentences(sheet: Sheet, against: Sequence[AgainstBaseline] = ()) -> list[str]:
    """One table: its figures. More: whose budgets differ, who leads in ACR, `what_acr_hides`, then the verdicts."""
    known = [row for row, table in enumerate(sheet.tables) if table.labelled]
    if len(known) < min(2, len(sheet.tables)):
        return [_unlabelled(sheet, row) for row in range(len(sheet.tables)) if row not in known]
    if len(sheet.tables) == 1:
        return [_alone(sheet)]
    verdicts = verdict_sentence(sheet, against)
    return [*budget_remarks(sheet.tables), _leaders(sheet), _hidden(sheet, against), *([verdicts] if verdicts else [])]


def budget_remarks(tables: Sequence[Certificates]) -> list[str]:
    """What to know before ACRs are compared where n or alpha differ: either raises ACR without a better classifier."""
    found = []
    for field, more in (("n", "more samples"), ("alpha", "a larger alpha")):
        values = sorted({value for table in tables if (value := getattr(table.header, field)) is not None})
        if len(values) > 1:
            listed = ", ".join(f"{value:,}" if field == "n" else f"{value:g}" for value in values)
            way = f"; --{field} {values[0]} judges all tables alike" if _rejudgeable(tables) else ""
            found.append(f"The tables differ in {field} ({listed}), and {more} alone can raise ACR{way}.")
    return found


def _rejudgeable(tables: Sequence[Certificates]) -> bool:
    return all(table.header.rule == "fixed" and not table.is_log for table in tables)


def _hidden(sheet: Sheet, against: Sequence[AgainstBaseline]) -> str:
    """Of the highest ACR and the baseline's, as all methods were judged; of the two highest without a baseline."""
    others = [row for row in _top(sheet.acr) if row != sheet.baseline]
    rows = others[0], others[1] if sheet.baseline is None else sheet.baseline
    first, second = (sheet.tables[row] for row in rows)
    judged = next((one.comparison for one in against if one.row == rows[0]), None)
    try:
        return what_acr_hides(*metrics.pair(first, second), judged)
    except InputError as reason:
        return f"What ACR hides cannot be said here: {reason}."


def _alone(sheet: Sheet) -> str:
    low, high = sheet.acr.ends[0]
    clean = [f"{c.figures[0]}% at radius {c.title}" for c in sheet.accuracy[:1]]
    return (
        f"{sheet.tables[0].name}: {', '.join([*clean, f'ACR {sheet.acr.figures[0]} ({low} to {high})'])}, "
        f"measured on {len(sheet.tables[0]):,} images."
    )


def _unlabelled(sheet: Sheet, row: int) -> str:
    abstains = sheet.abstention.figures[row]
    return f"{sheet.tables[row].name}: {len(sheet.tables[row]):,} images without labels; it abstains on {abstains}%."


def _leaders(sheet: Sheet) -> str:
    names = [table.name for table in sheet.tables]
    first = _top(sheet.acr)[0]
    rivals = [row for row in _top(sheet.acr)[1:] if not _ahead(sheet.tables[first], sheet.tables[row])]
    neither, highest = ("neither", "higher") if len(names) == 2 else ("none", "highest")
    if rivals:
        tied = ", ".join(f"{names[row]} {sheet.acr.figures[row]}" for row in (first, *rivals))
        return f"Of {len(names)} tables, {neither} has the {highest} ACR beyond chance ({tied})."
    return f"Of {len(names)} tables, {names[first]} has the {highest} ACR ({sheet.acr.figures[first]})."


def _ahead(first: Certificates, second: Certificates) -> bool:
    """Whether the first's ACR is the higher one beyond chance, on the images that both have."""
    try:
        ours, theirs = metrics.pair(first, second)
    except InputError:
        return False
    return metrics.acr_difference(ours, theirs).low > 0.0


def _top(column: Column) -> list[int]:
    """Rows from the highest value down; those without one are left out."""
    known = {row: estimate.value for row, estimate in enumerate(column.estimates) if estimate is not None}
    return sorted(known, key=lambda row: -known[row])


def verdict_sentence(sheet: Sheet, against: Sequence[AgainstBaseline]) -> str:
    """`By certified accuracy, against gaussian: a and b show no difference; c crosses at r = 0.37 (...), ...`"""
    if sheet.baseline is None or not against:
        return ""
    names: dict[str, list[str]] = {}
    for one in against:
        names.setdefault(one.verdict, []).append(sheet.tables[one.row].name)
    clauses = [f"{_joined(called)} {_predicate(verdict, len(called))}" for verdict, called in names.items()]
    return f"By certified accuracy, against {sheet.tables[sheet.baseline].name}: {'; '.join(clauses)}."


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _predicate(verdict: str, names: int) -> str:
    if verdict.startswith(NO_DIFFERENCE):
        return f"show{'s' if names == 1 else ''} no difference{verdict.removeprefix(NO_DIFFERENCE)}"
    if verdict.startswith(CROSSES):
        return verdict if names == 1 else verdict.replace(CROSSES, "cross", 1)
    return f"{'is' if names == 1 else 'are'} {verdict}"


def what_acr_hides(first: Certificates, second: Certificates, compared: Comparison | None = None) -> str:
    """One plain sentence: whose ACR is higher, where certified accuracies part, and what ACR therefore hides.

    Only what is shown counts as a difference: one 95% band over ACR and all radii together (see `metrics.compare`).

    Args:
        compared: the first against the second, where it was judged together with others; by itself if None.

    Raises:
        InputError: the tables are not about the same images, hold none, or a rule answered particular radii only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> print(what_acr_hides(table.renamed("a"), table.renamed("b")).split(",")[0])
        A and b have the same ACR (0.189)
    """
    found = compared or metrics.compare([(first, second)])[0]
    if found.curve is None or found.acr is None:
        raise InputError(f"{first.name} and {second.name} are compared {found.limit}: their ACR is not known")
    names = (
        shortened(printable(first.name).strip()) or "the first table",
        shortened(printable(second.name).strip()) or "the second table",
    )
    shown, curve = found.acr_shown, found.curve
    below, above = bool(curve.below.any()), bool(curve.above.any())
    surprising = below or above if shown == 0 else below if shown > 0 else above  # ACR alone would not tell it
    if not below and not above:
        verdict = "the curves show nothing that ACR hides" if shown else "these images do not tell the two apart"
    elif surprising:
        verdict = _hidden_by_acr(first, second, names[0], curve, fewer=below and shown >= 0)
    else:
        verdict = "here the curve bears ACR out"
    acr = _acr_clause(names, (metrics.acr(first).value, metrics.acr(second).value), shown)
    sentence = f"{acr}{', yet ' if surprising else ', and '}{_curve_clause(names, curve, shown)}: {verdict}"
    scope = f"; compared {found.limit}" if found.limit else ""
    return f"{sentence[0] if shown else sentence[0].upper()}{sentence[1:]}{scope}."


def _hidden_by_acr(first: Certificates, second: Certificates, name: str, curve: Difference, *, fewer: bool) -> str:
    """The radius at which the first certifies fewest or most images compared with the second."""
    r = float(curve.radii[np.argmin(curve.value) if fewer else np.argmax(curve.value)])
    one, other = (100.0 * metrics.certified_accuracy(table, r).value for table in (first, second))
    word = "fewer" if fewer else "more"
    return f"ACR hides that {word} images are certified at r = {r:.4g} under {name} ({one:.1f}% against {other:.1f}%)"


def _of(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _acr_clause(names: tuple[str, str], acr: tuple[float, float], shown: int) -> str:
    """Whose ACR is higher; `shown` is -1, 0 or 1 as the first's is shown to be lower, neither, higher."""
    one, other = _apart(*acr)
    if shown:
        way = "higher" if shown > 0 else "lower"
        return f"{_of(names[0])} ACR is {way} than {_of(names[1])} ({one} against {other})"
    if acr[0] == acr[1]:
        return f"{names[0]} and {names[1]} have the same ACR ({one})"
    return f"the ACR of {names[0]} ({one}) and that of {names[1]} ({other}) do not differ beyond chance"


def _apart(one: float, other: float) -> tuple[str, str]:
    """Both figures with three decimals, or with as many more as it takes to tell them apart."""
    for decimals in range(3, 8):
        pair = f"{one:.{decimals}f}", f"{other:.{decimals}f}"
        if pair[0] != pair[1]:
            return pair
    return f"{one:.3f}", f"{other:.3f}"


def _curve_clause(names: tuple[str, str], curve: Difference, shown: int) -> str:
    """Where the first's certified accuracy is shown to be below and above the second's."""
    below, above = _stretch(curve, curve.below), _stretch(curve, curve.above)
    its, other = "its" if shown else _of(names[0]), _of(names[1])
    if below and above:
        return f"{its} certified accuracy is below {other} {below} and above it {above}"
    if below or above:
        ways = ("below", "above") if below else ("above", "below")
        return f"{its} certified accuracy is {ways[0]} {other} {below or above} and nowhere shown {ways[1]} it"
    end = f"from r = 0 to {curve.radii[-1]:.4g}"
    if not curve.value.any():
        return f"their certified accuracies coincide {end}"
    return f"their certified accuracies differ nowhere beyond chance {end}"


def _stretch(curve: Difference, where: NDArray[np.bool_]) -> str:
    """`from r = 0 to 0.31 by up to 9.1 points`; empty when `where` (M,) holds nowhere."""
    if not where.any():
        return ""
    inside = np.flatnonzero(where)
    low, high = curve.radii[inside[0]], curve.radii[inside[-1]]
    most = 100.0 * np.abs(curve.value[where]).max()
    span = f"at r = {low:.4g}" if low == high else f"from r = {low:.4g} to {high:.4g}"
    gaps = " (with gaps)" if inside[-1] - inside[0] >= len(inside) else ""
    return f"{span}{gaps} by up to {most:.1f} points"


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
        summary=sentences(content.sheet, content.against),
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
