"""What README and docs tell a reader to type works as written: Python is run, commands are parsed."""

from __future__ import annotations

import importlib
import inspect
import io
import os
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import torch
from PIL import Image

import randsmooth
from randsmooth import data, models
from randsmooth.certificates import RULES
from randsmooth.certification.backends import BACKENDS
from randsmooth.cli import command
from randsmooth.cli.main import app
from randsmooth.methods import METHODS
from randsmooth.report.page.panels import PANELS

ROOT = Path(__file__).parent.parent
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    line: int  # of its first line in the document
    text: str


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    text = document.read_text()
    return [Block(found[1], text.count("\n", 0, found.start()) + 2, found[2]) for found in BLOCK.finditer(text)]


def commands(document: Path) -> Iterator[tuple[int, list[str]]]:
    """The `randsmooth` commands of a document: the line that each stands on, and its words."""
    for block in blocks(document):
        if block.language == "console":
            for line, text in enumerate(block.text.splitlines(), block.line):
                words = shlex.split(text, comments=True)
                if words[:1] == ["randsmooth"]:
                    yield line, words[1:]


LONG = ("README.md", "certification.md")  # they train and certify for longer than a quick test may
PYTHON = [
    pytest.param(path, id=path.name, marks=pytest.mark.slow if path.name in LONG else [])
    for path in GUIDES
    if any(block.language == "python" for block in blocks(path))
]
COMMANDS = [
    pytest.param(words, id=f"{path.name}:{line}: {shlex.join(words)}")
    for path in GUIDES
    for line, words in commands(path)
]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the guides suppose: a data set called MNIST, a model, images, and released logs if there are.

    Model and images are random: nothing that the guides do depends on what they show.
    """
    released = Path(os.environ.get("RANDSMOOTH_DATA", "nowhere")).resolve().parent / "published-logs"
    if released.is_dir():
        (tmp_path / "cifar10-sigma0.5").symlink_to(released / "cifar10-sigma0.5")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path / "data"))
    torch.manual_seed(0)
    spec = data.describe("mnist")
    _write_parquet(spec.shape, tmp_path / "data" / "mnist")
    _write_class_folders(tmp_path / "path" / "to" / "images")
    provenance = {"dataset": "mnist", "sigma": 0.5, "method": "gaussian"}
    model = models.Classifier(arch="lenet", classes=list(spec.classes), shape=spec.shape, provenance=provenance)
    models.save(model.eval(), tmp_path / "runs" / "gaussian")
    return tmp_path


def _write_parquet(shape: tuple[int, int, int], folder: Path) -> None:
    """Random grey images and labels where a data set is looked for."""
    folder.mkdir(parents=True)
    for split, count in (("train", 40), ("test", 20)):
        images = [{"bytes": _png(shape[1:])} for _ in range(count)]
        pd.DataFrame({"image": images, "label": [i % 10 for i in range(count)]}).to_parquet(folder / f"{split}.parquet")


def _write_class_folders(folder: Path) -> None:
    for name in ("cat", "dog"):
        (folder / "test" / name).mkdir(parents=True)
        for i in range(2):
            (folder / "test" / name / f"{i}.png").write_bytes(_png((8, 8)))


def _png(size: tuple[int, int]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(torch.randint(0, 256, size, dtype=torch.uint8).numpy()).save(file, "png")
    return file.getvalue()


@pytest.mark.parametrize("document", PYTHON)
def test_the_python_of_a_guide_runs(document: Path, workplace: Path) -> None:
    if "cifar10-sigma0.5/" in document.read_text() and not (workplace / "cifar10-sigma0.5").is_dir():
        pytest.skip("no published logs: RANDSMOOTH_DATA must name the data folder beside published-logs")
    namespace = {"__name__": "guide"}
    for block in blocks(document):
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.text  # so that a traceback names the document's own line
            exec(compile(padded, str(document), "exec"), namespace)


@pytest.mark.parametrize("words", COMMANDS)
def test_the_commands_of_a_guide_are_understood(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    understood: list[object] = []
    run: Callable[[object, object], None] = lambda verb, settings: understood.append(settings)  # noqa: E731
    monkeypatch.setattr(command, "_run", run)
    app(words, standalone_mode=False)
    assert len(understood) == 1


def test_links_between_the_documents_lead_somewhere() -> None:
    broken = [
        f"{document.name}: {target}"
        for document in GUIDES
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert not broken


def test_anchors_between_the_documents_name_a_heading() -> None:
    broken = []
    for document in GUIDES:
        for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]+)\)", document.read_text()):
            there = document if not target else document.parent / target
            headings = re.findall(r"^#+ (.+)$", there.read_text(), re.MULTILINE) if "://" not in target else []
            names = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            if "://" not in target and anchor not in names:
                broken.append(f"{document.name}: {target}#{anchor}")
    assert not broken


# The groups of entry points, which look like modules.
GROUPS = {registry.group for registry in (METHODS, RULES, data.DATASETS, models.ARCHITECTURES, BACKENDS, PANELS)}
FILES = (".py", ".csv", ".md", ".html", ".parquet", ".json")


def dotted_names(document: Path) -> set[str]:
    """What the text of a document calls `rs.SOMETHING`, `randsmooth.SOMETHING` or `ROOM.SOMETHING`."""
    rooms = "|".join(stub.parent.name for stub in Path(randsmooth.__file__).parent.glob("*/__init__.pyi"))
    name = re.compile(rf"(?<![\w./-])(?:rs|randsmooth|{rooms})(?:\.[A-Za-z_]\w*)+(?![\w/-])")
    spans = re.findall(r"`([^`\n]+)`", BLOCK.sub("", document.read_text()))
    return {found for span in spans for found in name.findall(span) if not found.endswith(FILES)}


@pytest.mark.parametrize("document", [pytest.param(path, id=path.name) for path in GUIDES])
def test_names_in_the_text_exist(document: Path) -> None:
    for name in dotted_names(document) - GROUPS:
        first, *rest = name.split(".")
        where: object = randsmooth if first in ("rs", "randsmooth") else getattr(randsmooth, first)
        for part in rest:
            path = getattr(where, "__name__", "")
            if not hasattr(where, part) and inspect.ismodule(where):
                importlib.import_module(f"{path}.{part}")  # a module that its room does not list
            where = getattr(where, part, None)
            assert where is not None, f"{document.name} says {name}, but {path} has no {part}"


def test_the_readme_lists_what_other_packages_can_add() -> None:
    section = (ROOT / "README.md").read_text().partition("## Adding your own")[2].partition("## ")[0]
    assert all(group.removeprefix("randsmooth") in section for group in GROUPS)
