"""A verb is a pydantic model of its settings and a function that runs them; its options and its YAML follow."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from randsmooth.atomic import write_atomically
from randsmooth.cli.failures import told
from randsmooth.documents import parse_yaml, read_file, shown
from randsmooth.errors import InputError, unknown
from randsmooth.escape import printable, say, shortened


class Settings(BaseModel):
    """What a verb runs on. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


FAILURE = 1
MOST_CONFIG = 2**16  # bytes; room for a thousand files, and read in seconds whatever it holds
INTERRUPTED = 130  # as shells tell of a process that Ctrl-C ended
MOST_SAID = 8_000  # characters of an error: the known presets, which the longest names, take fewer
S = TypeVar("S", bound=Settings)
VERBS: dict[str, type[Settings]] = {}  # by name, as `add` makes them known


def argument(help: str, **kwargs: Any) -> Any:
    """A setting given by its place on the command line."""
    return Field(description=help, json_schema_extra={"place": True}, **kwargs)


def option(help: str, default: Any = None, **kwargs: Any) -> Any:
    """A setting given as --name; `flag` is its name where that is not the field's."""
    return Field(default, description=help, **kwargs)


def pairs(values: Any) -> Any:
    """`--set key=value` strings as a dictionary; a dictionary, from YAML, stays as it is."""
    if isinstance(values, dict):
        return values
    if not isinstance(values, list | tuple):
        raise InputError(f"{shown(repr(values))} must be `key: value` pairs")
    parsed = {}
    for text in values:
        key, equals, value = str(text).partition("=")
        if not equals:
            raise InputError(f"{text!r} must read key=value")
        parsed[key.strip()] = scalar(value)
    return parsed


def scalar(text: str) -> Any:
    """`text` as the YAML value it spells; 1e-3, which YAML 1.1 takes for a word, is a number here.

    What is no YAML at all, such as @abc or [1, is text: a folder may be called so, and a setting that wants something
    else names itself when it refuses it.
    """
    try:
        value = parse_yaml(text, "the value")
    except InputError:
        return text
    try:
        return float(value) if value == text.strip() else value  # not what is quoted, which is meant as text
    except ValueError:
        return value


