"""The site's own tools: what pages take from code and results, and what a built site may not have."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from chromium import chromium
from randsmooth import certificates, metrics, papers
from randsmooth.methods import METHODS
from randsmooth.training.presets import PRESETS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ASKED = re.compile(r"^```\{generated\} (.+)\n", re.MULTILINE)
MEASURED = re.compile(r"<!-- figures of (.+?) -->\n\n((?:\|.*\n)+)")
FRONTIER = re.compile(r"<!-- frontier -->\n\n(?:\|.*\n){2}((?:\|.*\n)+)")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")

Tool = Callable[[str], Any]


# --- pages without a build -------------------------------------------------------------------------------------------

DIRECTIVE = re.compile(
    r"^(?:```+|:::+)\{(?!toctree\b|code-cell\b|include\b)([\w-]+)\}", re.MULTILINE
)
LINK = re.compile(r"\]\(([^)#\s:]+)")


def test_what_the_build_makes_is_committed_as_it_is_made(tool: Tool) -> None:
    made = tool("plain").files()
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (DOCS / "_reference").iterdir()
    }
    assert {*made} == {*kept}
    differ = [name for name in made if made[name] != kept[name]]
    assert not differ, (
        f"{differ} in docs/_reference are older than the code: run `make reference`"
    )
    assert (
        "## randsmooth certify" in kept["command-line.md"]
        and "`--save-config FILE`" in kept["command-line.md"]
    )


def test_a_page_that_is_read_without_a_build_leads_to_what_the_build_puts_there(
    tool: Tool,
) -> None:
    """To a file of docs/_reference, to the code of a room, or to what it includes."""
    file_for = tool("plain").file_for
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        linked = {(page.parent / link).resolve() for link in LINK.findall(text)}
        for directive in {*DIRECTIVE.findall(text)}:
            expected = {
                "verb": DOCS / "_reference" / "command-line.md",
                "options": DOCS / "_reference" / "command-line.md",
                "generated": DOCS / "_reference" / file_for(page),
                "room": ROOT
                / "src"
                / "randsmooth"
                / page.stem.replace("index", "__init__.pyi"),
            }
            assert directive in expected, (
                f"{page.name}: who reads it without a build sees nothing of {directive}"
            )
            assert expected[directive].exists() and expected[directive] in linked, (
                page.name,
                directive,
            )
        for included in re.findall(r"^```\{include\} (\S+)", text, re.MULTILINE):
            assert (page.parent / included).resolve() in linked, page.name


# --- tables ---------------------------------------------------------------------------------------------------------


def test_every_table_that_a_page_asks_for_is_made(tool: Tool) -> None:
    made = tool("tables").made
    for page in sorted(DOCS.rglob("*.md")):
        for asked in ASKED.findall(page.read_text()):
            rows = [line for line in made(asked).splitlines() if line.startswith("| ")]
            assert len(rows) > 2, f"{page.name}: {asked}"


def test_a_page_of_a_method_tells_each_setting_and_each_preset(tool: Tool) -> None:
    tables = tool("tables")
    for method in (name for name in METHODS if METHODS.source(name) == "randsmooth"):
        told, listed = (
            tables.settings(method),
            tables.main_presets(method) + tables.ablations(method),
        )
        assert all(
            f"`{field.name}`" in told for field in dataclasses.fields(METHODS[method])
        ), method
        for preset in PRESETS:
            if preset.method == method:
                assert (
                    f"`{preset.name}`" if preset.main else f"`/{preset.variation}`"
                ) in listed, preset.name
        asked = ASKED.findall((DOCS / "methods" / f"{method}.md").read_text())
        assert {f"settings {method}", f"presets {method}"} <= {*asked}
        assert (f"ablations {method}" in asked) == bool(tables.ablations(method)), (
            method
        )


def figures(name: str) -> set[float]:
    """All values of results/bench/NAME.json, and the numbers in its notes."""
    found = json.loads((ROOT / "results" / "bench" / f"{name}.json").read_text())[
        "figures"
    ]
    told = {
        float(number.replace(",", ""))
        for each in found
        for number in NUMBER.findall(each["note"])
    }
    return told | {each["value"] for each in found}


def unmeasured(text: str) -> Iterator[str]:
    """The numbers of a page's marked tables that are no figure of the files, rounded as they are shown."""
    for names, rows in MEASURED.findall(text):
        known = set().union(*(figures(name) for name in names.split(", ")))
        for number in NUMBER.findall(
            re.sub(
                r"`[^`]*`|95% confidence|[A-Za-z][\w-]*\d+",
                "",
                rows.partition("---")[2],
            )
        ):
            digits, value = (
                len(number.partition(".")[2]),
                float(number.replace(",", "")),
            )
            if not any(abs(each - value) <= 0.501 * 10.0**-digits for each in known):
                yield number


