"""The tutorials open as notebooks, use what is public alone, check what they claim, and run from top to bottom."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import randsmooth as rs

FOLDER = Path(__file__).parent.parent / "docs" / "tutorials"
INDEX = FOLDER / "index.md"
TUTORIALS = [pytest.param(path, id=path.stem) for path in sorted(FOLDER.glob("*.md")) if path != INDEX]
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"(?::tags: (?P<tags>[^\n]*)\n\n|---\n(?P<yaml>.*?)---\n)?(?P<code>.*)", re.DOTALL)


class Cell(NamedTuple):
    tags: list[str]
    alt: str  # what is told of its figure to those who do not see it
    code: str


def cells(tutorial: Path) -> list[Cell]:
    """The cells of a tutorial, without the lines that only a notebook understands."""
    return [_cell(text) for text in CELL.findall(tutorial.read_text())]


def _cell(text: str) -> Cell:
    found = OPTIONS.fullmatch(text)
    assert found is not None
    options = yaml.safe_load(found["yaml"] or f"tags: {found['tags'] or '[]'}")
    alt = options.get("mystnb", {}).get("image", {}).get("alt", "")
    return Cell(options["tags"], alt, re.sub(r"^%.*$", "", found["code"], flags=re.MULTILINE))


def all_code(tutorial: Path) -> str:
    return "\n".join(cell.code for cell in cells(tutorial))


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_a_tutorial_opens_as_a_notebook(tutorial: Path) -> None:
    text = tutorial.read_text()
    header = yaml.safe_load(text.split("---\n")[1])
    assert header["jupytext"]["text_representation"]["format_name"] == "myst"
    assert header["kernelspec"]["name"] == "python3"
    assert len(cells(tutorial)) == text.count("```{") > 5
    assert f"<{tutorial.stem}.ipynb>" in text, "the page links to itself as a notebook"


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_a_tutorial_checks_what_it_claims_out_of_sight(tutorial: Path) -> None:
    hidden = [cell.code for cell in cells(tutorial) if "remove-cell" in cell.tags]
    assert len(hidden) >= 2 and all("assert " in code for code in hidden)
    assert "assert " not in "".join(cell.code for cell in cells(tutorial) if "remove-cell" not in cell.tags)


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_every_figure_says_in_words_what_it_shows(tutorial: Path) -> None:
    shown = [cell for cell in cells(tutorial) if "plt.show()" in cell.code]
    assert len(shown) >= 2 and all(len(cell.alt) > 40 for cell in shown)


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_a_tutorial_names_only_what_is_public(tutorial: Path) -> None:
    tree = ast.parse(all_code(tutorial))
    imported = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [line for line in imported if "randsmooth" in line] == ["import randsmooth as rs"]
    chains = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not [chain for chain in chains if re.search(r"\._", chain)]
    assert {chain.split(".")[1] for chain in chains if re.fullmatch(r"rs(\.\w+)+", chain)} <= {*dir(rs)}
    for room, name in {tuple(chain.split(".")[1:3]) for chain in chains if re.fullmatch(r"rs\.[a-z]\w*\.\w+", chain)}:
        assert name in dir(getattr(rs, room)), f"rs.{room}.{name}"


def test_the_index_shows_a_picture_of_every_tutorial() -> None:
    text = INDEX.read_text()
    for tutorial in FOLDER.glob("*.md"):
        if tutorial != INDEX:
            picture = f"../images/tutorials/{tutorial.stem}.png"
            assert f"({tutorial.name})" in text and f"({picture})" in text
            assert (FOLDER / picture).stat().st_size < 150_000


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_a_tutorial_runs(tutorial: Path, tmp_path: Path) -> None:
    env = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore:FigureCanvasAgg:UserWarning"}
    env.pop("RANDSMOOTH_DATA", None)  # the images come with scikit-learn, or are made on the page
    run = [sys.executable, "-c", all_code(tutorial)]
    done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
