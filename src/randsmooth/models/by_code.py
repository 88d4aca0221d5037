"""Models by code that makes them: imported as if it were run by itself.

It finds a command line of its own.
"""

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
from randsmooth.models.arguments import check_arguments
from randsmooth.models.base_classifier import is_model

# Begins the name of an argument that is an option of the code's own command line.
OPTION = "argv:"

# The options of modules that were imported, which read them then and never again.
_options_at_import = dict[str, list[str]]()


def from_code(source: str, **model_args: Any) -> Any:
    """Return what `source` names, or what that returns when called with `model_args`.

    The current folder is looked in too, and a file's own. Code that reads a command
    line finds one of its own there: its place, and an option for each argument whose
    name begins with "argv:".

    Args:
        source: "package.module:NAME" or "path/file.py:NAME".
        model_args: the arguments.

    Raises:
        Problem: the code cannot be imported, ends the program, has no such name, or
            what it names fails.
    """
    place, _, name = str(source).rpartition(":")
    of_command_line = {}
    of_function = {}
    for key, value in model_args.items():
        if key.startswith(OPTION):
            of_command_line[key] = value
        else:
            of_function[key] = value

    options = options_of(of_command_line)
    with _command_line(place, options):
        module = _imported(place, options)
        return _made(module, name, of_function)


def options_of(given: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line with an option for each argument.

    One that is true stands bare, and of a list the words come after it.

    Example:
        >>> options_of({"argv:depth": 20, "argv:cuda": True, "argv:sizes": [3, 5]})
        ['--depth=20', '--cuda', '--sizes', '3', '5']
    """
    words = list[str]()
    for key, value in given.items():
        option = f"--{key.removeprefix(OPTION)}"
        if value is True:
            words.append(option)
        elif isinstance(value, list | tuple):
            words += [option, *map(str, value)]
        else:
            words.append(f"{option}={value}")
    return words


def _made(module: ModuleType, name: str, arguments: Mapping[str, Any]) -> Any:
    """Return what is called `name` in a module, or what that returns.

    Args:
        module: the module of the user's code.
        name: perhaps with points in it.
        arguments: for a function.
    """
    where = module.__file__ or module.__name__
    named = _named(module, name, where)
    if not is_model(named) and callable(named):
        check_arguments(named, arguments, f"{where}:{name}")
        with _naming_fault(f"{where}:{name} failed"):
            return named(**arguments)
    if arguments:
        raise WrongModel(
            f"{where}:{name} is a model, not a function, so it takes no arguments; got "
            f"{[*arguments]}",
            field="model_arg",
        )
    return named


def _named(module: ModuleType, name: str, where: str) -> Any:
    """Return what is called `name` in a module.

    Raises:
        UnknownName: there is nothing of that name; the nearest is suggested.
    """
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            functions = inspect.getmembers(module, callable)
            names = [known for known, _ in functions if not known.startswith("_")]
            raise unknown(f"name in {where}", name, names)
        value = getattr(value, part)
    return value


@contextmanager
def _command_line(place: str, options: Sequence[str]) -> Iterator[None]:
    """Let code find a command line of its own, in place of that of this program."""
    ours = sys.argv
    sys.argv = [place, *options]
    try:
        yield
    finally:
        sys.argv = ours


def _imported(place: str, options: Sequence[str]) -> ModuleType:
    """Return the module at `place`, a file or a name."""
    _make_importable(Path.cwd())
    with _naming_fault(f"{place} cannot be imported"):
        if place.lower().endswith(".py"):
            return _module_in(Path(place).resolve())
        return _module(place, options)


def _make_importable(folder: Path) -> None:
    """Let the modules in `folder` be imported."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _module(name: str, options: Sequence[str]) -> ModuleType:
    """Return the module of a name.

    Raises:
        WrongModel: it was imported before, with other options than these.
    """
    before = _options_at_import.get(name, [])
    if name in sys.modules and before != [*options]:
        raise WrongModel(
            f"{name} was imported before, with the options "
            f"{' '.join(before) or 'none'}, and reads them once",
            file=name,
            fix="start anew",
        )
    module: ModuleType = pkgutil.resolve_name(f"{name}:")
    _options_at_import[name] = [*options]
    return module


def _module_in(file: Path) -> ModuleType:
    """Return the module in a file, which is run anew.

    It has a name of its own: a file may be called like a package that it imports.
    """
    _make_importable(file.parent)
    digest = hashlib.sha256(str(file).encode()).hexdigest()
    name = f"{file.stem}_{digest[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    # A file that ends in .py has both.
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Here dataclasses and pickle look for it.
    sys.modules[name] = module
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
        reason = f"exit status {error.code}"
        if isinstance(error.code, str):
            reason = shown(error)
        option = Setting("argv:NAME", "VALUE", of="model_arg")
        raise WrongModel(
            f"{fault}: it ended the program ({reason})",
            fix=("options of its own command line are given as ", option),
        ) from error
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise WrongModel(
            f"{fault} ({type(error).__name__}: {shown(error)}, in {frame.filename}, "
            f"line {frame.lineno})"
        ) from error
