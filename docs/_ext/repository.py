"""Files of the repository that pages link to, such as ../examples/sklearn_model.py, and which are no pages of the site.

Links lead to the repository where its address is known (REPOSITORY=https://github.com/OWNER/NAME). Else the site holds
a copy of each file to download, and names a folder by its path.
"""

import os
import re
from pathlib import Path

from moved import MOVED
from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
REPOSITORY = os.environ.get("REPOSITORY", "")
LINK = re.compile(r"(\[[^\[\]]*)?\]\(([^)#\s:]+)(#[^)\s]*)?\)")
INCLUDE = re.compile(r"^```\{include\} (\.\./\S+\.md)\n```$", re.MULTILINE)
PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "changes",
    "CONTRIBUTING.md": "contributing",
    "docs": "index",
}


def address(link: re.Match[str], folder: Path) -> str:
    """A link of a page in `folder`; one that would leave the site leads to the repository, or to a copy of the file."""
    text, path, anchor = (
        link[1] or "",
        Path(os.path.normpath(folder / link[2])),
        link[3] or "",
    )
    if path.parent == DOCS and path.stem in MOVED:
        return f"{text}]({new_address(path.stem, anchor.lstrip('#'), folder)})"
    if not path.is_relative_to(ROOT) or not path.exists():
        return link[0]
    place = path.relative_to(ROOT).as_posix()
    if place in PAGES:
        return (
            f"{text}]({os.path.relpath(DOCS / f'{PAGES[place]}.md', folder)}{anchor})"
        )
    inside = path.is_relative_to(DOCS) and not any(
        part.startswith("_") for part in path.relative_to(DOCS).parts
    )
    if inside and path.suffix not in ("", ".py"):
        return link[0]
    if REPOSITORY:
        return f"{text}]({REPOSITORY}/blob/main/{place}{anchor})"
    if path.is_file():
        return f"{text}](path:{os.path.relpath(path, folder)})"
    return f"`{place}`" if text[1:].strip("`") == place else f"{text[1:]} (`{place}`)"


def new_address(page: str, anchor: str, folder: Path) -> str:
    """Return the link from a page in `folder` to where a page that was merged is now, as the changes name it."""
    place = MOVED[page].get(anchor, MOVED[page][""])
    now, _, section = place.partition("#")
    address = os.path.relpath(DOCS / f"{now}.md", folder)
    return f"{address}#{section}" if section else address


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write these addresses before Markdown is read, also into the documents of the repository that a page includes."""
    folder = (DOCS / docname).parent

    def included(found: re.Match[str]) -> str:
        above = (folder / found[1]).parent
        return LINK.sub(
            lambda link: (
                f"{link[1] or ''}]({os.path.relpath(above / link[2], folder)}{link[3] or ''})"
            ),
            (folder / found[1]).read_text(),
        )

    source[0] = LINK.sub(
        lambda link: address(link, folder), INCLUDE.sub(included, source[0])
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
