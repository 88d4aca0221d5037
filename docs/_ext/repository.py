"""Files of the repository that pages link to, such as ../examples/sklearn_model.py: the site's links lead to GitHub."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
GITHUB = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")
INCLUDE = re.compile(r"^```\{include\} (\.\./\S+\.md)\n```$", re.MULTILINE)
PAGES = {"README.md": "index", "CHANGELOG.md": "changes", "CONTRIBUTING.md": "contributing", "docs": "index"}


def address(link: re.Match[str], folder: Path) -> str:
    """A link of a page in `folder`, which leads to GitHub where it would leave the site."""
    path = Path(os.path.normpath(folder / link[1]))
    if not path.is_relative_to(ROOT) or not path.exists():
        return link[0]
    place, anchor = path.relative_to(ROOT).as_posix(), link[2] or ""
    if place in PAGES:
        return f"]({os.path.relpath(DOCS / f'{PAGES[place]}.md', folder)}{anchor})"
    inside = path.is_relative_to(DOCS) and not any(part.startswith("_") for part in path.relative_to(DOCS).parts)
    return link[0] if inside and path.suffix not in ("", ".py") else f"]({GITHUB}/blob/main/{place}{anchor})"


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write these addresses before Markdown is read, also into the documents of the repository that a page includes."""
    folder = (DOCS / docname).parent

    def included(found: re.Match[str]) -> str:
        above = (folder / found[1]).parent
        return LINK.sub(
            lambda link: f"]({os.path.relpath(above / link[1], folder)}{link[2] or ''})",
            (folder / found[1]).read_text(),
        )

    source[0] = LINK.sub(lambda link: address(link, folder), INCLUDE.sub(included, source[0]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
