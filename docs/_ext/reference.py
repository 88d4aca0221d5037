"""The reference of the public names: ```{room} metrics``` describes those of a room from their docstrings.

Docstrings are plain text with `names` in backticks: those of public names become links, all others code.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import randsmooth
from randsmooth.extras import MissingPackage

ROOT = Path(randsmooth.__file__).parent
CALL = re.compile(r"(?s)(?P<name>[A-Za-z_][\w.]*)(?:\(.*\))?")
SPAN = re.compile(r"(?<![`:\w])`([^`\n]+)`(?![`_\w])")
NAMES = re.compile(r"^( {4}[\w*, ]+,)\n +(?=[\w*, ]+: )", re.MULTILINE)  # of arguments, on more than one line
SPECIAL = re.compile(r"(?<=\w)_(?=\W|$)|[*|\\]")


def listed(stub: Path) -> dict[str, str]:
    """Name -> the module below the room that defines it, of the names of a stub in its order; empty for a room."""
    imports = (node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}


ROOMS = {stub.parent.name: listed(stub) for stub in sorted(ROOT.glob("*/__init__.pyi"))}
FACE = {name: module for name, module in listed(ROOT / "__init__.pyi").items() if module}  # rooms are no entries

# "certify" and "certification.certify" -> "randsmooth.certification.certify": a name is described once, in its room.
PLACES = {f"{room}.{name}": f"randsmooth.{room}.{name}" for room, names in ROOMS.items() for name in names}
PLACES |= {name: PLACES.get(f"{module}.{name}", f"randsmooth.{module}.{name}") for name, module in FACE.items()}


def place_of(text: str, room: str = "") -> str | None:
    """Where the reference describes what `text` names, such as `rs.certify(...)` or `Certificates.at`; or None.

    Args:
        text: a name of the public face, of a room (with the room before it) or of a class that is one of these.
        room: names in a docstring of this room may stand without it.
    """
    called = CALL.fullmatch(text)
    if called is None:
        return None
    name = called["name"].removeprefix("rs.").removeprefix("randsmooth.")
    place = PLACES.get(f"{room}.{name}") or PLACES.get(name)
    if place is not None or "." not in name:
        return place
    whose, _, member = name.rpartition(".")
    owner = PLACES.get(f"{room}.{whose}") or PLACES.get(whose)
    return f"{owner}.{member}" if owner and is_described(owner, member) else None


def is_described(owner: str, member: str) -> bool:
    """Whether the reference has an entry for a member of the class at `owner`: one with a docstring of its own."""
    try:
        value = getattr(found(owner), member, None)
    except MissingPackage:
        return False
    described = callable(value) or isinstance(value, property)
    return described and not member.startswith("_") and bool(inspect.getdoc(value))


def found(place: str) -> object:
    """The public name at `place`, imported."""
    value: object = randsmooth
    for part in place.split(".")[1:]:
        value = getattr(value, part)
    return value


def restructured(line: str, room: str = "") -> str:
    """A line of a docstring as reStructuredText."""
    parts = SPAN.split(line)
    parts[::2] = [SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    for i, span in enumerate(parts[1::2]):
        place = place_of(span, room)
        parts[2 * i + 1] = f":py:obj:`{span} <{place}>`" if place else f"``{span}``"
    return "".join(parts)


def rewrite(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Rewrite the lines of a docstring, but for examples and what they print."""
    room = ".".join(name.split(".")[1:2])
    lines[:] = NAMES.sub(r"\1 ", "\n".join(lines)).split("\n")
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>> "))
        if not example:
            lines[i] = restructured(line, room)


def parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """reStructuredText on a page of Markdown."""
    return directive.parse_text_to_nodes("\n".join(["````{eval-rst}", *lines, "````"]))


class Room(SphinxDirective):
    """The reference of a room; of `rs`, the public face, it is a list of names that leads into the rooms."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        room = self.arguments[0]
        if room == "rs":
            own = [name for name, module in FACE.items() if module not in ROOMS]
            links = [f"* :py:obj:`rs.{name} <{PLACES[name]}>`" for name in FACE]
            return parsed(self, [*links, "", *(line for name in own for line in described(PLACES[name]))])
        for stub in ("__init__.pyi", "__init__.py"):
            self.env.note_dependency(str(ROOT / room / stub))
        opening = inspect.getdoc(getattr(randsmooth, room)) or ""
        lines = [f".. py:module:: randsmooth.{room}", "", *(restructured(line, room) for line in opening.splitlines())]
        names = [line for name in ROOMS[room] for line in described(PLACES[f"{room}.{name}"])]
        return parsed(self, [*lines, "", *names])


def described(place: str) -> Iterator[str]:
    """The directive that describes the public name at `place`."""
    value = found(place)
    if inspect.isclass(value):
        yield from (f".. autoclass:: {place}", "   :members:", "")
    elif inspect.isroutine(value):
        yield from (f".. autofunction:: {place}", "")
    else:
        room, _, name = place.rpartition(".")
        text = " ".join(repr(value).split())
        short = text if len(text) <= 80 else f"{text[:77]}..."
        yield from (f".. py:data:: {name}", f"   :module: {room}", f"   :value: {short}", "")


def of_a_module(app: Sphinx, env: Any, link: addnodes.pending_xref, text: nodes.Node) -> nodes.Node | None:
    """A type in a signature is named by the module that defines it: it leads to its public name, or nowhere."""
    parts = str(link.get("reftarget", "")).split(".")
    is_module = len(parts) > 2 and parts[0] == "randsmooth" and ROOT.joinpath(*parts[1:-1]).with_suffix(".py").exists()
    if link.get("refdomain") != "py" or not (is_module or len(parts) == 1):
        return None
    place = PLACES.get(f"{parts[1]}.{parts[-1]}") if is_module else None
    if place is None:
        return text  # a type that is not public
    domain = env.domains.python_domain
    resolved = domain.resolve_xref(env, link["refdoc"], app.builder, "obj", place, link, text)
    return resolved if isinstance(resolved, nodes.Node) else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", rewrite, priority=400)  # before napoleon
    app.connect("missing-reference", of_a_module)
    app.add_directive("room", Room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
