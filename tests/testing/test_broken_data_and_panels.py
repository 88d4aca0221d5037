"""Data sets and panels that break their contracts are refused, in words that say what is wrong."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from models.refusing import each_told, told
from randsmooth import testing
from randsmooth.data import DATASETS, DatasetSpec
from randsmooth.report import PANELS, PanelView
from randsmooth.report.page.panels import budget_curve

PIXELS = np.random.default_rng(0).integers(0, 256, (8, 1, 8, 8), dtype=np.uint8)
LABELS = np.arange(8) % 2
FACTS: dict[str, Any] = {
    "name": "stripes",
    "classes": ("a", "b"),
    "sizes": {"train": 8, "test": 8},
}
STRIPES = replace(DATASETS["digits"], **FACTS, read=lambda split: (PIXELS, LABELS))


def reads(pixels: Any, labels: Any = LABELS) -> DatasetSpec:
    return replace(STRIPES, read=lambda split: (pixels, labels))


def but(**facts: Any) -> DatasetSpec:
    return replace(STRIPES, **facts)


DATA: list[tuple[Any, str]] = [
    ({}, "is a dict, expected data.DatasetSpec"),
    *(
        (but(shape=shape), f"has the shape {shape}")
        for shape in ((1, 8, 9), (8, 8), (2, 8, 8))
    ),
    *(
        (but(classes=names), "at least two classes, all different")
        for names in (("a", "a"), ("a",))
    ),
    (but(description="two\nlines"), "description of one line"),
    (but(augment="blur"), "has augment='blur'"),
    (but(sizes={"train": 8}), "has sizes of ['train']"),
    (but(sizes={"train": 8, "test": 0}), "expected how many images"),
    (but(mean=(0.5,)), "give both"),
    (but(mean=(0.5, 0.5), std=(0.5, 0.5)), "expected 1 numbers"),
    (but(arch="vgg16"), "fails when it is tried|'vgg16'"),
    *(
        (reads(pixels), "reads train pixels that are no uint8 (8, 1, 8, 8)")
        for pixels in (PIXELS / 255, PIXELS[:4])
    ),
    *(
        (reads(PIXELS, labels), "reads train labels that are no int64 (8,)")
        for labels in (LABELS[:4], LABELS / 1)
    ),
    (
        reads(PIXELS, np.zeros(8, np.int64)),
        "has train labels [0], expected each of 0 to 1",
    ),
    (
        but(
            read=lambda split: (
                np.random.default_rng().integers(0, 256, PIXELS.shape, np.uint8),
                LABELS,
            )
        ),
        "second time",
    ),
]


def test_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    testing.check_dataset(STRIPES)
    each_told(testing.check_dataset, DATA)
    monkeypatch.setitem(DATASETS._added, "zebras", STRIPES)
    assert "data set 'zebras' calls itself 'stripes'" in told(
        testing.check_dataset, "zebras"
    )


FINE = "<section><h2>Names</h2>{% for table in sheet.tables %}<p>{{ table.name }}<br></p>{% endfor %}</section>"
UNESCAPED = (
    "<section>{{ sheet.tables[1:] | map(attribute='name') | join | safe }}</section>"
)


def views(**parts: Any) -> dict[str, Any]:
    return {"view": lambda content: PanelView(**parts)}


PANEL: list[tuple[dict[str, Any], str]] = [
    ({}, "fails when it is tried (AttributeError|'view'"),
    ({**views(), "doc": ""}, "has no docstring"),
    (
        {**views(), "template": None},
        "panel made lacks its template|made.html.j2: is it in the package's data?",
    ),
    (
        {"view": lambda content: content.missing},
        "fails when it is tried (AttributeError",
    ),
    ({"view": lambda content: {}}, "views a dict, expected report.PanelView or None"),
    ({"view": lambda content: None}, "shows nothing of any table"),
    (views(data=float("nan")), "fails when it is tried|JSON"),
    (
        {"view": lambda content: PanelView(charts={"nowhere": content.radius_chart})},
        "['nowhere'], which are no ids",
    ),
    (
        {**views(), "template": "<section>{{ shares }}</section>"},
        "fails when it is tried (UndefinedError",
    ),
    ({**views(), "template": "<p></p>"}, "is not one <section>"),
    ({**views(), "template": UNESCAPED}, "without escaping it, or a script"),
]


def panel(
    folder: Path,
    *,
    view: Any = None,
    template: str | None = FINE,
    doc: str = "A panel.",
) -> ModuleType:
    """A module with this view, template and docstring."""
    module = ModuleType("made", doc)
    module.__file__ = str(folder / "made.py")
    if view is not None:
        module.view = view  # type: ignore[attr-defined]
    (folder / "made.html.j2").unlink(missing_ok=True)
    if template is not None:
        (folder / "made.html.j2").write_text(template)
    return module


def test_panels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    testing.check_panel(panel(tmp_path, **views()))
    for parts, words in PANEL:
        each_told(testing.check_panel, [(panel(tmp_path, **parts), words)])
    monkeypatch.setitem(PANELS._added, "copied", budget_curve)
    assert "panel 'copied' is on a page where the ids ['budget'] occur twice" in told(
        testing.check_panel, "copied"
    )
