"""Models that a user's code makes.

The code is imported as if it were run by itself: it finds its own command line in
`sys.argv`, not that of this program.
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

# The name of each imported module -> the options that it found in its command line. A module
# reads them when it is imported, and never again.
_options_at_import = dict[str, list[str]]()


def from_code(source: str, **model_args: Any) -> Any:
    """Return the model that `source` names, or the one that the named function returns.

    The code may import modules from the current folder, and a file those beside it. Code
    that reads a command line finds one of its own: its place, and an option for each
    argument whose name begins with "argv:".

    Args:
        source: "package.module:NAME" or "path/file.py:NAME".
        model_args: the arguments of the function, and options of the code's command line.

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

    An option with the value True stands alone; that of a list is followed by its parts.

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
    """Return the model called `name` in a module, or the one that the function returns.

    Args:
        module: the module of the user's code.
        name: a name in it, or one with points, such as `zoo.small`.
        arguments: the arguments of the function.

    Raises:
        Problem: there is no such name, it takes other arguments, or calling it fails.
    """
    where = module.__file__ or module.__name__
    named = _named(module, name, where)
    # A torch module can be called too, but it is the model itself.
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
            # What can be called may be a model, or make one.
            callables = inspect.getmembers(module, callable)
            names = [known for known, _ in callables if not known.startswith("_")]
            raise unknown(f"name in {where}", name, names)
        value = getattr(value, part)
    return value


@contextmanager
def _command_line(place: str, options: Sequence[str]) -> Iterator[None]:
    """Let code find its own command line in `sys.argv`, in place of this program's.

    Args:
        place: the file or the module of the code.
        options: the words after it.
    """
    of_this_program = sys.argv
    sys.argv = [place, *options]
    try:
        yield
    finally:
        sys.argv = of_this_program


def _imported(place: str, options: Sequence[str]) -> ModuleType:
    """Return the module at `place`, the path of a file or the name of a module."""
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
    """Return the module called `name`.

    Raises:
        WrongModel: it was imported before with other options. Importing it again would not
            run it again.
    """
    # Python, or this program, may have imported it without options.
    before = _options_at_import.get(name, [])
    if name in sys.modules and before != [*options]:
        raise WrongModel(
            f"{name} was imported before, with the options "
            f"{' '.join(before) or 'none'}, and reads them once",
            file=name,
            fix="start anew",
        )
    # The colon says that all before it is the module.
    module: ModuleType = pkgutil.resolve_name(f"{name}:")
    _options_at_import[name] = [*options]
    return module


def _module_in(file: Path) -> ModuleType:
    """Return the module in a file, which is run anew each time.

    Its name contains a hash of its path, since a file may be called like a package that it
    imports.
    """
    _make_importable(file.parent)
    digest = hashlib.sha256(str(file).encode()).hexdigest()
    name = f"{file.stem}_{digest[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    # Python knows how to load a file that ends in .py.
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses and pickle look for the module of a class here.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _naming_fault(fault: str) -> Iterator[None]:
    """Turn whatever a user's code raises into a Problem that names the line.

    Args:
        fault: the beginning of the message, which says what failed.
    """
    try:
        yield
    except Problem:
        raise
    # argparse ends the program where an option is missing.
    except SystemExit as error:
        reason = f"exit status {error.code}"
        if isinstance(error.code, str):
            reason = shown(error)
        option = Setting("argv:NAME", "VALUE", of="model_arg")
        raise WrongModel(
            f"{fault}: it ended the program ({reason})",
            fix=("options of its own command line are given as ", option),
        ) from error
    except Exception as error:
        # The last frame is the line that raised it.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise WrongModel(
            f"{fault} ({type(error).__name__}: {shown(error)}, in {frame.filename}, "
            f"line {frame.lineno})"
        ) from error
