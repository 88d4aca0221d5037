"""Files of the repository that pages link to, such as ../examples/sklearn_model.py, as pages of the site.

The links are those that GitHub understands. Here each leads to a copy with its syntax coloured, so that the site is
whole by itself; the source of every public name is shown in the same way.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from public_names import found
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


def targets(text: str, folder: Path) -> Iterator[tuple[re.Match[str], Path]]:
    """The links of a page in `folder` that leave the site, each with the path in the repository that it names."""
    for link in LINK.finditer(text):
        path = Path(os.path.normpath(folder / link[1]))
        if path.is_relative_to(ROOT) and path.exists() and not is_of_the_site(path):
            yield link, path.relative_to(ROOT)


def is_of_the_site(path: Path) -> bool:
    """Whether Sphinx itself finds what a link names: a page, or a picture or another file beside it."""
    inside = path.is_relative_to(DOCS) and not any(part.startswith("_") for part in path.relative_to(DOCS).parts)
    return inside and path.suffix not in ("", ".py")


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Include documents of the repository, and mark links to its files, before Markdown is read."""
    folder = (DOCS / docname).parent
    source[0] = schemed(INCLUDE.sub(lambda found: included(folder, found[1]), source[0]), folder)


def included(folder: Path, name: str) -> str:
    """A document of the repository, its links as they read from `folder`."""
    document = folder / name

    def moved(link: re.Match[str]) -> str:
        there = os.path.relpath(document.parent / link[1], folder)
        return f"]({there}{link[2] or ''})"

    return LINK.sub(moved, document.read_text())


def schemed(text: str, folder: Path) -> str:
    """`text` with `repository:PATH` for each link that leaves docs/."""
    for link, path in reversed([*targets(text, folder)]):
        text = f"{text[: link.start()]}](repository:{path.as_posix()}{link[2] or ''}){text[link.end() :]}"
    return text


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


@cache
def lines_of(module: str, name: str) -> tuple[str, int] | None:
    """The file, in the repository, and the line where a name of a module is defined."""
    value = inspect.unwrap(found(f"{module}.{name}"))  # type: ignore[arg-type]
    value = value.fget if isinstance(value, property) else value
    try:
        path, line = inspect.getsourcefile(value), max(1, inspect.getsourcelines(value)[1])  # type: ignore[arg-type]
    except (TypeError, OSError):
        return None
    inside = path is not None and Path(path).resolve().is_relative_to(ROOT / "src")
    return (Path(path).resolve().relative_to(ROOT).as_posix(), line) if path and inside else None


def source_of(module: str, name: str) -> str | None:
    """The address of the source of a name, from a page of the reference (docs/api)."""
    try:
        there = lines_of(module, name)
    except (AttributeError, ImportError):
        return None
    return there and f"../repository/{there[0]}.html#L-{there[1]}"


def copies(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for every linked file, for what is in a linked folder, and for the source of the package."""
    linked = {ROOT / "src"}
    for docname in app.env.found_docs:
        page = Path(app.env.doc2path(docname))
        text = INCLUDE.sub(lambda found, folder=page.parent: included(folder, found[1]), page.read_text())
        linked |= {ROOT / path for _, path in targets(text, page.parent)}
    for path in sorted({inside for start in linked for inside in [start, *below(start)]}):
        name = path.relative_to(ROOT).as_posix()
        if page_of(name).startswith("repository/"):
            yield page_of(name), {"title": name, "body": body(path, name)}, "page.html"


def below(folder: Path) -> list[Path]:
    """The files and folders in a folder, and in those, but for what is no source."""
    return [path for path in folder.rglob("*") if shown(path)] if folder.is_dir() else []


def shown(path: Path) -> bool:
    return not any(part.startswith((".", "__pycache__")) or part.endswith(".egg-info") for part in path.parts[1:])


def body(path: Path, name: str) -> str:
    """The page of a file or folder, as HTML."""
    title = f"<h1>{escape(name)}</h1>"
    if path.is_dir():
        links = (f'<a href="{path.name}/{entry.name}.html">{escape(entry.name)}</a>' for entry in contents(path))
        return f"{title}<ul>{''.join(f'<li>{link}</li>' for link in links)}</ul>"
    text = readable(path)
    if text is None:
        return f"{title}<p>A file of {path.stat().st_size:,} bytes that is not shown here.</p>"
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    return title + highlight(text, lexer, HtmlFormatter(cssclass="highlight", lineanchors="L", wrapcode=True))


def contents(folder: Path) -> list[Path]:
    return sorted(filter(shown, folder.iterdir()), key=lambda entry: (entry.is_file(), entry.name))


def readable(path: Path) -> str | None:
    """The text of a file; JSON on lines of its own; None of what is long or no text."""
    if path.stat().st_size > LARGEST:
        return None
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return None
    return json.dumps(json.loads(text), indent=1) if path.suffix == ".json" and "\n" not in text.strip() else text


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", rewrite)
    app.connect("html-collect-pages", copies)
    app.add_post_transform(Relative)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
