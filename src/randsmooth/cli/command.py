"""The command of a verb: an option for each of its settings, `--config`, `--save-config`, and its exit codes."""

import inspect
import pkgutil
import signal
import sys
import tomllib
import typing
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from randsmooth.cli.main import APPEARANCE
from randsmooth.cli.options import check_no_secrets
from randsmooth.cli.output import INTERRUPTED, on_ctrl_c
from randsmooth.cli.settings import (
    Given,
    Settings,
    as_given,
    kinds_in,
    read_config,
    validate,
    write_config,
)
from randsmooth.cli.wording import spelling
from randsmooth.errors import Problem, SeveralProblems, each_problem
from randsmooth.escape import say
from randsmooth.extras import needs
from randsmooth.frozen_record import is_whole
from randsmooth.progress import quietly

CONFIG = typer.Option(
    "--config",
    metavar="FILE",
    help="Read settings from a YAML file; options given here win.",
)
QUIET = typer.Option(
    "--quiet", help="Print the answer and errors alone: no progress, no notes."
)
SAVE_CONFIG = typer.Option(
    "--save-config",
    metavar="FILE",
    help="Write the settings to a YAML file for --config.",
)

OPTIONS = tomllib.loads(
    Path(__file__).with_name("help_and_completion.toml").read_text(encoding="utf-8")
)
GROUPS, REGISTRIES, MORE = OPTIONS["groups"], OPTIONS["registries"], OPTIONS["more"]


class VerbCommand(TyperCommand):
    """A command whose help lists arguments by name alone, and options with their types, in groups."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        heads = {name: head for head, names in GROUPS.items() for name in names.split()}
        shown: dict[str, list[tuple[str, str]]] = {
            head: [] for head in ("Arguments", "Options", *GROUPS)
        }
        for parameter in sorted(
            self.get_params(ctx),
            key=lambda each: [*heads, each.name].index(str(each.name)),
        ):
            name, help = parameter.get_help_record(ctx) or ("", "")
            help = " ".join(
                filter(None, [help, _from_other_packages(str(parameter.name))])
            )
            if parameter.param_type_name == "argument":
                shown["Arguments"].append((str(parameter.metavar), help))
            else:
                shown[heads.get(str(parameter.name), "Options")].append((name, help))
        for head in [head for head in GROUPS if len(shown[head]) == 1]:
            shown["Options"] += shown.pop(head)  # which needs no heading of its own
        for head, lines in shown.items():
            if lines:
                with formatter.section(head):
                    formatter.write_dl(lines)


def make_command(verb: str, run: Callable[[Any], None]) -> Any:
    """The command that gathers the settings of `run`, the function of `verb`, and calls it."""
    settings = settings_of(run)

    def callback(**given: Any) -> None:
        config, save, quiet = (
            given.pop(name, None) for name in ("config", "save_config", "quiet")
        )
        stated = {
            key: value for key, value in given.items() if value not in (None, [], ())
        }
        try:
            with quietly() if quiet else nullcontext(), needs(f"randsmooth {verb}"):
                chosen = validate(
                    settings,
                    verb,
                    (read_config(config, verb) if config else {}) | stated,
                )
                if save:
                    check_no_secrets(chosen, "--save-config")
                    write_config(chosen, verb, save)
                _run(run, chosen)
        except Problem as error:
            spell = spelling(settings)
            raise SeveralProblems(
                *(Problem(problem.words(spell)) for problem in each_problem(error))
            ) from error

    parameters = [
        _parameter(name, field, settings)
        for name, field in settings.model_fields.items()
    ]
    if settings.in_files:
        parameters += [
            _keyword("config", Path, CONFIG),
            _keyword("save_config", Path, SAVE_CONFIG),
        ]
    parameters.append(_keyword("quiet", bool, QUIET))
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }
    app = typer.Typer(**APPEARANCE)
    app.command(
        verb,
        cls=VerbCommand,
        help=paragraphs(run.__doc__ or ""),
        epilog=settings.epilog() or None,
    )(callback)
    return typer.main.get_command(app)


def settings_of(run: Callable[[Any], None]) -> type[Settings]:
    """The class of the settings that a verb's function takes."""
    settings: type[Settings] = typing.get_type_hints(run)["settings"]
    return settings