def test_the_guides_show_what_was_measured() -> None:
    pages = {
        page.name: page.read_text()
        for page in DOCS.glob("*.md")
        if MEASURED.search(page.read_text())
    }
    assert {*pages} == {"which-rule.md", "how-long.md"}
    for name, text in pages.items():
        assert not [*unmeasured(text)], name
    assert [*unmeasured(pages["which-rule.md"].replace("77 times", "79 times"))] == [
        "79"
    ]


def frontier_name(row: dict[str, Any]) -> str:
    """What the page calls a row; a rule by its text and n."""
    if row["contestant"] in ("dense", "grid", "upto"):
        return str(row["setting"])
    between = ", " if row["contestant"] == "fixed" else ": "
    return f"{row['contestant']}{between}{row['setting']}"


def frontier_cells(row: dict[str, Any]) -> list[str]:
    """What the page prints of a row of results/frontier.json."""
    return [
        f"{row['samples']:,}",
        f"{100_100 / row['samples']:.0f}x",
        f"{100 * row['acr_share']:.1f}%",
        f"{row['points_lost_mean']:.2f}",
        f"{row['points_lost_worst_radius']:.2f}",
    ]


def test_the_frontier_on_the_page_is_the_measured_one() -> None:
    rows = json.loads((ROOT / "results" / "frontier.json").read_text())["rows"]
    measured = {frontier_name(row): row for row in rows}
    text = (DOCS / "which-rule.md").read_text()
    (table,) = FRONTIER.findall(text)
    for line in table.splitlines():
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        row = measured[name.replace("`", "")]
        assert cells == frontier_cells(row), name
    limit = measured["no rule exceeds, for ACR: budget 5000"]
    assert f"more than {100 * limit['acr_share']:.1f}%" in " ".join(text.split())


def test_every_level_of_the_frontier_is_kept_but_that_of_the_control() -> None:
    levels = json.loads((ROOT / "results" / "frontier.json").read_text())["levels"]
    assert all(row["as_expected"] for row in levels)
    (control,) = [row for row in levels if row["control"]]
    assert control["most_errors"] > 0.2
    assert all(row["most_errors"] <= 0.05 for row in levels if not row["control"])


def test_every_row_that_differs_from_a_paper_has_its_reason_on_the_page() -> None:
    cells = pd.read_csv(ROOT / "results" / "papers" / "cells.csv")
    part = (
        (DOCS / "papers.md")
        .read_text()
        .partition("## The cells that do not agree")[2]
        .partition("\n## ")[0]
    )
    lines = re.findall(
        r"^\| (.+?): (.+?) \| (\d+) of (\d+) \|.*\((\d+)\) \|$", part, re.MULTILINE
    )
    differ = cells[cells.explained == False]  # noqa: E712 of True, False and empty
    assert sum(int(count) for _, _, count, *_ in lines) == len(differ)
    for thing, method in (
        differ[["object", "method"]].drop_duplicates().itertuples(index=False)
    ):
        assert any(
            f"`{thing}`" in where and method in methods for where, methods, *_ in lines
        ), (thing, method)
    reasons = [int(number) for number in re.findall(r"^(\d+)\. ", part, re.MULTILINE)]
    assert (
        [int(number) for *_, number in lines]
        == reasons
        == [*range(1, len(reasons) + 1)]
    )


# --- figures about ACR ----------------------------------------------------------------------------------------------


