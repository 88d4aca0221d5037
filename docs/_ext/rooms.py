"""```{room} metrics```: every public name of a room, in a table and then described from its docstring."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from docstrings import restructured
from docutils import nodes
from public_names import FACE, PLACES, ROOMS, ROOT, Listed, found
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Room(SphinxDirective):
    """The reference of a room; of `rs`, the public face, it is a table that leads into the rooms."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        room = self.arguments[0]
        if room == "rs":
            return self._table("rs.", FACE) + self._described([e for e in FACE if e.module not in ROOMS], "randsmooth")
        path = ROOT / room
        self.env.note_dependency(str(path / "__init__.pyi"))
        self.env.note_dependency(str(path / "__init__.py"))
        opening = self._rst([f".. py:module:: randsmooth.{room}", "", restructured(_docstring(path), room)])
        sections = [self._section(room, module, [*names]) for module, names in groupby(ROOMS[room], _module)]
        return [*opening, *self._table(f"{room}.", ROOMS[room]), *sections]

    def _table(self, prefix: str, names: list[Listed]) -> list[nodes.Node]:
        rows = [
            f"   * - :py:obj:`{prefix}{name} <{_place(prefix, name, module)}>`\n     - {summary}"
            for (name, module) in names
            for summary in [_summary(_place(prefix, name, module))]
        ]
        return self._rst([".. list-table::", "   :widths: auto", "   :class: names", "", *rows])

    def _section(self, room: str, module: str, names: list[Listed]) -> nodes.section:
        """What one module of the room defines, below the first sentence of that module."""
        path = ROOT.joinpath(room, *module.split("."))
        path = path if path.is_dir() else path.with_suffix(".py")
        self.env.note_dependency(str(path if path.is_file() else path / "__init__.py"))
        section = nodes.section(ids=[nodes.make_id(f"{room}-{module}")], names=[module])
        section += nodes.title("", module.replace("_", " ").replace(".", ": ").capitalize())
        section += self._rst([restructured(_docstring(path), room)])
        section += self._described(names, f"randsmooth.{room}")
        return section

    def _described(self, names: list[Listed], room: str) -> list[nodes.Node]:
        lines: list[str] = []
        for name, module in names:
            place = f"{room}.{name}" if room != "randsmooth" else f"randsmooth.{module}.{name}"
            lines += [*_directive(place), ""]
        return self._rst(lines)

    def _rst(self, lines: list[str]) -> list[nodes.Node]:
        text = "\n".join(["````{eval-rst}", *lines, "````"])
        return self.parse_text_to_nodes(text)


def _module(entry: Listed) -> str:
    return entry.module


def _place(prefix: str, name: str, module: str) -> str:
    return PLACES[name] if prefix == "rs." else PLACES[f"{prefix}{name}"]


def _docstring(path: Any) -> str:
    file = path / "__init__.py" if path.is_dir() else path
    return inspect.cleandoc(ast.get_docstring(ast.parse(file.read_text())) or "")


def _directive(place: str) -> Iterator[str]:
    """The directive that describes the public name at `place`."""
    value = found(place)
    if inspect.isclass(value):
        yield f".. autoclass:: {place}"
        yield "   :members:"
    elif callable(value) and inspect.isroutine(value):
        yield f".. autofunction:: {place}"
    else:
        room, _, name = place.rpartition(".")
        yield f".. py:data:: {name}"
        yield f"   :module: {room}"
        yield f"   :value: {_short(value)}"


def _summary(place: str) -> str:
    """The first sentence of a docstring; of a constant, its value."""
    value = found(place)
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"``{_short(value)}``"
    first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return restructured(first, place.split(".")[1])


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("room", Room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
