"""The command line: `randsmooth VERB`, whose help and errors import none of the verbs, and its exit codes."""

import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from randsmooth import __version__
from randsmooth.cli.output import (
    BAD_INPUT,
    COMPLETION,
    FAILURE,
    INTERRUPTED,
    explained,
    note,
    on_ctrl_c,
    one_line,
)
from randsmooth.cli.verbs import DATA_VERBS, VERBS, Verb
from randsmooth.errors import Problem, check_known, each_problem
from randsmooth.escape import say
from randsmooth.notes import Note

# Plain help: Rich's panels cost more to import than everything that the help itself needs.
APPEARANCE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
    },
}
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[
    1
]  # of whose kinds typer exports only this one
OF_VERBS: dict[str, Any] = {
    **APPEARANCE,
    "subcommand_metavar": "VERB [ARGS]...",
    "no_args_is_help": True,
}


class AllVerbs(TyperGroup):
    """`randsmooth VERB`: imports a verb when that verb is asked for. `commands` holds the groups below it."""

    verbs: ClassVar[Mapping[str, Verb]] = VERBS
    lists = False  # for a shell, which asks what there is

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [*self.verbs, *self.commands]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """The command of a verb, built from its settings. Raises Problem for a name that is not a verb's."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        check_known("verb", self.list_commands(ctx), cmd_name)
        if self.lists:
            return TyperCommand(cmd_name, help=self.verbs[cmd_name].help)
        from randsmooth.cli.command import make_command

        return make_command(cmd_name, self.verbs[cmd_name].load())

    def shell_complete(self, ctx: typer.Context, incomplete: str) -> Any:  # type: ignore[override]
        """The verbs that begin like `incomplete`, which are not imported for this, or the options."""
        self.lists = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.lists = False

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        lines = {name: verb.help for name, verb in self.verbs.items()}
        lines |= {name: command.help or "" for name, command in self.commands.items()}
        with formatter.section("Verbs"):
            formatter.write_dl([*lines.items()])


class DataVerbs(AllVerbs):
    """`randsmooth data VERB`"""

    verbs = DATA_VERBS


app = typer.Typer(
    name="randsmooth",
    cls=AllVerbs,
    help="Train classifiers whose robustness can be proved, certify them, and judge them fairly.",
    epilog="Start with `randsmooth quickstart`. Exit codes: 0 done, 2 bad input, 1 failure.",
    **OF_VERBS
    | {
        "add_completion": COMPLETION in os.environ
    },  # only a shell that asks needs what it loads
)
app.add_typer(
    typer.Typer(**OF_VERBS),
    cls=DataVerbs,
    name="data",
    help="List and describe the named data sets.",
)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(
        False, "--version", help="Print the version and stop.", is_eager=True
    ),
) -> None:
    if show:
        say(f"randsmooth {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with its code: 0, 2 for bad input, 1 for failure."""
    on_ctrl_c()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show  # type: ignore[assignment]  # its last arguments are Python's own
            sys.exit(app(standalone_mode=False))
    except (KeyboardInterrupt, typer.Abort):  # where a verb begins, or has ended
        sys.exit(_stop("randsmooth: interrupted", INTERRUPTED))
    except USAGE_ERROR as error:
        sys.exit(_stop(_misused(error), BAD_INPUT))
    except Problem as error:
        sys.exit(
            _stop(
                "\n".join(
                    f"randsmooth: {one_line(problem)}"
                    for problem in each_problem(error)
                ),
                BAD_INPUT,
            )
        )
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.exit(FAILURE)
    except (OSError, RuntimeError) as error:
        sys.exit(_stop(f"randsmooth: {one_line(explained(error))}", FAILURE))
    finally:
        on_ctrl_c()


def _misused(error: Any) -> str:
    """What is said of an option that there is not, or that lacks its value; the help where nothing was given at all."""
    said = str(error.format_message()).replace(
        "Value error, ", ""
    )  # pydantic's words for a value of a list
    if said.startswith("Usage:"):
        return said
    path = error.ctx.command_path if error.ctx else "randsmooth"
    return f"randsmooth: {said[0].lower()}{one_line(said[1:].rstrip('.'))}; see `{path} --help`"


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    *more: Any,
) -> None:
    """Print a note of ours as one line of words, and any other warning as Python does."""
    if issubclass(category, Note):
        note(message)
    else:
        say(
            warnings.formatwarning(message, category, filename, lineno).rstrip(),
            file=sys.stderr,
        )


def _stop(message: str, code: int) -> int:
    say(message, file=sys.stderr)
    return code