def test_what_is_kept_of_the_logs_gives_the_published_figures(tool: Tool) -> None:
    acr, table2 = tool("acr"), papers.published("acr", "table2")
    radii = [0.25, 0.5, 1.0, 1.5]
    for name in (
        "macer",
        "consistency",
        "smoothmix",
        "catrs",
        "ours",
    ):  # the two others' logs are of other runs
        method = {"catrs": "cat-rs", "ours": "amplify"}.get(name, name)
        printed = (
            table2[(table2.sigma == 0.5) & (table2.method == method)]
            .set_index("metric")
            .value
        )
        assert abs(acr.acr_of(name) - printed["acr"]) <= 0.0005, name
        shares = [printed[f"accuracy@{r:g}"] for r in radii]
        assert np.allclose(100 * acr.shares_at(name, radii), shares, atol=0.05), name
    measured = json.loads((ROOT / "results" / "acr-moves.json").read_text())[
        "ACR of all images"
    ]
    assert measured == {
        name: pytest.approx(acr.acr_of(name), abs=2e-6) for name in acr.NAMES
    }


def test_the_pages_about_acr_say_what_was_measured(tool: Tool) -> None:
    acr, told = (
        tool("acr"),
        json.loads((ROOT / "results" / "acr-moves.json").read_text()),
    )
    why, mine = ((DOCS / name).read_text() for name in ("why-not-acr.md", "my-acr.md"))
    for name, words in acr.NAMES.items():
        p_a, changed = (
            acr.p_a_of(acr.radii_of(name)),
            acr.pairs()[acr.pairs().method == name],
        )
        shares = [
            f"{100 * (p_a[acr.radii_of(name) > 0] >= x).sum() / len(p_a):.1f}%"
            for x in (0.5, 0.75, 0.9, 0.99)
        ]
        moved = (
            ["–", "–"]
            if changed.empty
            else [f"{changed.lost.sum():,}", f"{changed.won.sum():,}"]
        )
        cells = [words, f"{acr.acr_of(name):.3f}".removeprefix("0"), *shares, *moved]
        assert f"| {' | '.join(cells)} |" in why, words
    for row, what in (
        ("n = 1,000", "n = 1,000"),
        ("n = 100", "n = 100"),
        ("n = 10,000", "n = 10,000"),
    ):
        moves = [
            100 * told["moved"][what][name] / whole
            for name, whole in told["ACR of all images"].items()
        ]
        assert (
            f"| {row} | {min(moves):+.0f}% to {max(moves):+.0f}% |".replace("-", "−")
            in mine
        ), row
    assert set(re.findall(r'data-figure="([\w-]+)"', why)) == {*acr.FIGURES}
    assert set(re.findall(r"\(images/(acr-[\w-]+)\.png\)", why)) == {*acr.FIGURES}


def test_giving_up_moves_right_answers_and_makes_none(tool: Tool) -> None:
    acr = tool("acr")
    outcome = acr.give_up(np.array([0.55, 0.6, 0.9, 0.98, 0.999]), below=0.57)
    assert outcome.given_up == 1
    assert np.isclose(
        sorted(outcome.p_a), [0.1, 0.6, 1.0, 1.0, 1.0]
    ).all()  # what finds no room among those certified at the stated radius is lost
    figure = acr.giving_up()
    assert len(figure.states) > 40
    assert {len(state.data) for state in figure.states} == {2}
    before = acr.p_a_of(acr.radii_of("gaussian")[-6875:])
    outcomes = [acr.give_up(before, below) for below in (0.5, 0.55, 0.6)]
    assert outcomes[0].acr() < outcomes[1].acr() < outcomes[2].acr()
    assert outcomes[0].accuracy() > outcomes[1].accuracy() > outcomes[2].accuracy()
    for below in np.arange(0.5, 0.96, 0.02):
        after = acr.give_up(before, below)
        assert after.p_a.sum() <= before.sum() + 1e-6
        assert after.accuracy(acr.STATED) <= outcomes[0].accuracy(acr.STATED)
    # Where the slider starts, accuracy falls at the stated radius too, and ACR rises.
    first = acr.give_up(before, float(figure.states[figure.start].label))
    assert first.accuracy(acr.STATED) < outcomes[0].accuracy(acr.STATED) - 0.05
    assert first.acr() > outcomes[0].acr() + 0.1


FIGURE = """<!DOCTYPE html><meta charset="utf-8">
<div class="rs-figure" data-figure="{name}"><p><img alt="what it shows" src="data:,"></p></div>
<script>
// A chart itself is plotly.js's matter.
window.Plotly = {{ react() {{}}, Plots: {{ resize() {{}} }} }};
window.randsmoothFigures = {data};
</script>
<script>{script}</script>"""
HEARD = """JSON.stringify([
  document.querySelector("[role=img]").getAttribute("aria-label"),
  document.querySelector("[aria-live=polite]").textContent,
  document.querySelector("input[type=range]").getAttribute("aria-valuetext"),
])"""


