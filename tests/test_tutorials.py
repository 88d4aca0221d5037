"""The tutorials use what is public alone, and run from top to bottom with the checks of what they claim."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import randsmooth as rs

FOLDER = Path(__file__).parent.parent / "docs" / "tutorials"
TUTORIALS = {
    path.stem: path for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"
}
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"(?::tags: [^\n]*\n\n|---\n.*?---\n)?(.*)", re.DOTALL)


def code_of(tutorial: Path) -> str:
    """The code of a tutorial's cells, those that check it out of sight among them, without a notebook's own lines."""
    cells = [
        OPTIONS.sub(r"\1", text, count=1) for text in CELL.findall(tutorial.read_text())
    ]
    return re.sub(r"^%.*$", "", "\n".join(cells), flags=re.MULTILINE)


def test_a_tutorial_names_only_what_is_public() -> None:
    for name, tutorial in TUTORIALS.items():
        tree = ast.parse(code_of(tutorial))
        imported = [
            ast.unparse(node)
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        assert [line for line in imported if "randsmooth" in line] == [
            "import randsmooth as rs"
        ], name
        chains = {
            ast.unparse(node)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
        }
        assert not [chain for chain in chains if "._" in chain], name
        for chain in (chain for chain in chains if re.fullmatch(r"rs(\.\w+)+", chain)):
            first, *more = chain.split(".")[1:3]
            assert first in dir(rs) and (
                not more or not first.islower() or more[0] in dir(getattr(rs, first))
            ), chain


def test_a_clone_holds_every_tutorial_as_a_notebook_that_opens_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package in (
        "nbformat",
        "myst_nb",
    ):  # of the extra `docs`, by which notebooks are written
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(FOLDER.parent / "_figures")
    made: dict[Path, str] = importlib.import_module("notebooks").all_notebooks()
    assert {path.stem for path in made} == {*TUTORIALS}
    for path, content in made.items():
        assert path.read_text() == content, "python docs/_figures/notebooks.py"
        cells = [
            (cell["cell_type"], "".join(cell["source"]))
            for cell in json.loads(content)["cells"]
        ]
        assert "pip install" in cells[0][1]
        for kind, text in cells:
            if kind == "code":
                ast.parse(re.sub(r"^%.*$", "", text, flags=re.MULTILINE))
            else:
                assert not re.search(r"\{[a-z-]+\}`|^:::", text, re.MULTILINE), (
                    f"{path}: {text}"
                )
                for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
                    assert (path.parent / link).exists(), f"{path}: {link}"


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs(name: str, tmp_path: Path) -> None:
    env = {
        **os.environ,
        "MPLBACKEND": "agg",
        "PYTHONWARNINGS": "ignore:FigureCanvasAgg:UserWarning",
    }
    env.pop(
        "RANDSMOOTH_DATA", None
    )  # the images come with scikit-learn, or are made on the page
    run = [sys.executable, "-c", code_of(TUTORIALS[name])]
    done = subprocess.run(
        run, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
