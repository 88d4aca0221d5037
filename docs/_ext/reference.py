"""The reference of the public names: ```{room} metrics``` opens a room, and describes the names that are its body.

Docstrings are plain text with `names` in backticks: those of public names become links, all others code.
"""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import randsmooth
from randsmooth.extras import MissingPackage
from randsmooth.registry import Registry

ROOT = Path(randsmooth.__file__).parent
CALL = re.compile(r"(?s)(?P<name>[A-Za-z_][\w.]*)(?:\(.*\))?")
SPAN = re.compile(r"(?<![`:\w])`([^`\n]+)`(?![`_\w])")
NAMES = re.compile(
    r"^( {4}[\w*, ]+,)\n +(?=[\w*, ]+: )", re.MULTILINE
)  # of arguments, on more than one line
BEHIND = {  # what stands behind a type -> its name
    r"Annotated\[~?typing\.Any, .*?when_used=always\)\]": "Any",
    r"~?numpy\._typing\._array_like\._Buffer \|.*?\[complex \| bytes \| str\]": "ArrayLike",
    r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[(?:~?[\w.]*\.)?(\w+)\]\]": r"NDArray[\1]",
}
HERE_ALONE = re.compile(
    r"typing\.|collections\.abc\.| at 0x[0-9a-f]+"
)  # of values, what no reader types
# Letters that mean something in reStructuredText: "data:task" would be taken for an address, as would "a@b".
SPECIAL = re.compile(r"(?<=\w)_(?=\W|$)|(?<=\w)[:@](?=\w)|[*|\\]")


def listed(stub: Path) -> dict[str, str]:
    """Name -> the module below the room that defines it, of the names of a stub in its order; empty for a room."""
    imports = (
        node
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
    )
    return {
        alias.asname or alias.name: node.module or ""
        for node in imports
        for alias in node.names
    }


ROOMS = {stub.parent.name: listed(stub) for stub in sorted(ROOT.glob("*/__init__.pyi"))}
FACE = {
    name: module for name, module in listed(ROOT / "__init__.pyi").items() if module
}  # rooms are no entries

# "certify" and "certification.certify" -> "randsmooth.certification.certify": a name is described once, in its room.
PLACES = {
    f"{room}.{name}": f"randsmooth.{room}.{name}"
    for room, names in ROOMS.items()
    for name in names
}
PLACES |= {
    name: PLACES.get(f"{module}.{name}", f"randsmooth.{module}.{name}")
    for name, module in FACE.items()
}


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


def rewrite(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Rewrite the lines of a docstring, but for examples and what they print."""
    room = ".".join(name.split(".")[1:2])
    lines[:] = NAMES.sub(r"\1 ", "\n".join(lines)).split("\n")
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>> "))
        if not example:
            lines[i] = restructured(line, room)
    if what == "property":
        lines[:0] = [
            "..",
            "",
        ]  # an empty comment: napoleon takes what is before the first line's colon for a type


def by_alias(
    app: Sphinx, what: str, name: str, obj: object, options: object, *texts: str | None
) -> Any:
    """Signature and returned type with aliases by their names, in place of what stands behind them."""
    for behind, alias in BEHIND.items():
        texts = tuple(
            text and re.sub(behind, alias, text, flags=re.DOTALL) for text in texts
        )
    return texts


def unsaid(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out members of which nobody wrote anything: the fields of named tuples, those of other packages."""
    is_foreign = inspect.isfunction(obj) and not obj.__module__.startswith("randsmooth")
    return (
        is_foreign  # such as the methods that scikit-learn gives each estimator
        or name == "model_config"  # pydantic's own
        or (inspect.getdoc(obj) or "").startswith("Alias for field")
        or None
    )


def parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """reStructuredText on a page of Markdown."""
    return directive.parse_text_to_nodes("\n".join(["````{eval-rst}", *lines, "````"]))


class Room(SphinxDirective):
    """What a room is for; with a body, the reference of the names in it, of `rs` a list that leads into the rooms."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        room, names = self.arguments[0], " ".join(self.content).split()
        if room == "rs":
            return parsed(self, [line for name in names for line in listing(name)])
        for stub in ("__init__.pyi", "__init__.py"):
            self.env.note_dependency(str(ROOT / room / stub))
        if names:
            return parsed(
                self,
                [
                    line
                    for name in names
                    for line in described(f"randsmooth.{room}.{name}")
                ],
            )
        opening = (inspect.getdoc(getattr(randsmooth, room)) or "").splitlines()
        return parsed(
            self,
            [
                f".. py:module:: randsmooth.{room}",
                "",
                *(restructured(line, room) for line in opening),
            ],
        )


def listing(name: str) -> Iterator[str]:
    """A name of the public face with the first sentence about it; what lives in no room is described here."""
    if FACE[name] not in ROOMS:
        yield from described(PLACES[name])
        return
    opening = (inspect.getdoc(found(PLACES[name])) or "").partition("\n\n")[0]
    yield from (
        f"* :py:obj:`rs.{name} <{PLACES[name]}>`: {restructured(' '.join(opening.split()))}",
        "",
    )


def described(place: str) -> Iterator[str]:
    """The directive that describes the public name at `place`."""
    value = found(place)
    if inspect.isclass(value):
        yield from (f".. autoclass:: {place}", "   :members:", "")
    elif inspect.isroutine(value):
        yield from (f".. autofunction:: {place}", "")
    else:
        room, _, name = place.rpartition(".")
        yield from (f".. py:data:: {name}", f"   :module: {room}")
        if isinstance(value, ModuleType):
            yield from (
                "",
                f"   {restructured((inspect.getdoc(value) or '').partition(chr(10))[0])}",
                "",
            )
        else:
            yield from (f"   :value: {shown(value)}", "")


def shown(value: object) -> str:
    """A constant on a line; of a registry or a mapping the names in it."""
    text = (
        ", ".join(value)
        if isinstance(value, Mapping | Registry)
        else " ".join(repr(value).split())
    )
    text = HERE_ALONE.sub("", text)
    return text if len(text) <= 120 else f"{text[:117]}..."


def of_a_module(
    app: Sphinx, env: Any, link: addnodes.pending_xref, text: nodes.Node
) -> nodes.Node | None:
    """A type in a signature is named by the module that defines it: it leads to its public name, or nowhere."""
    parts = str(link.get("reftarget", "")).split(".")
    is_module = (
        len(parts) > 2
        and parts[0] == "randsmooth"
        and ROOT.joinpath(*parts[1:-1]).with_suffix(".py").exists()
    )
    if link.get("refdomain") != "py" or not (is_module or len(parts) == 1):
        return None
    place = PLACES.get(f"{parts[1]}.{parts[-1]}") if is_module else None
    if place is None:
        return text  # a type that is not public
    resolved = env.domains.python_domain.resolve_xref(
        env, link["refdoc"], app.builder, "obj", place, link, text
    )
    return resolved if isinstance(resolved, nodes.Node) else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", rewrite, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", by_alias)
    app.connect("autodoc-skip-member", unsaid)
    app.connect("missing-reference", of_a_module)
    app.add_directive("room", Room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
