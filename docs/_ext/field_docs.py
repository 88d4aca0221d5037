"""What the docstring of a class says of each of its fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

ENTRY = re.compile(r"^ {4}((?:\w+)(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)


def entries(kind: type, heading: str = "Attributes") -> Iterator[tuple[list[str], str]]:
    """The names and the text of each entry below a heading of the class's docstring, such as "Attributes" or "Args"."""
    section = inspect.cleandoc(kind.__doc__ or "").partition(f"{heading}:\n")[2].partition("\n\n")[0]
    for names, meaning in ENTRY.findall(section):
        yield names.split(", "), " ".join(meaning.split())


def described(kind: type, heading: str = "Attributes") -> dict[str, str]:
    """Name -> text, of names that share an entry the same text."""
    return {name: meaning for names, meaning in entries(kind, heading) for name in names}
