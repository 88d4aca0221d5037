"""Figures of several panels: every format is written, and names stay text."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from randsmooth import escape
from randsmooth.errors import InputError
from randsmooth.report import Axes, Line, draw
from randsmooth.report.figures.charts import Chart, Look, Scale, Series, plot
from randsmooth.report.figures.multi_panel import looks_by_name
from report import reading

EVIL = '<script>alert(1)</script> $x_1$ "quoted" שלום'


def panels(name: str = "ours", count: int = 4) -> list[Axes]:
    x = np.linspace(0.1, 1.0, 20)
    lines = (
        Line(name, x, 100 - 90 * x, "step"),
        Line(name, x[::5], 100 - 85 * x[::5], "points", dashed=True),
        Line("another", x, 50 - 40 * x, labels=()),
        Line("named", x[:3], x[:3], "points", labels=("a", EVIL, "c")),
    )
    return [Axes(f"panel {i}", "radius", "accuracy (%)", lines, log=i == 1, log_x=i == 2) for i in range(count)]


@pytest.mark.parametrize(
    ("suffix", "count"), [*itertools.product(("png", "html"), (1, 2, 3, 7)), ("pdf", 3), ("svg", 2)]
)
def test_every_format_is_written(suffix: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / f"figure.{suffix}"
    draw(panels(count=count), path)
    begins = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}
    assert path.read_bytes().startswith(begins[suffix])


def test_a_picture_shows_every_line(tmp_path: Path) -> None:
    draw(panels(count=1), tmp_path / "a.png")
    pixels = np.asarray(Image.open(tmp_path / "a.png").convert("RGB")) @ [1 << 16, 1 << 8, 1]
    for look in looks_by_name(panels()).values():
        assert (pixels == int(look.colour[1:], 16)).any()


def test_names_from_files_stay_text(tmp_path: Path) -> None:
    draw(panels(EVIL), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<script>alert" not in page
    drawn = json.loads(reading.Read(page).scripts[0])["data"]
    assert {trace["name"] for trace in drawn} == {escape.plotly(EVIL), "another", "named"}
    draw(panels(EVIL), tmp_path / "a.svg")  # a name is no formula either
    assert "$x_1$" in re.sub(r"<!--|-->", "", (tmp_path / "a.svg").read_text())


def test_the_page_works_offline(tmp_path: Path) -> None:
    draw(panels(), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert not re.search(r'<(script|link)[^>]*(src|href)="http', page)


def test_lines_of_a_name_look_alike_and_lines_stand_for_points_in_the_legend() -> None:
    looks = looks_by_name(panels())
    assert list(looks) == ["ours", "another", "named"]
    assert len({*looks.values()}) == 3
    many = [Axes("p", "x", "y", tuple(Line(str(i), np.arange(3.0), np.arange(3.0)) for i in range(30)))]
    assert len({*looks_by_name(many).values()}) == 28  # seven colours by four dashes, then again


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        draw([], tmp_path / "a.png")
    with pytest.raises(InputError, match="unknown figure format 'gif'"):
        draw(panels(), tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"unknown kind of line 'dots'.*one of: line, points, step"):
        Line("a", np.zeros(1), np.zeros(1), "dots")  # type: ignore[arg-type]
    odd = Series(0, "a", Look("#000000", "solid"), [0.0], [0.0], kind="dots")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown kind of series 'dots'"):
        plot(Chart(Scale("x"), Scale("y"), [odd]))
