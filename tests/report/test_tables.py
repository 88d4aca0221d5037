"""The table of a comparison in each of its formats."""

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest

from fresh import commands
from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.notes import Note
from randsmooth.report import FORMATS, render
from randsmooth.report.headings import EVIDENCE_HEADING
from randsmooth.report.sheet import build_sheet
from report.conftest import Make


@pytest.mark.parametrize("columns", [60, 80])
def test_the_text_fits_a_terminal_and_shows_every_interval(
    columns: int, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    table = make("gaussian", images=9_999)
    radii = [0.125 * i for i in range(8)]
    text = render([table, make("amplify")], radii=radii)
    assert max(map(len, text.splitlines())) <= columns

    _, evidence = text.split(f"{EVIDENCE_HEADING}:\n")
    words = evidence.split()
    summary = metrics.summarise(table, radii)
    assert summary.abstention is not None and summary.acr is not None
    assert f"{summary.acr.value:.3f}" in words
    assert f"{summary.acr.low:.3f}-{summary.acr.high:.3f}" in words
    for share in (*summary.accuracy.values(), summary.abstention):
        assert share is not None
        assert f"{100 * share.value:.1f}" in words
        assert f"{100 * share.low:.1f}-{100 * share.high:.1f}" in words
    for radius in radii:
        assert f"{radius:g}" in words


def test_usual_radii_that_do_not_fit_are_left_out_and_named_ones_are_not(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    tables = [make("gaussian"), make("other", seed=1)]
    sheet = build_sheet(tables)
    left_out = str(Note("radii_left_out"))
    assert len(sheet.radii) > 3
    assert left_out in " ".join(render(tables).split())
    assert left_out not in " ".join(render(tables, radii=sheet.radii).split())


def test_csv_is_one_row_a_table_at_full_precision(make: Make) -> None:
    table = make('quoted, "name"')
    rows = list(
        csv.DictReader(io.StringIO(render([table], radii=[0, 0.5], format="csv")))
    )
    assert (
        len(rows) == 1
        and rows[0]["name"] == 'quoted, "name"'
        and rows[0]["images"] == "150"
    )
    known = {"acr": metrics.acr(table), "abstention": metrics.abstention(table)}
    for column, estimate in (
        known | {"accuracy@0.5": metrics.certified_accuracy(table, 0.5)}
    ).items():
        ends = [float(rows[0][column + end]) for end in ("", "_low", "_high")]
        assert ends == [estimate.value, estimate.low, estimate.high]


def test_json_carries_the_evidence_and_the_facts(make: Make) -> None:
    tables = [
        make("gaussian"),
        make("other", seed=1, model={"method": "macer", "sha256": "ab" * 32}),
    ]
    content = json.loads(render(tables, radii=[0, 0.1 + 0.2], format="json"))
    assert content["baseline"] == "gaussian" and content["level"] == 0.95
    assert content["radii"] == [0, 0.1 + 0.2]
    second = content["tables"][1]
    estimate = metrics.certified_accuracy(tables[1], 0.1 + 0.2)
    assert second["certified_accuracy"][1] == {
        "radius": 0.1 + 0.2,
        **dataclasses.asdict(estimate),
    }
    assert second["header"]["sigma"] == 0.5
    assert second["header"]["model"]["sha256"] == "ab" * 32


def test_marks_are_what_was_shown_against_the_baseline(log: Make) -> None:
    """As on the page: a figure that is only printed as larger or smaller has none."""
    first, alike = (
        log([1.2] + [0.6] * 59, "gaussian"),
        log([1.2] + [0.6] * 58 + [0.5], "y"),
    )
    better = log([1.2] * 20 + [-1.0] * 40, "x")
    lines = render([first, better, alike], radii=[0, 1.0], format="latex").splitlines()
    rows = {line.split(" &")[0]: line for line in lines if line.endswith(r"\\")}
    assert r"& \textit{33.3} & \textbf{33.3} &" in rows["x"]
    assert not any(
        mark in rows[name]
        for name in ("gaussian$^*$", "y")
        for mark in ("textbf", "textit")
    )
    text = render([first, better], radii=[0, 1.0], format="md")
    assert (
        "| *33.3* | **33.3** |" in text
        and "Bold: shown to be above gaussian, italic: shown to be below" in text
    )
    (caption,) = (line for line in lines if line.startswith(r"\caption"))
    assert "above gaussian" in caption
    assert r"\textit" in caption


def test_without_a_baseline_nothing_is_marked_and_the_way_to_name_one_is_said(
    log: Make,
) -> None:
    tables = [log([0.6] * 60, "a"), log([1.2] * 60, "b"), log([0.3] * 60, "c")]
    for form in ("text", "md"):
        said = render(tables, radii=[0, 1.0], format=form)
        assert "(baseline)" in said and "**" not in said, form
        assert ("(baseline)" in render(tables[:1], format=form)) is False, form
    typeset = render(tables, radii=[0, 1.0], format="latex")
    assert not any(mark in typeset for mark in ("textbf", "textit"))
    assert "Certified accuracy against a:" in render(tables[:2])


def test_what_all_tables_share_is_said_with_the_unit_of_acr(make: Make) -> None:
    alike, other = [make("a"), make("b", seed=1)], make("c", n=1000, sigma=0.25)
    rows: list[tuple[list[Certificates], str]] = [
        (alike[:1], "sigma 0.5, n 500, alpha 0.001."),
        (alike, "sigma 0.5, n 500, alpha 0.001."),
        (
            [alike[0], other],
            "noise as beside each name, n as beside each name, alpha 0.001.",
        ),
    ]
    for tables, words in rows:
        said = render(tables, format="md").replace("\\[", "[").replace("\\]", "]")
        assert "ACR is the mean L2 radius (pixels in [0, 1])" in said
        assert words in said
        assert words in render(tables, format="latex")


def test_p_a_shares_are_told_where_they_are_known(make: Make, log: Make) -> None:
    tables = [make("counted"), log([1.0, 0.2], "logged")]
    counted, logged = json.loads(render(tables, format="json"))["tables"]
    share = metrics.p_a(tables[0]).share(0.75)
    assert counted["p_A"][1] == {"at_least": 0.75, **dataclasses.asdict(share)}
    assert logged["p_A"] == []
    text = render(tables).split("p_A>=0.5")[1]
    assert (
        f"{100 * share.value:.1f}" in text
        and "counted" in text
        and "logged – – – –" in " ".join(text.split())
    )
    # No empty line stands for the intervals of figures that are not known.
    assert "–\np_A of logged is not known" in text and "sigma, n, alpha" in text
    for form, first in (("md", "p_A ≥ 0.5 |"), ("latex", r"$p_A \geq 0.9$ &")):
        head = next(
            line
            for line in render(tables, format=form).splitlines()
            if "ACR" in line and first in line
        )
        assert head.index(first) < head.index("ACR"), form
    rows = list(csv.DictReader(io.StringIO(render(tables, format="csv"))))
    assert float(rows[0]["p_A@0.75"]) == share.value
    assert rows[1]["p_A@0.75"] == ""


def test_evaluating_a_log_loads_nothing_that_pages_and_figures_need(
    tmp_path: Path,
) -> None:
    (tmp_path / "gaussian.tsv").write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.742\t1\t0:00:03\n"
    )
    lines = [["evaluate", "gaussian.tsv", "--format", form] for form in FORMATS]
    for ended in commands(
        lines, tmp_path, watched={"jinja2", "matplotlib", "plotly", "PIL", "torch"}
    ):
        assert (ended.code, ended.loaded) == (0, []), ended.said


def test_a_radius_beyond_the_budget_is_a_dash_in_print_and_0_in_csv_and_json(
    make: Make,
) -> None:
    """Of sigma 0.25 with 500 samples r = 1 is out of reach: 0.0 with an interval would be called measured."""
    tables = [make("near", sigma=0.25, a=30.0), make("far", sigma=1.0, a=30.0)]
    for form, dash in {"text": "–", "md": "–", "latex": "--"}.items():
        text = render(tables, radii=[0, 1.0], format=form).split("Evidence")[-1]
        near = next(
            line for line in text.splitlines() if line.lstrip("| ").startswith("near")
        )
        far = next(
            line for line in text.splitlines() if line.lstrip("| ").startswith("far")
        )
        assert re.split(r"[ &|\\]+", near).count(dash) == 1 and dash not in re.split(
            r"[ &|\\]+", far
        ), form
        assert ("A dash at a radius" in text) == (form == "text")
    missed = [
        tables[0],
        make("far", sigma=1.0, a=1.0, b=30.0),
    ]  # which might have reached the radius: 0 is measured
    near, far = json.loads(render(missed, radii=[0, 1.5], format="json"))["tables"]
    assert (
        near["certified_accuracy"][1]["value"]
        == 0.0
        == far["certified_accuracy"][1]["value"]
    )
    rows = csv.DictReader(io.StringIO(render(missed, radii=[0, 1.5], format="csv")))
    assert [float(row["accuracy@1.5"]) for row in rows] == [0.0, 0.0]
    lines = render(missed, radii=[0, 1.5]).splitlines()
    start = next(
        i for i, line in enumerate(lines) if line.split()[:2] == ["name", "images"]
    )
    assert [row.split()[-2] for row in lines[start + 1 : start + 4 : 2]] == ["–", "0.0"]


def test_a_table_without_radii_has_its_other_figures_in_every_format(
    make: Make,
) -> None:
    for form in FORMATS:
        assert render([make("gaussian")], radii=[], format=form), form
