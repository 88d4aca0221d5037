"""Every nasty string through every output: it stays text, and it is shown."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nasty import NASTY, STRINGS, table
from randsmooth import escape
from randsmooth.certificates import Certificates
from randsmooth.notes import Note
from randsmooth.report import (
    Axes,
    Line,
    comparison_page,
    draw,
    draw_radius_accuracy,
    leaderboard_page,
    measure,
)
from randsmooth.report import formats as tables
from randsmooth.report.leaderboard import to_json
from randsmooth.report.ranking import by_setting
from randsmooth.report.sheet import build_sheet
from report.reading import Read

PAGES = ("page", "compared", "leaderboard")


def shown(text: str, longest: int = escape.LONGEST) -> str:
    """`text` as a reader sees it, spaces run together as pages and TeX do."""
    return " ".join(escape.shortened(escape.printable(text), longest).split())


@pytest.fixture(scope="module")
def evil() -> list[Certificates]:
    """A table called by each string; the first says every string in every field that takes a text."""
    fields = (
        "dataset",
        "split",
        "selection",
        "drawn_by",
        "data",
        "backend",
        "precision",
        "device",
        "instructions",
    )
    facts: dict[str, Any] = dict.fromkeys(
        (*fields, "guarantee"), NASTY["end of script"]
    )
    facts |= {
        "classes": tuple(STRINGS),
        "notes": tuple(Note("of_the_rule", text=text) for text in STRINGS),
        "versions": {text: text for text in STRINGS},
    }
    facts["model"] = {f"{text}.": {text: [text]} for text in STRINGS}
    return [
        table(text, seed, **(facts if seed == 0 else {}))
        for seed, text in enumerate(STRINGS)
    ]


@pytest.fixture(scope="module")
def written(evil: list[Certificates]) -> dict[str, str]:
    """Every table in each of its formats, and the three pages."""
    sheet = build_sheet(evil, [0.0, 0.5])
    made = {form: render(sheet) for form, render in tables.FORMATS.items()}
    some = [table("gaussian", 99), *evil[:3]]
    made["page"] = comparison_page(
        evil[:1] + evil[25:50:6],
        radii=[0.0],
        title=NASTY["script"],
        command=NASTY["image"],
    )
    made["compared"] = comparison_page(
        some, radii=[0.0], title=NASTY["half a letter"], command=NASTY["nul"]
    )
    entries = [measure(one, f"{one.name}/{one.name}.tsv") for one in evil]
    made["leaderboard"] = leaderboard_page(
        entries, title=NASTY["script"], command=NASTY["image"]
    )
    made["records"] = to_json(*by_setting(entries))
    return made


@pytest.fixture(scope="module")
def pages(written: dict[str, str]) -> dict[str, Read]:
    return {name: Read(written[name]) for name in PAGES}


def test_nothing_written_acts_on_a_terminal_or_cannot_be_written(
    written: dict[str, str],
) -> None:
    for form, text in written.items():
        own = (
            text
            if form not in ("page", "compared")
            else re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
        )
        ours = (
            own.replace("ACR\u00a0*", "").replace("\u200e", "")
            if form in PAGES
            else own
        )
        assert all(line.isprintable() for line in ours.split("\n")), form
        assert text.encode()


def test_a_page_has_no_element_or_attribute_of_a_strangers(
    pages: dict[str, Read],
) -> None:
    for name, read in pages.items():
        strangers = {
            "img",
            "iframe",
            "base",
            "link",
            "object",
            "embed",
            "form",
            "i",
            "a ",
        }
        assert not {tag for tag, _ in read.tags} & strangers, name
        assert not [
            key
            for _, attributes in read.tags
            for key in attributes
            if key.startswith("on")
        ]
        hrefs = {attributes["href"] for tag, attributes in read.tags if tag == "a"}
        ids = {
            f"#{attributes['id']}" for _, attributes in read.tags if "id" in attributes
        }
        assert hrefs <= ids and all(str(href).startswith("#panel-") for href in hrefs)
        assert not [
            tag
            for tag, attributes in read.tags
            if {"src", "srcdoc", "autofocus"} & set(attributes)
        ]
        data, *own = read.scripts
        assert len(own) == (4 if name == "leaderboard" else 2)
        assert not any("window.pwned" in script for script in own)
        assert (
            "</" not in data + "".join(own)
            if name == "leaderboard"
            else "<" not in data and "</" not in own[-1]
        )


def test_every_string_is_shown(pages: dict[str, Read], written: dict[str, str]) -> None:
    for text in STRINGS:
        assert shown(text) in pages["page"].text  # as a class
        assert shown(text) in pages["leaderboard"].text
        assert shown(text) in " ".join(written["text"].split())


def test_a_policy_lets_nothing_run_but_the_pages_own_scripts() -> None:
    """The hashes are of the scripts as they are in the package, so that what a name smuggled in would not run."""
    from randsmooth.report import web

    script = web.asset("randsmooth.report.web", "figure.js")
    for text in STRINGS:
        figure = {"data": [text], "layout": {}}
        evil = Read(
            web.page(
                "randsmooth.report.web",
                "figure.html.j2",
                scripts=[script],
                title=text,
                figure=figure,
            )
        )
        policies = [
            a["content"] for tag, a in evil.tags if tag == "meta" and "http-equiv" in a
        ]
        assert policies == [web.policy([str(script)])] and json.loads(evil.scripts[0])[
            "data"
        ] == [text]


def test_no_name_adds_a_line(evil: list[Certificates], written: dict[str, str]) -> None:
    for form in ["text", "latex", "md"]:
        # The layout depends on the widths of texts: these have the same, in one line.
        plain = [one.renamed(escape.printable(one.name)) for one in evil]
        notes = tuple(
            Note("of_the_rule", text=escape.printable(text)) for text in STRINGS
        )
        plain[0] = replace(
            plain[0], header=plain[0].header.model_copy(update={"notes": notes})
        )
        expected = tables.FORMATS[form](build_sheet(plain, [0.0, 0.5]))
        assert written[form].count("\n") == expected.count("\n")


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in [token, *(token.children or [])]]


MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def test_markdown_shows_it() -> None:
    """As a paragraph and as a cell; a bare address is a link to some readers, and neither http:// nor www. stays."""
    for text in STRINGS:
        escaped = escape.markdown(text.strip(" "))
        for source in (f"Said: {escaped}", f"| a |\n|---|\n| {escaped} |", escaped):
            tokens = inline(MARKDOWN.parse(source))
            kinds = {token.type for token in tokens}
            assert kinds <= {
                "inline",
                "text",
                "text_special",
                "paragraph_open",
                "paragraph_close",
            } | {
                f"{part}_{end}"
                for part in ("table", "thead", "tbody", "tr", "th", "td")
                for end in ("open", "close")
            }
            told = "".join(
                token.content
                for token in tokens
                if token.type in ("text", "text_special")
            )
            assert " ".join(escape.printable(text).split()) in " ".join(told.split())
        assert not re.search(r"https?://|www\.", escaped)


