"""Who imports whom: the house rules, read from the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import randsmooth

ROOT = Path(randsmooth.__file__).parent

# Modules at the top that any room may import, and that import at most a few of each other.
LEAVES = {
    *(
        "frozen_record",
        "errors",
        "notes",
        "escape",
        "extras",
        "progress",
        "atomic",
        "documents",
        "registry",
        "urls",
        "contents",
    ),
    *("children", "parquet_layout"),
}

# Of these the ones about files, here and at URLs, each built on those before it, may import each other.
URLS = {"extras", "atomic", "urls"}

ALLOWED: dict[str, set[str]] = {
    "bounds": set(),
    "noise": set(),
    "rules": {"noise", "bounds"},
    "certificates": {"rules", "noise", "bounds"},
    "metrics": {"certificates", "rules", "noise", "bounds"},
    "attacks": set(),
    "data": set(),
    "models": {"noise", "data"},
    "methods": {"attacks", "noise", "bounds"},
    "training": {"data", "models", "methods", "attacks", "noise"},
    "certification": {
        "models",
        "attacks",
        "noise",
        "data",
        "bounds",
        "rules",
        "certificates",
        "metrics",
    },
    "papers": {
        *(
            "training",
            "certification",
            "metrics",
            "certificates",
            "rules",
            "report",
            "noise",
            "bounds",
            "launch",
        ),
        *(
            "data",
            "models",
            "methods",
        ),  # what its measured objects hand from one to the other
    },
    "report": {"metrics", "certificates", "rules", "noise", "bounds"},
    "app": {
        *(
            "certification",
            "models",
            "data",
            "noise",
            "report",
            "certificates",
            "bounds",
        ),
        *("metrics", "launch"),  # what an assessment measures and plans
    },
    "launch": {
        "training",
        "certification",
        "report",
        "certificates",
        "rules",
        "noise",
        "bounds",
        "models",
        "methods",
        "data",
    },
    "testing": {
        *(
            "methods",
            "models",
            "data",
            "certificates",
            "rules",
            "certification",
            "report",
            "metrics",
        ),
        *("attacks", "noise", "bounds"),
    },
}
ROOMS = {*ALLOWED, "cli"}

# Names of the public face and the room that each comes from, as `randsmooth/__init__.pyi` lists them.
FACE = {
    alias.name: (node.module or alias.name).split(".")[0]
    for node in ast.parse((ROOT / "__init__.pyi").read_text()).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

PARSED = {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def room(path: Path) -> str:
    """The folder under src/randsmooth that a file is in, or the name of the module itself."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(path: Path) -> Iterator[str]:
    """Every module that is imported, wherever that stands: at the top, in a function, under TYPE_CHECKING."""
    for node in ast.walk(PARSED[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "randsmooth"
        ):
            yield f"randsmooth.{node.attr}"  # `import randsmooth`, then randsmooth.X


def home(module: str) -> str | None:
    """The room that `module` of ours belongs to; None for the package itself and its version."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] == "__version__":
        return None
    return FACE.get(parts[1], parts[1])


def ours(path: Path) -> set[str]:
    found = {
        home(module) for module in imports(path) if module.split(".")[0] == "randsmooth"
    }
    return {there for there in found if there is not None} - {room(path)}


def may_import(here: str) -> set[str]:
    """What the files of a room may import."""
    if here in ("__init__", "__main__", "cli"):
        return ROOMS | LEAVES
    if here in LEAVES:
        return {"errors", "escape", "documents", "notes"} | URLS
    assert here in ALLOWED, f"{here} has no row in the table"
    return ALLOWED[here] | LEAVES


def test_no_arrow_but_those_of_the_table() -> None:
    assert {
        path: beyond
        for path in PARSED
        if (beyond := ours(path) - may_import(room(path)))
    } == {}


def test_no_reader_is_told_to_run_what_a_file_says() -> None:
    """Functions that run code whatever they are told are banned by the linter (pyproject.toml)."""
    told = re.compile(r"weights_only=(?!True\b)|allow_pickle=(?!False\b)|pickle_module")
    assert not [path for path in PARSED if told.search(path.read_text())]
