"""The command of a verb: an option for each of its settings, `--config`, `--save-config`, and its exit codes."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.core import TyperCommand

from randsmooth.cli.configuration import as_given, read_config, validate, write_config
from randsmooth.cli.failures import explained
from randsmooth.cli.groups import APPEARANCE
from randsmooth.cli.messages import FAILURE, INTERRUPTED, one_line
from randsmooth.cli.names import MORE, REGISTRIES, from_other_packages, names
from randsmooth.cli.settings import Settings, kinds_in
from randsmooth.escape import say
from randsmooth.extras import needs
from randsmooth.frozen_record import is_whole

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

CONFIG = typer.Option("--config", metavar="FILE", help="Read settings from a YAML file; options given here win.")
SAVE_CONFIG = typer.Option("--save-config", metavar="FILE", help="Write the settings to a YAML file for --config.")


class VerbCommand(TyperCommand):
    """A command whose help lists arguments by name alone, and options with their types."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        shown: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            name, help = parameter.get_help_record(ctx) or ("", "")
            help = " ".join(filter(None, [help, from_other_packages(str(parameter.name))]))
            is_argument = parameter.param_type_name == "argument"
            shown[parameter.param_type_name].append((str(parameter.metavar) if is_argument else name, help))
        for title, lines in (("Arguments", shown["argument"]), ("Options", shown["option"])):
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def make_command(verb: str, run: Callable[[Any], None]) -> Command:
    """The command that gathers the settings of `run`, the function of `verb`, and calls it."""
    settings = settings_of(run)

    def callback(**given: Any) -> None:
        config, save = given.pop("config", None), given.pop("save_config", None)
        stated = {key: value for key, value in given.items() if value not in (None, [], ())}
        chosen = validate(settings, verb, (read_config(config, verb) if config else {}) | stated)
        if save:
            write_config(chosen, verb, save)
        with needs(f"randsmooth {verb}"):
            _run(run, chosen)

    parameters = [_parameter(name, field) for name, field in settings.model_fields.items()]
    if settings.in_files():
        parameters += [_keyword("config", Path, CONFIG), _keyword("save_config", Path, SAVE_CONFIG)]
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(**APPEARANCE)
    app.command(verb, cls=VerbCommand, help=paragraphs(run.__doc__ or ""), epilog=settings.epilog() or None)(callback)
    return typer.main.get_command(app)


def settings_of(run: Callable[[Any], None]) -> type[Settings]:
    """The class of the settings that a verb's function takes."""
    settings: type[Settings] = typing.get_type_hints(run)["settings"]
    return settings


def _run(run: Callable[[Any], None], settings: Settings) -> None:
    """Run a verb; an interruption or a failure of the system says whether --resume goes on."""
    resumes, goes_on = "resume" in type(settings).model_fields, type(settings).goes_on()
    try:
        run(settings)
    except KeyboardInterrupt:
        way = f"; what is finished is kept: {goes_on}" if goes_on else ""
        say(f"\nrandsmooth: interrupted{way}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has stopped reading: no failure to speak of
        raise
    except OSError as error:
        say(f"randsmooth: {one_line(explained(error, resumes=resumes))}", file=sys.stderr)
        raise typer.Exit(FAILURE) from None


def paragraphs(docstring: str) -> str:
    """A docstring with each paragraph on one line, for the terminal to break."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(docstring).split("\n\n"))


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    help = (field.description or "") + _default_words(field)
    kind = extra.get("cli") or typed(field.annotation)
    if extra.get("place"):
        place = typer.Argument(metavar=name.upper(), help=help, show_default=False, autocompletion=_completed(name))
        return _keyword(name, kind, place)
    whole = is_whole(field.annotation)  # read by the settings, which understand 1e5
    choices = typing.get_args(field.annotation) if typing.get_origin(field.annotation) is Literal else ()
    shape = str(extra["metavar"]) if "metavar" in extra else "INTEGER" if whole else None
    if shape is None and Path in kinds_in(field.annotation):
        shape = "PATH"
    if choices:
        shape = f"<{'|'.join(choices)}>"
    kind = str if whole or choices else kind  # and the settings name all choices
    return _keyword(name, kind, _option(name, field, shape, help, choices))


def typed(annotation: Any) -> Any:
    """The type that the command line takes: paths as text, since as paths URLs would lose a slash."""
    if Path not in kinds_in(annotation):
        return annotation
    several = any(typing.get_origin(kind) is list for kind in kinds_in(annotation))
    return list[str] if several else str


def _option(name: str, field: FieldInfo, shape: str | None, help: str, choices: Sequence[str]) -> Any:
    offer = _completed(name, choices)
    return typer.Option(as_given(name, field), metavar=shape, help=help, show_default=False, autocompletion=offer)


def _completed(setting: str, choices: Sequence[str] = ()) -> Callable[[str], list[str]] | None:
    """What a shell offers for a setting that is chosen by name; None leaves it to offer files."""
    if not choices and setting not in {*REGISTRIES, *MORE, "preset"}:
        return None

    def offered(incomplete: str) -> list[str]:
        return [name for name in choices or names(setting) if name.startswith(incomplete)]

    return offered


def _keyword(name: str, annotation: Any, info: Any) -> inspect.Parameter:
    """A parameter that is None unless given, so that a configuration file can fill it."""
    optional = Annotated[annotation | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=optional)


def _default_words(field: FieldInfo) -> str:
    default = field.default
    if default is None or default is False or default is PydanticUndefined or default in ([], {}):
        return ""
    return f" (default: {default})"
