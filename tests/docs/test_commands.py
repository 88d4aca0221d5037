"""The pages of the commands: one each, in the order of `--help`, and their examples run."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import torch
from PIL import Image

from cli.processes import Run
from pages import blocks, commands
from randsmooth import data
from randsmooth.cli.main import app
from randsmooth.cli.verbs import VERBS, quickstart
from randsmooth.models import Classifier

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "commands"
TOCTREE = re.compile(r"```\{toctree\}\n(?::[^\n]*\n)*\n?(.*?)```", re.DOTALL)

# What makes the examples small, by verb.
TINY = {
    "train": "--take 60 --epochs 1",
    "train-denoiser": "--take 60 --epochs 1",
    "certify": "--take 4 --n 200 --n0 20",
    "accuracy": "--n 300",
    "assess": "--take 3 --n 200",
    "explain": "--n 300 --no-attack",
    "plan": "--seconds 1",
    "attack": "--take 1 --n 200 --steps 1 --m 4",
    "quantise": "--images 20 --compare 40",
}
QUICKSTART = {
    "EPOCHS": 1,
    "IMAGES": 6,
    "N": 200,
    "METHODS": {"gaussian": {}, "amplify": {"discard": False, "E_t": 0, "T": 1}},
}
# Exit codes of examples that answer a question: 1 is no, 3 too few images to tell.
ANSWERS = {"check": {0, 1, 3}, "attack": {0, 1}}

Tool = Callable[[str], Any]


def entries(page: Path) -> list[str]:
    """The entries of a page's list of pages, in order."""
    return [
        line.partition("<")[2].rstrip(">") or line
        for listed in TOCTREE.findall(page.read_text())
        for line in listed.splitlines()
        if line
    ]


def test_the_pages_stand_in_the_order_of_help() -> None:
    in_help = app.list_commands(click.Context(app))
    assert entries(PAGES / "index.md") == in_help
    assert {path.stem for path in PAGES.glob("*.md")} == {*in_help, "index"}


def test_a_page_describes_its_verbs_once(tool: Tool) -> None:
    page_of = tool("commands").page_of
    for verb in VERBS:
        text = (DOCS / f"{page_of(verb)}.md").read_text()
        for directive in ("verb", "options"):
            assert text.count(f"```{{{directive}}} {verb.name}\n") == 1, verb.name


def test_a_page_has_the_arguments_and_the_options_of_help_in_its_order(
    tool: Tool, cli: Run
) -> None:
    for verb in VERBS:
        sections = tool("commands").Description.of(verb).sections
        printed = cli(*verb.name.split(), "--help").out
        places = [
            printed.index(f"\n  {spelled}")
            for heading, parameters in sections.items()
            for spelled, _ in parameters
            if heading != "Arguments"
        ]
        assert places == sorted(places), verb.name
        spelled_options = " ".join(
            spelled for parameters in sections.values() for spelled, _ in parameters
        )
        options = {*re.findall(r"--[a-z][\w-]*", spelled_options)}
        assert options >= {*tool("commands").options_of(verb)}, verb.name


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(
    page: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem in ("index", "serve"):
        pytest.skip("an overview; a server that runs until it is stopped")
    if page.stem == "quantise":
        pytest.importorskip("nncf")
    for name, value in QUICKSTART.items():
        monkeypatch.setattr(quickstart, name, value)
    write_files_of(page)
    examples = list(commands(page))
    assert examples
    for line, (verb, *words) in examples:
        tiny = [] if words[:1] == ["status"] else shlex.split(TINY.get(verb, ""))
        result = cli(verb, *words, *tiny)
        assert result.code in ANSWERS.get(verb, {0}), (page.name, line, result.err)


def write_files_of(page: Path) -> None:
    """Write the files that examples take, those that the page shows as it shows them."""
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    Image.fromarray(pixels).save("digit.png")
    mnist = data.describe("mnist")
    network = Classifier(arch="lenet", classes=list(mnist.classes), shape=mnist.shape)
    torch.save({"state_dict": network.network.state_dict()}, "checkpoint.pth")
    for block in blocks(page):
        if block.language == "yaml":
            Path("grid.yaml").write_text(block.text)
        if block.language == "text" and "counts_0" in block.text:
            Path("counts.csv").write_text(block.text)


# --- the site's doors ------------------------------------------------------------------------------------------------


def test_the_site_has_few_doors_and_every_page_is_behind_one() -> None:
    doors = entries(DOCS / "index.md")
    assert len(doors) <= 7
    reached, waiting = set(), ["index"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            path = DOCS / f"{name}.md"
            waiting += [
                str((path.parent / entry).relative_to(DOCS)) for entry in entries(path)
            ]
    pages = {
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path in DOCS.rglob("*.md")
        if not any(part.startswith("_") for part in path.relative_to(DOCS).parts)
    }
    assert reached == pages


def test_old_addresses_lead_to_headings_that_are_there(tool: Tool) -> None:
    moved = tool("moved")
    for page in moved.MOVED:
        assert not (DOCS / f"{page}.md").exists()
        for place in moved.MOVED[page].values():
            name, _, anchor = place.partition("#")
            headings = re.findall(
                r"^#+ (.+)$", (DOCS / f"{name}.md").read_text(), re.MULTILINE
            )
            slugs = {
                re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")
                for text in headings
            }
            assert not anchor or anchor in slugs, place
    places = moved.places_of("command-line")
    assert places["randsmooth-certify"] == "commands/certify#randsmooth-certify"
    assert places["cmdoption-randsmooth-certify-n0"].startswith("commands/certify#")
