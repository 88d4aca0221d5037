"""Who may import whom: rooms by the table below, and files never in a circle.

Imports are read from the source, wherever they stand: at the top, in a function, or under
TYPE_CHECKING. A name that a room exports lazily counts as an import of the file that has
it.
"""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import randsmooth

ROOT = Path(randsmooth.__file__).parent

# Room -> the rooms that it may import, besides itself and the modules at the top.
MAY_IMPORT: dict[str, set[str]] = {
    "bounds": set(),
    "noise": set(),
    "attacks": set(),
    "data": set(),
    "rules": {"bounds", "noise"},
    "certificates": {"bounds", "noise", "rules"},
    "metrics": {"bounds", "noise", "rules", "certificates"},
    "report": {"bounds", "noise", "rules", "certificates", "metrics"},
    "models": {"data", "noise"},
    "methods": {"attacks", "bounds", "noise"},
    "training": {"attacks", "data", "methods", "models", "noise"},
    "certification": {
        "attacks",
        "bounds",
        "certificates",
        "data",
        "metrics",
        "models",
        "noise",
        "rules",
    },
    "launch": {
        "bounds",
        "certificates",
        "certification",
        "data",
        "methods",
        "models",
        "noise",
        "report",
        "rules",
        "training",
    },
    "app": {
        "bounds",
        "certificates",
        "certification",
        "data",
        "launch",
        "metrics",
        "models",
        "noise",
        "report",
    },
    "papers": {
        "bounds",
        "certificates",
        "certification",
        "data",
        "launch",
        "methods",
        "metrics",
        "models",
        "noise",
        "report",
        "rules",
        "training",
    },
    "testing": {
        "attacks",
        "bounds",
        "certificates",
        "certification",
        "data",
        "methods",
        "metrics",
        "models",
        "noise",
        "report",
        "rules",
    },
}

# The command line imports anything, and nothing imports it.
MAY_IMPORT["cli"] = {*MAY_IMPORT}


def module_of(path: Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


FILES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def exported_by(stub: Path) -> dict[str, str]:
    """Return the names that a room exports lazily -> where they are, by its .pyi file."""
    package = module_of(stub)
    places = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.module else package
            for alias in node.names:
                places[f"{package}.{alias.name}"] = f"{module}.{alias.name}"
    return places


EXPORTED: dict[str, str] = {}
for stub in ROOT.rglob("__init__.pyi"):
    EXPORTED |= exported_by(stub)


def file_with(name: str) -> str:
    """Return the module that defines a name of ours, or that the name means."""
    while name not in FILES and name in EXPORTED:
        name = EXPORTED[name]
    return name if name in FILES else name.rpartition(".")[0]


def imported_by(path: Path) -> Iterator[str]:
    """Yield the modules of ours that a file imports, wherever that stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "randsmooth":
                yield file_with(name)


IMPORTS = {module: {*imported_by(path)} - {module} for module, path in FILES.items()}


def room_of(module: str) -> str | None:
    """Return the room of a module; None where it stands at the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else None


def test_a_room_imports_those_of_its_row_alone() -> None:
    for module, imported in IMPORTS.items():
        if module in ("randsmooth", "randsmooth.__main__"):
            continue
        room = room_of(module)
        allowed = {room, None} | MAY_IMPORT.get(room or "", set())
        beyond = {other for other in imported if room_of(other) not in allowed}
        assert not beyond, f"{module} imports {beyond}"


def test_every_folder_has_a_row() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders == {*MAY_IMPORT}


def test_no_files_import_each_other() -> None:
    # It raises CycleError, which names the files of a circle.
    TopologicalSorter(IMPORTS).prepare()


def test_no_reader_is_told_to_run_what_a_file_says() -> None:
    """Functions that run code whatever they are told are banned by the linter.

    See pyproject.toml.
    """
    running = re.compile(
        r"weights_only=(?!True\b)|allow_pickle=(?!False\b)|pickle_module"
    )
    for path in FILES.values():
        assert not running.search(path.read_text()), path