@pytest.mark.slow
def test_a_figure_says_what_it_shows_and_what_its_slider_changes(
    tool: Tool, tmp_path: Path
) -> None:
    name = "acr-giving-up"
    figure = tool("acr").FIGURES[name]()
    page = FIGURE.format(
        name=name,
        data=json.dumps({name: dataclasses.asdict(figure)}),
        script=(DOCS / "_static" / "figures.js").read_text(),
    )
    (tmp_path / "page.html").write_text(page)
    with chromium() as tab:
        tab.go((tmp_path / "page.html").as_uri())
        for place in (figure.start, 0):
            tab.run(
                "{ const slider = document.querySelector('input');"
                f" slider.value = {place}; slider.dispatchEvent(new Event('input')); }}"
            )
            state = figure.states[place]
            heard = json.loads(tab.run(HEARD))
            assert heard == ["what it shows", state.text, state.label]
        assert [error for error in tab.errors() if "data:" not in error] == []


@pytest.mark.slow
def test_what_is_kept_is_of_the_logs(tmp_path: Path, tool: Tool, logs: Path) -> None:
    acr, those = tool("acr"), logs / "cifar10-sigma0.5"
    acr.keep(those, tmp_path)
    for name in ("acr-radii.csv", "acr-pairs.csv"):
        pd.testing.assert_frame_equal(
            pd.read_csv(tmp_path / name), pd.read_csv(DOCS / "_data" / name)
        )
    ours, gaussian = (
        certificates.read(those / f"{name}.tsv") for name in ("ours", "gaussian")
    )
    changed, kept = (
        metrics.given_up(ours, gaussian),
        acr.pairs()[lambda table: table.method == "ours"],
    )
    assert (kept.lost.sum(), kept.won.sum()) == (len(changed.lost), len(changed.won))


# --- a built site ---------------------------------------------------------------------------------------------------

PAGE = '<link rel="stylesheet" href="a.css"><h1 id="top">A</h1><a href="#top">up</a> <a href="https://a.org">out</a>'
NOWHERE = ("nowhere.html", "index.html#nowhere", "#nowhere", "missing.png")
FETCHED = (
    '<script src="https://cdn.example.org/x.js"></script>',
    '<link rel="preconnect stylesheet" href="//fonts.example.org/x.css">',
    '<img src="https://example.org/x.png">',
    "<style>@import 'https://example.org/x.css';</style>",
    '<p style="background: url(https://example.org/x.png)">',
)


def test_links_that_lead_nowhere_and_what_is_fetched_from_elsewhere_are_found(
    tmp_path: Path, tool: Tool
) -> None:
    site = tool("site_checks")
    (tmp_path / "a.css").write_text("p { background: url(a.css) }")
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.html").write_text(
        '<a href="../index.html#top">back</a><a href="../a.css">style</a>'
    )
    assert [*site.broken(tmp_path), *site.foreign(tmp_path)] == []
    for target in NOWHERE:
        (tmp_path / "c.html").write_text(f'<a href="{target}">x</a>')
        site.read.cache_clear()
        assert [*site.broken(tmp_path)] == [f"c.html: {target} leads nowhere"]
    for markup in FETCHED:
        (tmp_path / "c.html").write_text(markup)
        site.read.cache_clear()
        assert len([*site.foreign(tmp_path)]) == 1, markup


def test_the_reference_tells_every_public_name_once_on_the_page_of_its_room(
    tool: Tool,
) -> None:
    rooms, folder = tool("reference").ROOMS, DOCS / "api"
    assert {*rooms} == {path.stem for path in folder.glob("*.md")} - {"index"}
    for room, names in rooms.items():
        told = re.findall(
            rf"^```\{{room\}} {room}\n(.*?)^```$",
            (folder / f"{room}.md").read_text(),
            re.MULTILINE | re.DOTALL,
        )
        assert sorted(" ".join(told).split()) == sorted(names), f"docs/api/{room}.md"
    listed = re.search(
        r"```\{toctree\}.*?\n\n(.*?)```", (folder / "index.md").read_text(), re.DOTALL
    )
    assert listed is not None and {*listed[1].split()} == {*rooms}