COMMANDS = {
    *("begin", "end", "centering", "small", "footnotesize", "scriptsize"),
    *("caption", "label", "setlength", "tabcolsep", "smallskip"),
    *("toprule", "midrule", "cmidrule", "bottomrule", "multicolumn"),
    *("textbf", "textit"),
    *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater"),
}


def test_latex_has_no_command_but_ours_and_sets_every_string(
    written: dict[str, str],
) -> None:
    formulas = re.sub(r"\$p_A \\geq [\d.]+\$", "", written["latex"])  # heads of our own
    body = [line for line in formulas.split("\n") if not line.startswith("%")]
    assert {*re.findall(r"\\([a-zA-Z]+)", "\n".join(body))} <= COMMANDS
    assert not re.findall(
        r"[\\$#%_^~]", re.sub(r"\\[a-zA-Z]+(\{\})?|\\[\\{}$&#%_]", "", "\n".join(body))
    )
    rows = [line for line in body if line.endswith(r" \\")]
    # A row of each table, the heads, and a heading above two of them.
    assert len(rows) == len(STRINGS) + 2
    columns = {len(re.findall(r"(?<!\\)&", row)) for row in rows if "multi" not in row}
    assert columns == {4}
    assert not [row for row in rows if row.startswith(("[", "*"))]
    spelled = {**escape.LATEX, "*": "{*}"}
    pattern = "|".join(re.escape(way) for way in spelled.values())
    back = {way: letter for letter, way in spelled.items()}
    for text in STRINGS:
        found = "".join(
            back.get(part, part)
            for part in re.split(f"({pattern})", escape.latex(text))
        )
        assert found == escape.printable(text)


