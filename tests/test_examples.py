"""Every `>>>` example of the package runs, and every public function and class has one."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest
import torch

import randsmooth

ROOT = Path(randsmooth.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def dotted(path: Path) -> str:
    """The name by which the module or package in a file is imported."""
    parts = ("randsmooth", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


WITH_EXAMPLES = [dotted(path) for path in sorted(ROOT.rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what an example writes is not left in the checkout
    torch.manual_seed(0)
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, optionflags=FLAGS)
    assert tried, f"none of the examples in {name} is in a docstring"
    assert not failed


def test_no_example_picks_the_class_by_the_samples_that_bound_it() -> None:
    twice = re.compile(r"counts0=(counts\w*),[\s.]*counts=\1\b|Evidence\.of\((\w+), \2\b")
    assert not [path for path in ROOT.rglob("*.py") if twice.search(path.read_text())]


def public(stub: Path) -> Iterator[tuple[str, object]]:
    """The functions and classes that the stub of a package lists, with their names; no aliases such as a Literal."""
    package = importlib.import_module(dotted(stub))
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                value = getattr(package, name)
                if get_origin(value) is None and callable(value) and not isinstance(value, ModuleType):
                    yield name, value


def has_example(value: object) -> bool:
    """Whether the docstring of a function has an example, or that of a class or one of its methods."""
    members = list(vars(value).values()) if inspect.isclass(value) else []
    texts = [inspect.getdoc(part) or "" for part in (value, *members) if callable(part) or isinstance(part, property)]
    return any(">>> " in text for text in texts)


STUBS = [pytest.param(stub, id=dotted(stub)) for stub in sorted(ROOT.rglob("__init__.pyi"))]


@pytest.mark.parametrize("stub", STUBS)
def test_every_public_function_and_class_has_an_example(stub: Path) -> None:
    lacking = {name for name, value in public(stub) if not has_example(value)}
    assert not lacking
