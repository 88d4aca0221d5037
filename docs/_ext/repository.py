"""Files of the repository that pages link to, such as ../examples/sklearn_model.py, as pages of the site.

The links are those that GitHub understands. Here each leads to a copy with its syntax coloured, so that the site is
whole by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.osutil import relative_uri

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")
INCLUDE = re.compile(r"^```\{include\} (\.\./\S+\.md)\n```$", re.MULTILINE)
PAGES = {"README.md": "index", "CHANGELOG.md": "changes", "CONTRIBUTING.md": "contributing", "docs": "index"}
LARGEST = 300_000  # bytes; of longer files only the name is shown


def leaves(link: re.Match[str], folder: Path) -> Path | None:
    """The path in the repository that a link of a page in `folder` names, where it leaves the site."""
    path = Path(os.path.normpath(folder / link[1]))
    if not path.is_relative_to(ROOT) or not path.exists():
        return None
    inside = path.is_relative_to(DOCS) and not any(part.startswith("_") for part in path.relative_to(DOCS).parts)
    return None if inside and path.suffix not in ("", ".py") else path.relative_to(ROOT)  # Sphinx finds what is inside


def whole(text: str, folder: Path) -> str:
    """A page with the documents of the repository that it includes, their links as they read from `folder`."""

    def included(found: re.Match[str]) -> str:
        document = folder / found[1]
        return LINK.sub(
            lambda link: f"]({os.path.relpath(document.parent / link[1], folder)}{link[2] or ''})", document.read_text()
        )

    return INCLUDE.sub(included, text)


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write `repository:PATH` for each link that leaves the site, before Markdown is read."""
    folder = (DOCS / docname).parent

    def schemed(link: re.Match[str]) -> str:
        path = leaves(link, folder)
        return link[0] if path is None else f"](repository:{path.as_posix()}{link[2] or ''})"

    source[0] = LINK.sub(schemed, whole(source[0], folder))


class Relative(SphinxPostTransform):
    """Turn that scheme into an address relative to the page."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        here = self.app.builder.get_target_uri(self.env.docname)
        for link in self.document.findall(nodes.reference):
            scheme, colon, rest = str(link.get("refuri", "")).partition("repository:")
            if colon and not scheme:
                path, hash, anchor = rest.partition("#")
                link["refuri"] = relative_uri(here, self.app.builder.get_target_uri(page_of(path))) + hash + anchor
                link["internal"] = True


def page_of(path: str) -> str:
    """The page that shows a path of the repository."""
    return PAGES.get(path) or f"repository/{path}"


def copies(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for every linked file, and for what is in a linked folder."""
    linked = set()
    for docname in app.env.found_docs:
        page = Path(app.env.doc2path(docname))
        links = LINK.finditer(whole(page.read_text(), page.parent))
        linked |= {ROOT / path for link in links if (path := leaves(link, page.parent)) is not None}
    for path in sorted({inside for start in linked for inside in [start, *filter(shown, start.rglob("*"))]}):
        name = path.relative_to(ROOT).as_posix()
        if page_of(name).startswith("repository/"):
            yield page_of(name), {"title": name, "body": f"<h1>{escape(name)}</h1>{body(path)}"}, "page.html"


def shown(path: Path) -> bool:
    return not any(part.startswith((".", "__pycache__")) for part in path.parts[1:])


def body(path: Path) -> str:
    """A file or folder as HTML."""
    if path.is_dir():
        entries = sorted(filter(shown, path.iterdir()), key=lambda entry: (entry.is_file(), entry.name))
        links = (f'<li><a href="{path.name}/{each.name}.html">{escape(each.name)}</a></li>' for each in entries)
        return f"<ul>{''.join(links)}</ul>"
    try:
        text = path.read_text() if path.stat().st_size <= LARGEST else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        return f"<p>A file of {path.stat().st_size:,} bytes that is not shown here.</p>"
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    return str(highlight(text, lexer, HtmlFormatter(cssclass="highlight", lineanchors="L", wrapcode=True)))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", rewrite)
    app.connect("html-collect-pages", copies)
    app.add_post_transform(Relative)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
