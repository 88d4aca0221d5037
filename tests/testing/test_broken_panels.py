"""Panels that break the contract are refused, in words that say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from randsmooth import testing
from randsmooth.report import PageContent, PanelView
from randsmooth.report.page.panels import budget_curve

FINE = "<section><h2>Names</h2>{% for table in sheet.tables %}<p>{{ table.name }}<br></p>{% endfor %}</section>"


@pytest.fixture
def panel(tmp_path: Path) -> Callable[..., ModuleType]:
    """A module with this view, template and docstring."""

    def make(view: Any, template: str | None = FINE, doc: str = "A panel.") -> ModuleType:
        module = ModuleType("made", doc)
        module.__file__ = str(tmp_path / "made.py")
        if view is not None:
            module.view = view  # type: ignore[attr-defined]
        if template is not None:
            (tmp_path / "made.html.j2").write_text(template)
        return module

    return make


def names(content: PageContent) -> PanelView:
    return PanelView()


def test_a_panel_that_keeps_the_contract(panel: Callable[..., ModuleType]) -> None:
    testing.check_panel(panel(names))


def charts(content: PageContent) -> PanelView:
    return PanelView(charts={"nowhere": content.radius_chart})


BROKEN = [
    ({"view": None}, r"has no function view\(content\)"),
    ({"view": names, "doc": ""}, "has no docstring"),
    ({"view": names, "template": None}, "has no template at .*made.html.j2: is it packaged"),
    ({"view": lambda content: content.missing}, "cannot view a page: AttributeError"),
    ({"view": lambda content: {}}, "views a dict, expected report.PanelView or None"),
    ({"view": lambda content: None}, "shows nothing of any table"),
    ({"view": lambda content: PanelView(data=np.zeros(2))}, "has data that JSON cannot say"),
    ({"view": lambda content: PanelView(data=float("nan"))}, "has data that JSON cannot say"),
    ({"view": charts}, r"draws charts in \['nowhere'\], which are no ids"),
    ({"view": names, "template": "<section>{{ shares }}</section>"}, "has a template that fails: UndefinedError"),
    ({"view": names, "template": "<section><p></section>"}, "not closed in order: </section>"),
    ({"view": names, "template": "<section><h2>"}, "not closed in order: <section>"),
    ({"view": names, "template": "<p></p>"}, r"has \['p'\] outermost, expected one <section>"),
    (
        {"view": names, "template": "<section>{{ sheet.tables[1:] | map(attribute='name') | join | safe }}</section>"},
        "without escaping it, or a script",
    ),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_panels(broken: dict[str, Any], message: str, panel: Callable[..., ModuleType]) -> None:
    with pytest.raises(AssertionError, match=f"panel 'made' {message}|panel 'made' .*{message}"):
        testing.check_panel(panel(**broken))


def test_an_id_that_another_panel_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from randsmooth.report import PANELS

    monkeypatch.setitem(PANELS._added, "copied", budget_curve)
    with pytest.raises(AssertionError, match=r"panel 'copied' is on a page where the ids \['budget'\] occur twice"):
        testing.check_panel("copied")
