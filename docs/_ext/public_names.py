"""The public names, read from the stubs of the rooms, and where the reference describes each."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import NamedTuple

import randsmooth
from randsmooth.extras import MissingPackage

ROOT = Path(randsmooth.__file__).parent
CALL = re.compile(r"(?s)(?P<name>[A-Za-z_][\w.]*)(?:\(.*\))?")


class Listed(NamedTuple):
    """A name that a stub lists."""

    name: str
    module: str  # the module below the room that defines it; empty for a room


def listed(stub: Path) -> list[Listed]:
    """The names of a stub, in its order."""
    imports = (node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom))
    return [Listed(alias.asname or alias.name, node.module or "") for node in imports for alias in node.names]


ROOMS = {stub.parent.name: listed(stub) for stub in sorted(ROOT.glob("*/__init__.pyi"))}
FACE = [entry for entry in listed(ROOT / "__init__.pyi") if entry.module]  # what is `rs.NAME`; rooms are no entries

# "certify" and "certification.certify" -> "randsmooth.certification.certify": a name is described once, in its room.
PLACES = {f"{room}.{entry.name}": f"randsmooth.{room}.{entry.name}" for room, names in ROOMS.items() for entry in names}
PLACES |= {
    entry.name: PLACES.get(f"{entry.module}.{entry.name}", f"randsmooth.{entry.module}.{entry.name}") for entry in FACE
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