def numbers(values: Any) -> Any:
    """`0,0.5,1` as a list of floats; a list, from YAML, stays as it is."""
    if not isinstance(values, str):
        return values
    try:
        return [float(value) for value in values.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{values!r} must be numbers separated by commas, such as 0,0.5,1") from None


def words(values: Any) -> Any:
    """`md,latex` as a list of words; a list, from YAML, stays as it is."""
    return values.replace(",", " ").split() if isinstance(values, str) else values


def add(app: typer.Typer, settings: type[S], run: Callable[[S], None]) -> None:
    """Add the verb named after `run` to `app`: an option for each setting, `--config` and `--save-config`."""
    verb = run.__name__.rstrip("_")
    VERBS[verb] = settings

    def command(**given: Any) -> None:
        config, save = given.pop("config"), given.pop("save_config")
        stated = {key: value for key, value in given.items() if value not in (None, [], ())}
        chosen = validate(settings, verb, (read_config(config, verb) if config else {}) | stated)
        if save:
            write_config(chosen, verb, save)
        resumes = "resume" in settings.model_fields
        try:
            run(chosen)
        except KeyboardInterrupt:
            way = "; what is finished is kept: the same command with --resume goes on" if resumes else ""
            say(f"\nrandsmooth: interrupted{way}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # nobody reads our output any more: no failure to speak of
            raise
        except OSError as error:
            say(f"randsmooth: {one_line(told(error, resumes=resumes))}", file=sys.stderr)
            raise typer.Exit(FAILURE) from None

    parameters = [_parameter(name, field) for name, field in settings.model_fields.items()]
    parameters += [
        _keyword(
            "config",
            Path,
            typer.Option("--config", metavar="FILE", help="Read settings from a YAML file; options given here win."),
        ),
        _keyword(
            "save_config",
            Path,
            typer.Option("--save-config", metavar="FILE", help="Write the settings to a YAML file for --config."),
        ),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app.command(verb, help=paragraphs(run.__doc__ or ""))(command)


def note(text: object) -> None:
    """Something that a user may want to know, on one line of stderr."""
    say(f"note: {one_line(text)}", file=sys.stderr)


def one_line(text: object) -> str:
    """What an error or a note says, though it quotes a file at length: printable, and no flood."""
    return shortened(printable(str(text)), MOST_SAID)


def paragraphs(docstring: str) -> str:
    """A docstring with each paragraph on one line, for the terminal to break."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(docstring).split("\n\n"))


def validate(settings: type[S], verb: str, values: Mapping[str, Any]) -> S:
    """The settings in `values`; InputError names the key that is unknown, missing or wrong."""
    for key in values:
        if key not in settings.model_fields:
            raise unknown(f"setting of `{verb}`", shown(key), settings.model_fields)
        if any("\0" in str(value) for value in _listed(values[key])):  # no name of a file, and nothing else either
            raise InputError(f"{_shown(key, settings.model_fields[key])} must not hold the character \\0")
    try:
        return settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]) if first["loc"] else verb
        option = _shown(key, settings.model_fields.get(key))
        if first["type"] == "value_error":  # ours, from reading the option
            raise InputError(f"{option}: {first['ctx']['error']}") from None
        if first["type"] == "missing":
            raise InputError(f"{verb} needs {option}; see `randsmooth {verb} --help`") from None
        raise InputError(f"{option}: {first['msg']}; got {shown(repr(first['input']))}") from None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def read_config(path: Path, verb: str) -> dict[str, Any]:
    """The settings in a YAML file, which may name its `verb` to be safe from another's."""
    if not path.is_file():
        raise InputError(f"no configuration file at {path}")
    values = parse_yaml(read_file(path, MOST_CONFIG), path)
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold `key: value` lines, the settings of `randsmooth {verb}`")
    meant = values.pop("verb", verb)
    if meant != verb:
        raise InputError(f"{path} configures `randsmooth {shown(meant)}`, not `randsmooth {verb}`")
    settings = {str(key).replace("-", "_"): value for key, value in values.items()}
    if len(settings) < len(values):
        raise InputError(f"{path} gives a setting twice, with - and with _: which of them is meant?")
    return settings


def write_config(settings: Settings, verb: str, path: Path) -> None:
    """Write `settings` so that `randsmooth VERB --config PATH` runs them again."""
    if path.exists():
        raise InputError(f"{path} exists; --save-config writes a new file")
    values = {"verb": verb, **settings.model_dump(mode="json", exclude_none=True, exclude={"resume", "overwrite"})}
    write_atomically(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    help = (field.description or "") + _default_words(field)
    if extra.get("place"):
        metavar = name.upper() + ("..." if typing.get_origin(field.annotation) is list else "")
        return _keyword(name, field.annotation, typer.Argument(metavar=metavar, help=help, show_default=False))
    shape = str(extra["metavar"]) if "metavar" in extra else None
    kind = extra.get("cli", field.annotation)
    return _keyword(
        name, kind, typer.Option(_flag(str(extra.get("flag", name))), metavar=shape, help=help, show_default=False)
    )


def _keyword(name: str, annotation: Any, info: Any) -> inspect.Parameter:
    """A parameter that is None unless given, so that a configuration file can tell."""
    optional = Annotated[annotation | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=optional)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _default_words(field: FieldInfo) -> str:
    default = field.default
    if default is None or default is False or default is PydanticUndefined or default in ([], {}):
        return ""
    return f" (default: {default})"


def _shown(key: str, field: FieldInfo | None) -> str:
    extra = field.json_schema_extra if field and isinstance(field.json_schema_extra, dict) else {}
    return key.upper() if extra.get("place") else _flag(str(extra.get("flag", key)))
