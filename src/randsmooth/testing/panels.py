"""The contract of panels of the comparison page."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.report import PANELS, PageContent, PanelView, charts, comparison_page, page_content, web
from randsmooth.report import page as page_folder
from randsmooth.testing.requirements import Contract

NASTY = "<script>alert(1)</script> & \"quoted\" 'names'"
VOID = {"br", "col", "hr", "img", "input", "line", "meta", "path", "rect"}  # elements that are never closed


def check_panel(panel: str | Any) -> None:
    """Check a panel of the comparison page: what it shows of several sets of tables, and what its template prints.

    The tables are one alone, a baseline with two others, and logs, which hold radii without counts; some have names
    that would be code if they were not escaped.

    Args:
        panel: a name in PANELS, or the module.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_panel("budget_curve")
    """
    name = panel if isinstance(panel, str) else getattr(panel, "__name__", repr(panel))
    module: Any = PANELS[panel] if isinstance(panel, str) else panel
    contract = Contract(f"panel {name!r}")
    contract.require(callable(getattr(module, "view", None)), "has no function view(content)")
    contract.require(str(getattr(module, "__doc__", None) or "").strip(), "has no docstring")
    template = Path(module.__file__).with_suffix(".html.j2")
    contract.require(template.is_file(), f"has no template at {template}: is it packaged?")
    shown = [_check_view(contract, module, content) for content in _contents()]
    contract.require(any(shown), "shows nothing of any table")
    if isinstance(panel, str):
        _check_page(contract)


def _contents() -> list[PageContent]:
    alone = _table("one", 0)
    several = [_table("gaussian", 0), _table(NASTY, 1), _table("third", 2)]
    return [page_content(tables) for tables in ([alone], several, [_log(table) for table in several])]


def _table(name: str, seed: int) -> Certificates:
    """200 images of three classes, by counts."""
    header = Header(sigma=0.5, n0=100, n=1000, alpha=0.001, classes=("zero", NASTY, "two"))
    rng, label = np.random.default_rng(seed), np.arange(200) % 3
    p_a = rng.beta(3.0 + seed, 1.0, len(label))
    p = np.repeat((1.0 - p_a)[:, None] / 2.0, 3, axis=1)
    p[np.arange(len(label)), label] = p_a
    counts0, counts = rng.multinomial(100, p), rng.multinomial(1000, p)
    seconds = np.ones(len(label))
    return from_evidence(
        header, idx=np.arange(len(label)), label=label, counts0=counts0, counts=counts, seconds=seconds, name=name
    )


def _log(table: Certificates) -> Certificates:
    """What a log of the same run would hold: classes and radii."""
    return Certificates(
        Header(), table.idx, table.label, table.predict, table.radius.round(3), table.seconds, name=table.name
    )


def _check_view(contract: Contract, module: Any, content: PageContent) -> bool:
    """Whether the panel has something to show of `content`; what it shows keeps the contract."""
    view = contract.works("cannot view a page", partial(module.view, content))
    if view is None:
        return False
    contract.require(isinstance(view, PanelView), f"views a {type(view).__name__}, expected report.PanelView or None")
    contract.works("has data that JSON cannot say", partial(json.dumps, view.data, allow_nan=False))
    plots = contract.works(
        "has charts that cannot be drawn", lambda: {at: charts.plot(chart) for at, chart in view.charts.items()}
    )
    contract.works("has charts that JSON cannot say", partial(json.dumps, plots, allow_nan=False))
    known = {"sheet": content.sheet, "looks": content.looks}
    printed = contract.works(
        "has a template that fails", lambda: web.panel_markup(module, page_folder.__name__, **known, **view.content)
    )
    read = _Elements(str(printed))
    contract.require(not read.wrong, f"has a template whose elements are not closed in order: {read.wrong}")
    contract.require(read.outermost == {"section"}, f"has {sorted(read.outermost)} outermost, expected one <section>")
    contract.require("script" not in read.tags, "prints a name without escaping it, or a script of its own")
    missing = sorted(set(view.charts) - set(read.ids))
    contract.require(not missing, f"draws charts in {missing}, which are no ids of its template")
    return True


def _check_page(contract: Contract) -> None:
    """On a page with all other panels no id occurs twice."""
    page = contract.works("breaks the page", lambda: comparison_page([_table("gaussian", 0), _table("other", 1)]))
    twice = [name for name, times in Counter(_Elements(page).ids).items() if times > 1]
    contract.require(not twice, f"is on a page where the ids {twice} occur twice: begin ids with the panel's name")


class _Elements(HTMLParser):
    """The elements of a piece of HTML.

    Attributes:
        tags: the names of all elements. outermost: of those in no other. ids: in order.
        wrong: the first element that is not closed in its place; empty for none.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.outermost: set[str] = set()
        self.ids: list[str] = []
        self.wrong = ""
        self._open: list[str] = []
        self.feed(text)
        self.wrong = self.wrong or "".join(f"<{tag}>" for tag in self._open[:1])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if not self._open:
            self.outermost.add(tag)
        self.ids += [value or "" for key, value in attrs if key == "id"]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open[-1] != tag:
            self.wrong = self.wrong or f"</{tag}>"
        else:
            self._open.pop()
