"""The public face: every room is reached after `import randsmooth`, lazily, and a name means one thing."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import randsmooth

ROOT = Path(randsmooth.__file__).parent
STUBS = [pytest.param(stub, id=stub.parent.relative_to(ROOT.parent).as_posix()) for stub in ROOT.rglob("__init__.pyi")]
ROOMS = sorted(stub.parent.name for stub in ROOT.glob("*/__init__.pyi"))
WITHOUT_TORCH = ["bounds", "certificates", "metrics", "papers", "report", "rules"]

REACHED = """
import sys
import randsmooth as rs
heavy = {"numpy", "pandas", "scipy", "pyarrow", "torch", "matplotlib", "plotly", "jinja2"}
print(*sorted(heavy & set(sys.modules)), end="|")
for name in sys.argv[1:]:
    room = getattr(rs, name)
    assert set(room.__all__) <= set(dir(room)), name
    for public in room.__all__:
        getattr(room, public)
print(*sorted({"torch", "lightning_fabric", "matplotlib", "plotly"} & set(sys.modules)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("rooms", [WITHOUT_TORCH, sorted({*ROOMS} - {*WITHOUT_TORCH})], ids=["without torch", "others"])
def test_rooms_and_their_names_are_reached_from_a_fresh_import(rooms: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", REACHED, *rooms], capture_output=True, text=True, check=True)
    at_import, _, afterwards = ran.stdout.partition("|")
    assert not at_import.split(), "`import randsmooth` alone must load nothing heavy"
    assert rooms != WITHOUT_TORCH or not afterwards.split()


def test_all_rooms_are_listed() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"cli"}
    assert folders == {*ROOMS} <= set(dir(randsmooth))


def listed(stub: Path) -> list[tuple[str, bool]]:
    """The names that the stub of a package lists, and whether each is a module."""
    found = []
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found += [(alias.asname or alias.name, node.module is None) for alias in node.names]
    return found


@pytest.mark.parametrize("stub", STUBS)
def test_no_public_name_is_also_a_module(stub: Path) -> None:
    modules = {path.stem for path in stub.parent.glob("*.py")} | {
        path.parent.name for path in stub.parent.glob("*/*.py")
    }
    assert not {name for name, is_module in listed(stub) if not is_module} & modules


@pytest.mark.parametrize("stub", STUBS)
def test_a_thing_is_spelled_in_one_way(stub: Path) -> None:
    """But a function may be named as the class that it returns: `Envelope` and `envelope`."""
    package = importlib.import_module(".".join(stub.parent.relative_to(ROOT.parent).parts))
    spellings = defaultdict(set)
    for name, _ in listed(stub):
        spellings[name.lower().replace("_", "")].add(name)
    assert [group for group in spellings.values() if len(group) > 1 and not pair(package, group)] == []


def pair(package: object, group: set[str]) -> bool:
    """Whether two spellings are those of a class and of a function."""
    return len(group) == 2 and {inspect.isclass(getattr(package, name)) for name in group} == {True, False}
