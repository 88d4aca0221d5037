"""The site's own tools: what they would let pass, and that every room has its page. `make docs` builds the site."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import randsmooth
from pages import DOCS


def tool(path: str) -> ModuleType:
    """A module of the site's machinery that needs none of the site's packages."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


links = tool("_checks/links.py")
PAGE = (
    '<link rel="stylesheet" href="a.css"><h1 id="top">A</h1><a href="#top">up</a> <a href="https://example.org">out</a>'
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of two pages without a fault."""
    (tmp_path / "a.css").write_text("p { background: url(a.css) }")
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.html").write_text('<a href="../index.html#top">back</a><a href="../a.css">style</a>')
    return tmp_path


def test_a_site_without_faults_passes(site: Path) -> None:
    assert [*links.broken(site), *links.foreign(site)] == []


@pytest.mark.parametrize("target", ["nowhere.html", "index.html#nowhere", "#nowhere", "missing.png"])
def test_a_link_that_leads_nowhere_is_found(site: Path, target: str) -> None:
    (site / "c.html").write_text(f'<a href="{target}">x</a>')
    assert [*links.broken(site)] == [f"c.html: {target} leads nowhere"]


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<link rel="preconnect stylesheet" href="//fonts.example.org/x.css">',
        '<img src="https://example.org/x.png">',
        "<style>@import 'https://example.org/x.css';</style>",
        '<p style="background: url(https://example.org/x.png)">',
    ],
)
def test_what_is_fetched_from_another_host_is_found(site: Path, markup: str) -> None:
    (site / "c.html").write_text(markup)
    assert len([*links.foreign(site)]) == 1


def test_every_room_has_a_page_of_reference() -> None:
    rooms = {stub.parent.name for stub in Path(randsmooth.__file__).parent.glob("*/__init__.pyi")}
    pages = {path.stem for path in (DOCS / "api").glob("*.md")} - {"index"}
    assert rooms == pages
    assert all(f"```{{room}} {room}\n" in (DOCS / "api" / f"{room}.md").read_text() for room in rooms)
    listed = re.search(r"```\{toctree\}.*?\n\n(.*?)```", (DOCS / "api" / "index.md").read_text(), re.DOTALL)
    assert listed is not None and set(listed[1].split()) == rooms
