"""The contract of panels of the comparison page."""

import json
import re
from collections import Counter
from typing import Any

import numpy as np

from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.report import (
    PANELS,
    PageContent,
    PanelView,
    comparison_page,
    page_content,
    web,
)
from randsmooth.report import page as page_folder
from randsmooth.report.plotly_charts import plot
from randsmooth.testing.contract import contract_of, named_entry, require

# A name that is code, and breaks out of quotes, where it is not escaped.
NAME_TO_ESCAPE = "<script>alert(1)</script> & \"quoted\" 'names'"

# The tables that are shown.
IMAGES = 200
CLASSES = ("zero", NAME_TO_ESCAPE, "two")
N0 = 100
N = 1000


def check_panel(panel: str | Any) -> None:
    """Check a panel of the comparison page: what it shows, and what its template prints.

    It is shown several sets of tables: one alone; a baseline with two others; logs, which
    hold radii without counts; and two of one method at different sigmas. Some have names
    that would be code if they were not escaped.

    Args:
        panel: a name in PANELS, or the module.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_panel("budget_curve")
    """
    entry, module = named_entry("panel", panel, PANELS)
    with contract_of(entry):
        docstring = getattr(module, "__doc__", None) or ""
        require(docstring.strip(), "has no docstring")

        contents = _page_contents()
        views = [module.view(content) for content in contents]
        require(any(view is not None for view in views), "shows nothing of any table")
        for content, view in zip(contents, views, strict=True):
            if view is not None:
                _check_view(module, content, view)
        if isinstance(panel, str):
            _check_ids_on_a_page_differ()


def _page_contents() -> list[PageContent]:
    """Return what pages about several sets of tables hold."""
    alone = [_counted_table("one", seed=0)]
    several = [
        _counted_table("gaussian", seed=0),
        _counted_table(NAME_TO_ESCAPE, seed=1),
        _counted_table("third", seed=2),
    ]
    logs = [_log_of(table) for table in several]
    widths = [
        _counted_table("at 0.25", seed=0, sigma=0.25),
        _counted_table("at 0.5", seed=0, sigma=0.5),
    ]
    return [page_content(tables) for tables in (alone, several, logs, widths)]


def _counted_table(name: str, seed: int, sigma: float = 0.5) -> Certificates:
    """Return a table of IMAGES images by counts; with seed 0, it is of the baseline."""
    header = Header(
        sigma=sigma,
        n0=N0,
        n=N,
        alpha=0.001,
        classes=CLASSES,
        model={"method": "gaussian"} if seed == 0 else None,
    )
    rng = np.random.default_rng(seed)
    idx = np.arange(IMAGES)
    label = idx % len(CLASSES)

    # Each label has its p_A, and the other two classes share the rest.
    p_a = rng.beta(3.0 + seed, 1.0, IMAGES)
    p = np.repeat((1.0 - p_a)[:, None] / 2.0, len(CLASSES), axis=1)
    p[idx, label] = p_a
    return from_evidence(
        header,
        idx=idx,
        label=label,
        counts0=rng.multinomial(N0, p),
        counts=rng.multinomial(N, p),
        seconds=np.ones(IMAGES),
        name=name,
    )


def _log_of(table: Certificates) -> Certificates:
    """Return what a log of the same run would hold: classes and radii, rounded."""
    return Certificates(
        Header(),
        table.idx,
        table.label,
        table.predict,
        table.radius.round(3),
        table.seconds,
        name=table.name,
    )


def _check_view(module: Any, content: PageContent, view: Any) -> None:
    """Check what a panel shows of some tables, and what its template makes of it."""
    require(
        isinstance(view, PanelView),
        f"views a {type(view).__name__}, expected report.PanelView or None",
    )
    _check_data_are_json(view)

    markup = str(
        web.panel_markup(
            module,
            page_folder.__name__,
            sheet=content.sheet,
            looks=content.looks,
            **view.content,
        )
    ).strip()
    _check_names_are_escaped(markup)
    _check_is_one_section(markup)
    _check_charts_have_places(view, markup)


def _check_data_are_json(view: PanelView) -> None:
    """Raise ValueError where the data or a chart holds what JSON has no form for."""
    plots = {place: plot(chart) for place, chart in view.charts.items()}
    json.dumps([view.data, plots], allow_nan=False)


def _check_names_are_escaped(markup: str) -> None:
    require(
        "<script" not in markup,
        "prints a name without escaping it, or a script of its own",
    )


def _check_is_one_section(markup: str) -> None:
    whole = markup.startswith("<section") and markup.endswith("</section>")
    require(
        whole and markup.count("<section") == 1,
        "has a template that is not one <section>",
    )


def _check_charts_have_places(view: PanelView, markup: str) -> None:
    missing = sorted(set(view.charts) - set(_ids(markup)))
    require(not missing, f"draws charts in {missing}, which are no ids of its template")


def _check_ids_on_a_page_differ() -> None:
    """Check that no id of the panels' templates occurs twice on a page of all panels."""
    page = comparison_page(
        [_counted_table("gaussian", seed=0), _counted_table("other", seed=1)]
    )
    times_of_id = Counter(_ids(page))
    twice = [name for name, times in times_of_id.items() if times > 1]
    require(
        not twice,
        f"is on a page where the ids {twice} occur twice: begin ids with the panel's "
        "name",
    )


def _ids(page: str) -> list[str]:
    return re.findall(r'<[^>]*\bid="([^"]*)"', page)
