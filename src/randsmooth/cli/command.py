"""The command of a verb: an argument or an option for each of its settings.

Every verb also has --quiet, and most have --config and --save-config.
"""

from __future__ import annotations

import signal
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from pydantic.fields import FieldInfo

from randsmooth.cli.completion import offer_for
from randsmooth.cli.config_files import read_config, write_config
from randsmooth.cli.help import VerbCommand, help_of, paragraphs, shape_of
from randsmooth.cli.kept_secrets import check_no_secrets
from randsmooth.cli.output import INTERRUPTED, on_ctrl_c
from randsmooth.cli.settings import (
    Given,
    Settings,
    as_given,
    holds_several,
    option_named,
    validate,
)
from randsmooth.cli.verbs import Verb
from randsmooth.cli.wording import worded_for
from randsmooth.escape import say
from randsmooth.extras import needs
from randsmooth.progress import quietly

Run = Callable[[Any], None]

CONFIG = click.Option(
    ["--config"],
    metavar="FILE",
    help="Read settings from a YAML file; options given here win.",
)
SAVE_CONFIG = click.Option(
    ["--save-config"],
    metavar="FILE",
    help="Write the settings to a YAML file for --config.",
)
QUIET = click.Option(
    ["--quiet"],
    is_flag=True,
    help="Print the answer and errors alone: no progress, no notes.",
)


def make_command(verb: Verb) -> VerbCommand:
    """Return the command of click that gathers the settings of a verb and runs it."""
    run = verb.load()
    settings = settings_of(run)

    # Click calls it with a keyword for each parameter of the command.
    def callback(
        *,
        quiet: bool,
        config: str | None = None,
        save_config: str | None = None,
        **given: Any,
    ) -> None:
        """Run the verb on the settings of the command line and of its file."""
        values = _stated(given)
        with (
            worded_for(settings),
            quietly() if quiet else nullcontext(),
            needs(f"randsmooth {verb.name}"),
        ):
            if config is not None:
                # The options that were typed win.
                values = read_config(Path(config), verb.name) | values
            chosen = validate(settings, verb.name, values)
            # The settings are saved before the run, so that a failed one can be repeated.
            if save_config is not None:
                check_no_secrets(chosen, "--save-config")
                write_config(chosen, verb.name, Path(save_config))
            run_verb(run, chosen)

    parameters: list[click.Parameter] = [
        parameter_of(name, field, settings)
        for name, field in settings.model_fields.items()
    ]
    if settings.in_files:
        parameters += [CONFIG, SAVE_CONFIG]
    parameters.append(QUIET)
    return VerbCommand(
        # The verb "data list" is the command "list" of the group "data".
        verb.name.split()[-1],
        params=parameters,
        callback=callback,
        help=paragraphs(run.__doc__ or ""),
        epilog=settings.epilog() or None,
    )


def settings_of(run: Run) -> type[Settings]:
    """Return the class of the settings that a verb's function takes."""
    # The annotation itself may be a text: `get_type_hints` gives the class.
    settings: type[Settings] = typing.get_type_hints(run)["settings"]
    return settings


def _stated(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that the command line names, without those left out.

    Click has None for an option that was left out, and () for one that takes several
    words.
    """
    values = {}
    for name, value in given.items():
        if isinstance(value, tuple):
            value = list(value) or None
        if value is not None:
            values[name] = value
    return values


def run_verb(run: Run, settings: Settings) -> None:
    """Run a verb; where it is interrupted or the system fails, say how it goes on."""
    # Until here, Ctrl-C ended the process at once. A run shall end by KeyboardInterrupt,
    # so that it frees its locks and keeps what it has.
    on_ctrl_c(signal.default_int_handler)
    try:
        with _how_to_go_on(settings):
            run(settings)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def _how_to_go_on(settings: Settings) -> Iterator[None]:
    """Say after Ctrl-C how the run goes on, and add it to an error of the system."""
    way_on = settings.way_on
    if not way_on and "resume" in type(settings).model_fields:
        way_on = "the same command with --resume goes on"
    if way_on:
        way_on += ": finished work is kept"
    try:
        yield
    except KeyboardInterrupt:
        ending = f"; {way_on}" if way_on else ""
        say(f"\nrandsmooth: interrupted{ending}", file=sys.stderr)
        raise
    except OSError as error:
        # `output.explained` ends the printed error with this note.
        error.add_note(way_on or "run the same command again")
        raise


def parameter_of(
    name: str, field: FieldInfo, settings: type[Settings]
) -> click.Parameter:
    """Return the argument or the option of click that gives a setting.

    Click hands all but flags on as texts: the settings read numbers from them.
    """
    given = Given.of(field)
    several = holds_several(field) and not given.by_commas
    help = help_of(name, field)
    offer = offer_for(name, field)
    if given.by_place:
        return click.Argument(
            [name],
            nargs=-1 if several else 1,
            # Not required on the command line: a file of --config may give it.
            required=False,
            help=help,
            shell_complete=offer,
        )

    flag = as_given(name, settings)
    if field.annotation is bool:
        if field.default is True:
            # Click's notation of a flag that can be turned off: --x/--no-x.
            flag += "/" + option_named(f"no_{name}")
        # The default is None, and not False, so that a flag that was left out does not
        # overrule the file of --config.
        return click.Option([flag, name], is_flag=True, default=None, help=help)
    return click.Option(
        [flag, name],
        multiple=several,
        metavar=given.metavar or shape_of(field),
        help=help,
        shell_complete=offer,
    )
