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
TUTORIALS = {path.stem: path for path in sorted(FOLDER.glob("*.md")) if path != INDEX}
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"(?::tags: (?P<tags>[^\n]*)\n\n|---\n(?P<yaml>.*?)---\n)?(?P<code>.*)", re.DOTALL)


class Cell(NamedTuple):
    tags: list[str]
    alt: str  # what is told of its figure to those who do not see it
    code: str


def cells(tutorial: Path) -> list[Cell]:
    """The cells of a tutorial, without the lines that only a notebook understands."""
    found = []
    for text in CELL.findall(tutorial.read_text()):
        parts = OPTIONS.fullmatch(text)
        assert parts is not None
        options = yaml.safe_load(parts["yaml"] or f"tags: {parts['tags'] or '[]'}")
        alt = options.get("mystnb", {}).get("image", {}).get("alt", "")
        found.append(Cell(options["tags"], alt, re.sub(r"^%.*$", "", parts["code"], flags=re.MULTILINE)))
    return found


def test_a_tutorial_is_a_notebook_that_checks_what_it_claims_out_of_sight() -> None:
    index = INDEX.read_text()
    for name, tutorial in TUTORIALS.items():
        text, own = tutorial.read_text(), cells(tutorial)
        header = yaml.safe_load(text.split("---\n")[1])
        assert header["jupytext"]["text_representation"]["format_name"] == "myst", name
        assert len(own) == text.count("```{") > 5 and f"<{name}.ipynb>" in text, name
        hidden = [cell.code for cell in own if "remove-cell" in cell.tags]
        assert len(hidden) >= 2 and all("assert " in code for code in hidden), name
        assert "assert " not in "".join(cell.code for cell in own if "remove-cell" not in cell.tags), name
        shown = [cell for cell in own if "plt.show()" in cell.code]
        assert len(shown) >= 2 and all(len(cell.alt) > 40 for cell in shown), f"{name}: say what figures show"
        picture = f"../images/tutorials/{name}.png"
        assert f"({tutorial.name})" in index and f"({picture})" in index and (FOLDER / picture).is_file(), name


def test_a_tutorial_names_only_what_is_public() -> None:
    for name, tutorial in TUTORIALS.items():
        tree = ast.parse("\n".join(cell.code for cell in cells(tutorial)))
        imported = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert [line for line in imported if "randsmooth" in line] == ["import randsmooth as rs"], name
        chains = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not [chain for chain in chains if "._" in chain], name
        for chain in (chain for chain in chains if re.fullmatch(r"rs(\.\w+)+", chain)):
            first, *more = chain.split(".")[1:3]
            assert first in dir(rs) and (not more or not first.islower() or more[0] in dir(getattr(rs, first))), chain


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs(name: str, tmp_path: Path) -> None:
    env = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore:FigureCanvasAgg:UserWarning"}
    env.pop("RANDSMOOTH_DATA", None)  # the images come with scikit-learn, or are made on the page
    run = [sys.executable, "-c", "\n".join(cell.code for cell in cells(TUTORIALS[name]))]
    done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
