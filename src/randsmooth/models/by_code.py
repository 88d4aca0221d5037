"""Models by code that makes them: imported as if it were run by itself, with a command line of its own."""

import hashlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import Problem, Setting, WrongModel, unknown
from randsmooth.models.base_classifier import is_model
from randsmooth.models.sources import check_arguments

OPTION = "argv:"  # begins the name of an argument that is an option of the code's own command line

_OPTIONS_OF: dict[
    str, list[str]
] = {}  # of modules that were imported, which read them then and never again


def from_code(source: str, **model_args: Any) -> Any:
    """What "package.module:NAME" or "path/file.py:NAME" names, or returns when called with `model_args`.

    The current folder is looked in too, and a file's own. Code that reads a command line finds one of its own there:
    its place, and an option for each argument whose name begins with "argv:".

    Raises:
        Problem: the code cannot be imported, ends the program, has no such name, or what it names fails.
    """
    place, _, name = str(source).rpartition(":")
    options = options_of(
        {key: value for key, value in model_args.items() if key.startswith(OPTION)}
    )
    arguments = {
        key: value for key, value in model_args.items() if not key.startswith(OPTION)
    }
    with _command_line(place, options):
        return _made(place, name, options, arguments)


def options_of(given: Mapping[str, Any]) -> list[str]:
    """The words of a command line with an option for each argument: bare where it is true, with words after a list.

    Example:
        >>> options_of({"argv:depth": 20, "argv:cuda": True, "argv:sizes": [3, 5]})
        ['--depth=20', '--cuda', '--sizes', '3', '5']
    """
    words = []
    for key, value in given.items():
        option = f"--{key.removeprefix(OPTION)}"
        if value is True:
            words.append(option)
        elif isinstance(value, list | tuple):
            words += [option, *map(str, value)]
        else:
            words.append(f"{option}={value}")
    return words


def _made(
    place: str, name: str, options: Sequence[str], arguments: dict[str, Any]
) -> Any:
    """What is called `name` in the code at `place`, or what it returns."""
    _importable(Path.cwd())
    with _naming_fault(f"{place} cannot be imported"):
        module = (
            _module_in(Path(place).resolve())
            if place.lower().endswith(".py")
            else _module(place, options)
        )
    found, where = module, module.__file__ or module.__name__
    for part in name.split("."):
        if not hasattr(found, part):
            callables = inspect.getmembers(module, callable)
            names = [called for called, _ in callables if not called.startswith("_")]
            raise unknown(f"name in {where}", name, names)
        found = getattr(found, part)
    if not is_model(found) and callable(found):
        check_arguments(found, arguments, f"{where}:{name}")
        with _naming_fault(f"{where}:{name} failed"):
            return found(**arguments)
    if arguments:
        raise WrongModel(
            f"{where}:{name} is a model, not a function, so it takes no arguments; got {[*arguments]}"
        )
    return found


@contextmanager
def _command_line(place: str, options: Sequence[str]) -> Iterator[None]:
    """A command line of the code's own, in place of that of this program."""
    ours = sys.argv
    sys.argv = [place, *options]
    try:
        yield
    finally:
        sys.argv = ours


def _importable(folder: Path) -> None:
    """Let what is in `folder` be imported."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _module(place: str, options: Sequence[str]) -> ModuleType:
    """The module at `place`. Problem where it was imported before, with other options than these."""
    before = _OPTIONS_OF.get(place, [])
    if place in sys.modules and before != [*options]:
        had = " ".join(before) or "none"
        raise WrongModel(
            f"{place} was imported before, with the options {had}, and reads them once: start anew",
            file=place,
        )
    module: ModuleType = pkgutil.resolve_name(f"{place}:")
    _OPTIONS_OF[place] = [*options]
    return module


def _module_in(file: Path) -> ModuleType:
    """The module in `file`, under a name of its own: a file may be called like a package that it imports."""
    _importable(file.parent)
    name = f"{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # of a file that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickle look for it
    spec.loader.exec_module(module)
    return module


@contextmanager
def _naming_fault(fault: str) -> Iterator[None]:
    """Turn whatever a user's code raises into a Problem with the place in that code."""
    try:
        yield
    except Problem:
        raise
    except SystemExit as error:  # as argparse ends where it misses an option
        said = (
            shown(error) if isinstance(error.code, str) else f"exit status {error.code}"
        )
        option = Setting("argv:NAME", "VALUE", of="model_arg")
        raise WrongModel(
            f"{fault}: it ended the program ({said})",
            fix=("options of its own command line are given as ", option),
        ) from error
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {shown(error)}"
        raise WrongModel(
            f"{fault} ({reason}, in {where.filename}, line {where.lineno})"
        ) from error
