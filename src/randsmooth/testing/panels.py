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
    charts,
    comparison_page,
    page_content,
    web,
)
from randsmooth.report import page as page_folder
from randsmooth.testing.contract import Checks, opened, run

NASTY = "<script>alert(1)</script> & \"quoted\" 'names'"


def check_panel(panel: str | Any) -> None:
    """Check a panel of the comparison page: what it shows of several sets of tables, and what its template prints.

    The tables are one alone, a baseline with two others, logs, which hold radii without counts, and two
    of one method at different sigmas; some have names
    that would be code if they were not escaped.

    Args:
        panel: a name in PANELS, or the module.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_panel("budget_curve")
    """
    entry, module = opened("panel", panel, PANELS)
    run(entry, _of_panel(module, on_a_page=isinstance(panel, str)))


def _of_panel(module: Any, *, on_a_page: bool) -> Checks:
    yield (getattr(module, "__doc__", None) or "").strip(), "has no docstring"
    contents = _contents()
    views = [module.view(content) for content in contents]
    yield any(view is not None for view in views), "shows nothing of any table"
    for content, view in zip(contents, views, strict=True):
        if view is not None:
            yield from _of_view(module, content, view)
    if on_a_page:
        ids = Counter(
            _ids(comparison_page([_table("gaussian", 0), _table("other", 1)]))
        )
        twice = [name for name, times in ids.items() if times > 1]
        yield (
            not twice,
            f"is on a page where the ids {twice} occur twice: begin ids with the panel's name",
        )


def _contents() -> list[PageContent]:
    several = [_table("gaussian", 0), _table(NASTY, 1), _table("third", 2)]
    logs = [  # what logs of the same runs would hold: classes and radii
        Certificates(
            Header(),
            one.idx,
            one.label,
            one.predict,
            one.radius.round(3),
            one.seconds,
            name=one.name,
        )
        for one in several
    ]
    widths = [_table(f"at {sigma}", 0, sigma) for sigma in (0.25, 0.5)]
    return [
        page_content(tables) for tables in ([_table("one", 0)], several, logs, widths)
    ]


def _table(name: str, seed: int, sigma: float = 0.5) -> Certificates:
    """200 images of three classes, by counts."""
    model = {"method": "gaussian"} if seed == 0 else None
    header = Header(
        sigma=sigma,
        n0=100,
        n=1000,
        alpha=0.001,
        classes=("zero", NASTY, "two"),
        model=model,
    )
    rng, idx = np.random.default_rng(seed), np.arange(200)
    p_a = rng.beta(3.0 + seed, 1.0, len(idx))
    p = np.repeat((1.0 - p_a)[:, None] / 2.0, 3, axis=1)
    p[idx, idx % 3] = p_a
    counts0, counts, seconds = (
        rng.multinomial(100, p),
        rng.multinomial(1000, p),
        np.ones(len(idx)),
    )
    return from_evidence(
        header,
        idx=idx,
        label=idx % 3,
        counts0=counts0,
        counts=counts,
        seconds=seconds,
        name=name,
    )


def _of_view(module: Any, content: PageContent, view: Any) -> Checks:
    yield (
        isinstance(view, PanelView),
        f"views a {type(view).__name__}, expected report.PanelView or None",
    )
    json.dumps(
        [view.data, {at: charts.plot(chart) for at, chart in view.charts.items()}],
        allow_nan=False,
    )
    known = {"sheet": content.sheet, "looks": content.looks}
    printed = str(
        web.panel_markup(module, page_folder.__name__, **known, **view.content)
    ).strip()
    yield (
        "<script" not in printed,
        "prints a name without escaping it, or a script of its own",
    )
    alone = (
        printed.count("<section") == 1
        and printed.startswith("<section")
        and printed.endswith("</section>")
    )
    yield alone, "has a template that is not one <section>"
    missing = sorted(set(view.charts) - set(_ids(printed)))
    yield not missing, f"draws charts in {missing}, which are no ids of its template"


def _ids(page: str) -> list[str]:
    return re.findall(r'<[^>]*\bid="([^"]*)"', page)
