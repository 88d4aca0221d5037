"""Models that Python code makes: `package.module:NAME` and `file.py:NAME`."""

from __future__ import annotations

import hashlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.models.adapters.registry import is_model
from randsmooth.models.sources import check_arguments, importable

T = TypeVar("T")


def from_module(source: str, **model_args: Any) -> Any:
    """What "package.module:NAME" names, or returns when called with `model_args`. The current folder is looked in too.

    Raises:
        InputError: the module cannot be imported, has no such name, or what it names fails.
    """
    importable(Path.cwd())
    module, _, name = source.partition(":")
    return _made(_run(lambda: pkgutil.resolve_name(f"{module}:"), f"{module} cannot be imported"), name, model_args)


def from_file(source: str, **model_args: Any) -> Any:
    """What "path/file.py:NAME" names, or returns when called with `model_args`. The file's folder can be imported from.

    Raises:
        InputError: as `from_module`.
    """
    path, _, name = str(source).rpartition(":")
    file = Path(path).resolve()
    importable(Path.cwd())
    importable(file.parent)
    return _made(_run(lambda: _module_in(file), f"{path} cannot be imported"), name, model_args)


def _module_in(file: Path) -> ModuleType:
    """The module in `file`, under a name of its own: a file may be called like a package that it imports."""
    name = f"{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # of a file that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickle look for it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _made(module: ModuleType, name: str, model_args: dict[str, Any]) -> Any:
    """What `name` in the module names, if that is a model; else what it returns."""
    where, found = f"{module.__file__ or module.__name__}:{name}", module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [each for each, value in vars(module).items() if callable(value) and each[0] != "_"]
            raise unknown(f"name in {module.__file__ or module.__name__}", name, names)
        found = getattr(found, part)
    if not is_model(found) and callable(found):
        check_arguments(found, model_args, where)
        return _run(lambda: found(**model_args), f"{where} failed")
    if model_args:
        raise InputError(f"{where} is a model, not a function, so it takes no arguments; got {[*model_args]}")
    return found


def _run(function: Callable[[], T], fault: str) -> T:
    """What `function` gives. InputError where a user's code raises anything, with the place in that code."""
    try:
        return function()
    except InputError:
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {shown(error)}"
        raise InputError(f"{fault} ({reason}, in {where.filename}, line {where.lineno})") from error
