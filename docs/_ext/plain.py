"""What the build of the site makes, as Markdown for who reads the pages in a clone or on a code host.

    python docs/_ext/plain.py      (`make reference`)

writes docs/_reference: the command line, and the tables of each page that asks for some. A test holds them against
what the build would make. Pages link to them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from randsmooth.cli.verbs import Verb

HERE = Path(__file__).parent
DOCS = HERE.parent
FOLDER = DOCS / "_reference"
ASKED = re.compile(r"^```\{generated\} (.+)\n", re.MULTILINE)
MADE = "Made by `make reference`, of the code; not to be edited."


def files() -> dict[str, str]:
    """The text of each file of docs/_reference by its name."""
    tables: dict[str, list[str]] = {}
    for page in sorted(DOCS.rglob("*.md")):
        if asked := ASKED.findall(page.read_text(encoding="utf-8")):
            tables.setdefault(file_for(page), []).extend(asked)
    return {"command-line.md": command_line()} | {
        name: in_one(name, asked) for name, asked in tables.items()
    }


def file_for(page: Path) -> str:
    """The file that holds the tables of a page: those of the methods' pages are together."""
    return "methods.md" if page.parent.name == "methods" else page.name


def in_one(name: str, asked: list[str]) -> str:
    """These tables, each below what a page asks for it by."""
    from tables import made

    parts = [f"# Tables of {name.removesuffix('.md')}", MADE]
    for words in dict.fromkeys(asked):
        parts += [f"## {words}", made(words).strip()]
    return "\n\n".join(parts) + "\n"


def command_line() -> str:
    """Return every verb with its options."""
    from randsmooth.cli.verbs import VERBS

    parts = ["# Command line", MADE]
    for verb in VERBS:
        parts += [f"## randsmooth {verb.name}", *of_verb(verb)]
    return "\n\n".join(parts) + "\n"


def of_verb(verb: Verb) -> Iterator[str]:
    """Return the parts of a verb's section, in the order of its page."""
    from commands import Description
    from tables import table

    said = Description.of(verb)
    for text, example in said.paragraphs:
        if text:
            yield text
        if example:
            yield f"```console\n{example}\n```"
    yield f"```text\n{said.usage}\n```"
    for heading, parameters in said.sections.items():
        yield f"**{heading}**"
        rows = [(f"`{spelled}`", help) for spelled, help in parameters]
        yield table(("as typed", "what it means"), rows).strip()
    for heading, paragraphs in said.epilog_below_headings().items():
        yield f"**{heading}**"
        yield from paragraphs


def main() -> None:
    sys.path.insert(0, str(HERE))
    FOLDER.mkdir(exist_ok=True)
    made = files()
    for left in FOLDER.glob("*.md"):
        if left.name not in made:
            left.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