def formulas(text: str) -> list[str]:
    """Cells that a spreadsheet would compute, whichever of the separators it takes."""
    cells = [
        cell
        for mark in ",;\t"
        for row in csv.reader(io.StringIO(text), delimiter=mark)
        for cell in row
    ]
    return [
        cell
        for cell in cells
        if re.match(r"[=+\-@\t\r＝＋－＠]", cell)
        and not re.fullmatch(r"-?[\d.e,-]+", cell)
    ]


def test_csv_holds_it_and_no_cell_begins_a_formula(written: dict[str, str]) -> None:
    assert not formulas(written["csv"]) and formulas("name,value\n=1+1,2\n")
    assert len(list(csv.DictReader(io.StringIO(written["csv"])))) == len(STRINGS)
    for text in STRINGS:
        made = escape.to_csv([["name", "value"], [text, -0.5], ["-3.5", 1]])
        _, first, second = csv.reader(io.StringIO(made))
        assert first[0].removeprefix("'") == escape.printable(text).removeprefix(
            "'"
        ) and not formulas(made)
        assert first[1] == "-0.5" and second == ["-3.5", "1"]


def test_json_says_it_as_it_is(
    evil: list[Certificates], written: dict[str, str]
) -> None:
    for text in STRINGS:
        made = escape.to_json({text: [text]})
        assert json.loads(made.encode()) == {text: [text]} and all(
            line.isprintable() for line in made.split("\n")
        )
    header = json.loads(written["json"])["tables"][0]["header"]
    assert header["classes"] == STRINGS
    assert [note["facts"]["text"] for note in header["notes"]] == STRINGS
    assert header["model"] == evil[0].header.model
    first = next(record for record in json.loads(written["records"]) if record["notes"])
    assert (
        first["notes"] == list(map(escape.printable, STRINGS))
        and first["dataset"] == NASTY["end of script"]
    )


@pytest.mark.filterwarnings("ignore:Glyph")  # a letter that the font lacks is a box
def test_figures_show_it(tmp_path: Path) -> None:
    for name in ("formula", "LaTeX", "half a letter", "underscore", "long"):
        text = NASTY[name]
        draw_radius_accuracy([table(text), table("b", 1)], tmp_path / "a.svg")
        lines = (Line(text, np.ones(2), np.ones(2), labels=(text, text)),)
        draw([Axes(text, text, text, lines)], tmp_path / "b.svg")
        for drawn in ((tmp_path / file).read_text() for file in ("a.svg", "b.svg")):
            ElementTree.fromstring(drawn)
            start = escape.printable(text)[:6].replace("<", "&lt;")
            assert start in re.sub(r"<!-- ?|- ?(?=-)", "", drawn).replace(
                "\u200b", ""
            ), name
            assert "font-style: italic" not in drawn and len(drawn) < 200_000, name


def test_a_model_card_is_what_it_was() -> None:
    pytest.importorskip("torch")
    from randsmooth.models import Classifier
    from randsmooth.models.folder import card as model_card

    def card(text: str) -> tuple[str, list[Token]]:
        facts = {
            "dataset": text,
            "sigma": text,
            f"{text}.": {text: [text, 0.5]},
            "epochs": 3,
        }
        written = model_card(
            Classifier(
                arch="lenet", classes=[text, "b"], shape=[1, 28, 28], provenance=facts
            )
        )
        return written.split("---\n")[1], MARKDOWN.parse(written.split("---\n", 2)[2])

    front, plain = card("plain")
    for name in (
        "front matter",
        "fence",
        "script",
        "pipes",
        "heading",
        "link",
        "template",
        "list",
    ):
        own_front, evil = card(NASTY[name])
        assert own_front == front and [token.type for token in evil] == [
            token.type for token in plain
        ], name
        assert not {token.type for token in inline(evil)} & {
            "link_open",
            "image",
            "html_inline",
            "html_block",
        }, name


def test_a_terminal_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    for text in STRINGS:
        escape.say(text)
        out = capsys.readouterr().out
        assert out.count("\n") == text.count("\n") + 1 and all(
            line.isprintable() for line in out.split("\n")
        )