def _run(run: Callable[[Any], None], settings: Settings) -> None:
    """Run a verb; an interruption or a failure of the system says how it goes on."""
    resumes = (
        "the same command with --resume goes on"
        if "resume" in type(settings).model_fields
        else ""
    )
    goes_on = settings.goes_on or resumes
    way = (
        f"{goes_on}: what is finished is kept"
        if goes_on
        else "run the same command again"
    )
    on_ctrl_c(signal.default_int_handler)
    try:
        run(settings)
    except KeyboardInterrupt:
        say(
            f"\nrandsmooth: interrupted{f'; {way}' if goes_on else ''}", file=sys.stderr
        )
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        error.add_note(way)
        raise


def paragraphs(docstring: str) -> str:
    """A docstring with each paragraph on one line, for the terminal to break."""
    return "\n\n".join(
        " ".join(part.split()) for part in inspect.cleandoc(docstring).split("\n\n")
    )


def _parameter(
    name: str, field: FieldInfo, settings: type[Settings]
) -> inspect.Parameter:
    given = Given.of(field)
    silent = (
        field.is_required()
        or field.default is None
        or field.default is False
        or field.default in ([], {})
    )
    help = (field.description or "") + (
        "" if silent else f" (default: {field.default})"
    )
    choices = (
        typing.get_args(field.annotation)
        if typing.get_origin(field.annotation) is Literal
        else ()
    )
    offer = _completed(name, choices)
    whole = is_whole(field.annotation)  # read by the settings, which understand 1e5
    kind = (
        str if whole or choices else given.kind or _typed(field.annotation)
    )  # the settings name all choices
    if given.place:
        place = typer.Argument(
            metavar=name.upper(), help=help, show_default=False, autocompletion=offer
        )
        return _keyword(name, kind, place)
    shape = (
        "INTEGER"
        if whole
        else "PATH"
        if Path in kinds_in(field.annotation)
        else given.metavar
    )
    shape = f"<{'|'.join(choices)}>" if choices else shape
    flag = as_given(name, settings)
    return _keyword(
        name,
        kind,
        typer.Option(
            flag, metavar=shape, help=help, show_default=False, autocompletion=offer
        ),
    )


def _typed(annotation: Any) -> Any:
    """The type that the command line takes: paths as text, since as paths URLs would lose a slash."""
    if Path not in kinds_in(annotation):
        return annotation
    return (
        list[str]
        if any(typing.get_origin(kind) is list for kind in kinds_in(annotation))
        else str
    )


def _completed(
    setting: str, choices: Sequence[str] = ()
) -> Callable[[str], list[str]] | None:
    """What a shell offers for a setting that is chosen by name; None leaves it to offer files."""
    if not choices and setting not in {*REGISTRIES, *MORE}:
        return None
    return lambda incomplete: [
        name for name in choices or names(setting) if name.startswith(incomplete)
    ]


def names(setting: str) -> list[str]:
    """What a setting can be, as far as it is chosen by name; nothing for any other.

    Example:
        >>> names("backend")[-1], names("out")
        ('auto', [])
    """
    if setting == "preset":
        from randsmooth.training.presets import PRESETS

        return list(dict.fromkeys(preset.name for preset in PRESETS))
    return [*_registry(setting), *MORE.get(setting, ())]


def _from_other_packages(setting: str) -> str:
    """A sentence on the names that other packages bring, for help; empty where there are none."""
    registry = _registry(setting)
    others = [
        f"{name} ({registry.credit(name)})"
        for name in registry
        if registry.credit(name)
    ]
    return f"Also {', '.join(others)}." if others else ""


def _registry(setting: str) -> Any:
    """The registry that has the names of a setting; an empty mapping for a setting that has none."""
    return pkgutil.resolve_name(REGISTRIES[setting]) if setting in REGISTRIES else {}


def _keyword(name: str, annotation: Any, info: Any) -> inspect.Parameter:
    """A parameter that is None unless given, so that a configuration file can fill it."""
    optional = Annotated[annotation | None, info]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=optional
    )
