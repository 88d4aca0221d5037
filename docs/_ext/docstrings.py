"""Docstrings are plain text with `names` in backticks: those of public names become links, all others code."""

from __future__ import annotations

import re
from typing import Any

from public_names import place_of
from sphinx.application import Sphinx

SPAN = re.compile(r"(?<![`:\w])`([^`\n]+)`(?![`_\w])")
NAMES = re.compile(r"^( {4}[\w*, ]+,)\n +(?=[\w*, ]+: )", re.MULTILINE)  # of arguments, on more than one line
SPECIAL = re.compile(r"(?<=\w)_(?=\W|$)|[*|\\]")


def restructured(line: str, room: str) -> str:
    """A line of a docstring as reStructuredText."""
    parts = SPAN.split(line)
    parts[::2] = [SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [_marked(part, room) for part in parts[1::2]]
    return "".join(parts)


def _marked(span: str, room: str) -> str:
    place = place_of(span, room)
    return f":py:obj:`{span} <{place}>`" if place else f"``{span}``"


def process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Rewrite the lines of a docstring, but for examples and what they print."""
    room = ".".join(name.split(".")[1:2])
    lines[:] = NAMES.sub(r"\1 ", "\n".join(lines)).split("\n")
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>> "))
        if not example:
            lines[i] = restructured(line, room)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
