"""Figures are files of the asked kind, which show every line; odd names stay text; methods at their best sigma."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.refusing import check_refusals, problem_of
from randsmooth import escape, metrics
from randsmooth.certificates import NO_LABEL, Certificates
from randsmooth.errors import MissingValue, Problem, UnknownName, WrongTable
from randsmooth.report import (
    Axes,
    Line,
    charts,
    draw,
    draw_envelopes,
    draw_p_a_curves,
    draw_radius_accuracy,
    envelope_axes,
    figures,
    group_by_method,
    plotly_charts,
)
from report import reading
from report.conftest import Make
from values import Refusal

BEGINS = {
    "png": b"\x89PNG",
    "pdf": b"%PDF",
    "svg": b"<?xml",
    "html": b"<!DOCTYPE html>",
}
TEXT = "right under attack, "
EVIL = '<script>alert(1)</script> $x_1$ "quoted" שלום'


def panels(name: str = "ours", count: int = 4) -> list[Axes]:
    x = np.linspace(0.1, 1.0, 20)
    lines = (
        Line(name, x, 100 - 90 * x, "step"),
        Line(name, x[::5], 100 - 85 * x[::5], "points", dashed=True),
        Line("another", x, 50 - 40 * x, labels=()),
        Line("named", x[:3], x[:3], "points", labels=("a", EVIL, "c")),
    )
    return [
        Axes(f"panel {i}", "radius", "accuracy (%)", lines, log=i == 1, log_x=i == 2)
        for i in range(count)
    ]


def test_every_format_is_written(make: Make, tmp_path: Path) -> None:
    tables = [make("gaussian"), make("b", seed=1)]
    for suffix, begin in BEGINS.items():
        path = tmp_path / f"figure.{suffix}"
        for count in (1, 2, 3, 7) if suffix in ("png", "html") else (2,):
            draw(panels(count=count), path)
            assert path.read_bytes().startswith(begin), (suffix, count)
        for curves in (
            (draw_radius_accuracy, draw_p_a_curves) if suffix != "html" else ()
        ):
            curves(tables, path)
            assert path.read_bytes().startswith(begin), suffix
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
        path.unlink()


def test_names_from_files_stay_text(make: Make, tmp_path: Path) -> None:
    draw(panels(EVIL), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<script>alert" not in page and not re.search(
        r'<(script|link)[^>]*(src|href)="http', page
    )
    drawn = [
        trace
        for panel in json.loads(reading.Read(page).scripts[0])
        for trace in panel["data"]
    ]
    assert {trace["name"] for trace in drawn} == {
        escape.plotly(EVIL),
        "another",
        "named",
        charts.CROSSES,
    }
    draw(panels(EVIL), tmp_path / "a.svg")  # a name is no formula either
    assert "$x_1$" in re.sub(r"<!--|-->", "", (tmp_path / "a.svg").read_text())
    for name in ("$\\frac{$", "_hidden", "a" * 300, "%&#"):
        draw_radius_accuracy([make(name)], tmp_path / "figure.svg")
        assert (
            name[:8].replace("&", "&amp;") in (tmp_path / "figure.svg").read_text()
        ), name


def test_the_legend_is_inside_the_figure() -> None:
    for count, letters, columns in ((1, 60, 1), (1, 24, 2), (3, 60, 2), (3, 10, 6)):
        # One above the other, so that no name fits beside its line.
        lines = [
            Line(f"{k} {10 * TEXT}"[:letters], np.zeros(2), np.zeros(2))
            for k in range(7)
        ]
        figure = figures._figure([Axes("", "", "", lines)] * count)
        figure.savefig(io.BytesIO(), format="png")
        (legend,) = figure.legends
        within = legend.get_window_extent()
        assert (
            0.0 <= within.x0 < within.x1 <= figure.bbox.x1 and legend._ncols == columns
        ), (count, letters)


def names_in(figure: Any) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_names_stand_beside_lines_where_they_fit() -> None:
    x = np.linspace(0.0, 1.0, 50)
    apart = [Line("a", x, 90 - 60 * x), Line("b", x, 60 - 60 * x)]
    figure = figures._figure([Axes("", "x", "y", apart)])
    (axes,) = figure.axes
    assert not figure.legends
    assert {text.get_text() for text in axes.texts} == {"a", "b"}
    boxes = [text.get_window_extent() for text in axes.texts]
    for handle in axes.get_lines():
        dots = handle.get_transform().transform(handle.get_xydata())
        assert not any(box.contains(*dot) for box in boxes for dot in dots)

    alike = [Line(name, x, 90 - 60 * x) for name in "abc"]
    figure = figures._figure([Axes("", "x", "y", alike)])
    assert not figure.axes[0].texts
    assert names_in(figure) == ["a", "b", "c"]


def test_a_legend_explains_crosses() -> None:
    x = np.linspace(0.0, 1.0, 9)
    lines = [
        Line("a", x, 90 - 60 * x),
        Line("a", x, 80 - 60 * x, "points", dashed=True),
    ]
    assert names_in(figures._figure([Axes("", "x", "y", lines)])) == [charts.CROSSES]
    drawn = plotly_charts.plot(Axes("", "x", "y", lines), looks_by_name_of(lines))
    shown = [trace["name"] for trace in drawn["data"] if trace["showlegend"]]
    assert shown == ["a", charts.CROSSES]


def looks_by_name_of(lines: Sequence[Line]) -> dict[str, charts.Look]:
    return charts.looks_by_name([Axes("", "", "", lines)])


def test_panels_that_are_compared_have_equal_axes() -> None:
    short = Line("a", np.array([0.0, 1.0]), np.array([90.0, 10.0]))
    long = Line("a", np.array([0.0, 4.0]), np.array([50.0, 0.0]))
    panels = [Axes("", "radius", "%", [short]), Axes("", "radius", "%", [long])]
    of_other = Axes("", "radius", "ACR", [short])
    first, second, third = figures._figure([*panels, of_other]).axes
    assert first.get_xlim() == second.get_xlim() == third.get_xlim()
    assert first.get_ylim() == second.get_ylim() != third.get_ylim()
    assert first.get_xlim()[1] > 4.0
    assert first.get_ylim()[1] > 90.0


def test_a_method_has_one_colour_and_lines_of_a_figure_differ_without_colours() -> None:
    names = ["gaussian", "macer", "mine", "cat-rs", "yours", "CAT-RS 2", "x", "y", "z"]
    looks = dict(zip(names, charts.looks(names), strict=True))
    turned = dict(zip(names[::-1], charts.looks(names[::-1]), strict=True))
    assert {n: look.colour for n, look in looks.items()} == {
        n: look.colour for n, look in turned.items()
    }
    assert looks["cat-rs"].colour == looks["CAT-RS 2"].colour
    patterns = [(look.dash, look.marker) for look in looks.values()]
    assert len(set(patterns)) == len(names)
    assert charts.looks(["macer"])[0].colour == looks["macer"].colour
    (alone,) = charts.looks(["mine"])
    assert charts.looks(["gaussian", "mine"])[1].colour == alone.colour


def test_settings_of_one_method_differ_in_colour() -> None:
    settings = charts.looks([f"macer, k={k}" for k in (1, 2, 4, 8)])
    assert len({look.colour for look in settings}) == 4


def test_p_a_near_1_is_spread_out(make: Make) -> None:
    panel = Axes(
        "", "p_A", "%", [Line("a", [0.5, 0.99, 0.999], [3, 2, 1])], probit_x=True
    )
    (axes,) = figures._figure([panel]).axes
    (line,) = axes.get_lines()
    at = line.get_xdata()
    assert at[2] - at[1] > 0.3 * (at[1] - at[0])
    ticks = [text.get_text() for text in axes.get_xticklabels()]
    assert {"0.5", "0.99"} <= set(ticks)
    (trace,) = plotly_charts.plot(panel)["data"]
    assert trace["customdata"] == [0.5, 0.99, 0.999]
    assert trace["x"] == pytest.approx(at, abs=1e-3)


def test_bad_input_is_named_and_writes_nothing(
    make: Make, log: Make, tmp_path: Path
) -> None:
    table = make()
    unlabelled = replace(table, label=np.full(len(table), NO_LABEL))
    check_refusals(
        [
            (lambda: draw([], tmp_path / "a.png"), Refusal(Problem)),
            (
                lambda: draw(panels(), tmp_path / "a.gif"),
                Refusal(UnknownName, "'gif'", field="figure format"),
            ),
            (
                lambda: draw_radius_accuracy([table], tmp_path / "a.jpg"),
                Refusal(UnknownName, "'jpg'", field="figure format"),
            ),
            (
                lambda: draw_radius_accuracy([unlabelled], tmp_path / "a.png"),
                Refusal(WrongTable),
            ),
            (
                lambda: draw_p_a_curves([log([1.0])], tmp_path / "a.png"),
                Refusal(WrongTable, "sigma, n, alpha"),
            ),
            (lambda: draw_p_a_curves([], tmp_path / "a.png"), Refusal(MissingValue)),
            (
                lambda: Line("a", np.zeros(1), np.zeros(1), "dots"),  # type: ignore[arg-type]
                Refusal(UnknownName, "'dots'", "points", field="kind of line"),
            ),
        ]
    )
    assert not list(tmp_path.iterdir())


@pytest.fixture
def tables(make: Make) -> list[Certificates]:
    of = {"cat-rs/macer": ("macer", 0.25, 1.0), "": ("gaussian", 0.5, 1.0)}
    facts = [
        (name, preset, sigma)
        for preset, (name, *sigmas) in of.items()
        for sigma in sigmas
    ]
    made = [
        make(
            f"{name}-{sigma}",
            seed=seed,
            a=1.0 / float(sigma),
            sigma=sigma,
            model={"method": name, "preset": preset},
        )
        for seed, (name, preset, sigma) in enumerate(facts)
    ]
    return [
        *made,
        make("alone", sigma=0.25, model={"method": "stability"}),
        make("nameless", sigma=0.5),
    ]


def test_who_has_several_sigma(tables: list[Certificates]) -> None:
    groups = group_by_method(tables)
    assert {name: [t.name for t in group] for name, group in groups.items()} == {
        "cat-rs/macer": ["macer-0.25", "macer-1.0"],
        "gaussian": ["gaussian-0.5", "gaussian-1.0"],
    }


def test_what_is_drawn_is_the_envelope_and_its_sigma(
    tables: list[Certificates], tmp_path: Path
) -> None:
    groups = group_by_method(tables)
    shares, sigmas = envelope_axes(groups)
    assert "no one classifier's" in shares.title
    for line, sigma, group in zip(
        shares.lines, sigmas.lines, groups.values(), strict=True
    ):
        found = metrics.envelope(group)
        ends = (
            []
            if max(map(metrics.farthest, group)) <= 1.005 * found.radii[-1]
            else [0.0]
        )
        assert np.asarray(line.y).tolist() == [
            *(100 * found.share),
            *ends,
        ]  # no fall where sigma certifies no farther
        held = found.best >= 0
        assert np.asarray(sigma.y).tolist() == [
            group[best].header.sigma for best in found.best[held]
        ]
        assert len(np.unique(np.asarray(sigma.y))) == 2
    draw_envelopes(groups, tmp_path / "sigmas.png")
    assert (tmp_path / "sigmas.png").stat().st_size > 5000
    Refusal(Problem).check(
        problem_of(lambda: draw_envelopes({}, tmp_path / "none.png"))
    )
