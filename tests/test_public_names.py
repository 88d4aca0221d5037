"""The public face: every room is reached after `import randsmooth`, lazily, and a name means one thing."""

import re
from pathlib import Path

import randsmooth
from fresh import python

ROOT = Path(randsmooth.__file__).parent
ROOMS = sorted(stub.parent.name for stub in ROOT.glob("*/__init__.pyi"))
WITHOUT_TORCH = ["bounds", "certificates", "metrics", "papers", "report", "rules"]

REACHED = """
import sys
from contextlib import suppress
import randsmooth as rs
heavy = {"numpy", "pandas", "scipy", "pyarrow", "torch", "matplotlib", "plotly", "jinja2"}
print(*sorted(heavy & set(sys.modules)), end="|")
for name in sys.argv[1:]:
    room = getattr(rs, name)
    assert set(room.__all__) <= set(dir(room)), name
    from randsmooth.extras import MissingPackage
    for public in room.__all__:
        with suppress(MissingPackage):  # a name of an extra that is not installed here
            getattr(room, public)
print(*sorted({"torch", "lightning_fabric", "matplotlib", "plotly"} & set(sys.modules)))
"""


def test_rooms_and_their_names_are_reached_from_a_fresh_import() -> None:
    for rooms in (WITHOUT_TORCH, sorted({*ROOMS} - {*WITHOUT_TORCH})):
        at_import, _, afterwards = python(REACHED, *rooms).partition("|")
        assert not at_import.split(), (
            "`import randsmooth` alone must load nothing heavy"
        )
        assert rooms != WITHOUT_TORCH or not afterwards.split()


def test_all_rooms_are_listed() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"cli"}
    assert folders == {*ROOMS} <= set(dir(randsmooth))


def test_no_module_hides_a_public_name() -> None:
    """A module that is loaded takes its name in the room, and hides what the room exports from another."""
    exported = re.compile(r"from \.([\w.]+) import (\w+) as \w+")
    for room in ROOMS:
        stub = (ROOT / room / "__init__.pyi").read_text()
        modules = {path.stem for path in (ROOT / room).glob("*.py")}
        hidden = {
            name
            for module, name in exported.findall(stub)
            if name in modules and module != name
        }
        assert not hidden, room
