"""The entry of the command line: finds a verb, and turns errors into exit codes.

No verb is imported for the help of all verbs, nor for an error in a verb's name.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from randsmooth import __version__
from randsmooth.cli.output import (
    BAD_INPUT,
    FAILURE,
    INTERRUPTED,
    explained,
    note,
    on_ctrl_c,
    one_line,
)
from randsmooth.cli.verbs import VERBS, Verb
from randsmooth.errors import Problem, RunFailed, check_known, each_problem
from randsmooth.escape import say
from randsmooth.notes import Note

# Settings of click for every verb and group.
CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 110,
}


class VerbGroup(click.Group):
    """Verbs by their names, each imported when somebody asks for it."""

    def __init__(self, verbs: Sequence[Verb], **settings: Any) -> None:
        super().__init__(
            context_settings=CONTEXT,
            subcommand_metavar="VERB [ARGS]...",
            no_args_is_help=True,
            **settings,
        )
        # In the group "data" the verb "data list" is called "list".
        self.verbs = {verb.name.split()[-1]: verb for verb in verbs}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, then those of the groups."""
        return [*self.verbs, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Return the command of a verb. Problem for a name that no verb has."""
        check_known("command", self.list_commands(ctx), cmd_name)
        # `commands` holds the groups, which `add_command` added.
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        # The help of all verbs does without pydantic, which this imports.
        from randsmooth.cli.command import make_command

        return make_command(self.verbs[cmd_name])

    def summaries(self) -> list[tuple[str, str]]:
        """Return each verb's name, and each group's, with what it does."""
        of_verbs = [(name, verb.summary) for name, verb in self.verbs.items()]
        of_groups = [(name, group.help or "") for name, group in self.commands.items()]
        return of_verbs + of_groups

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write a line for each verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(self.summaries())

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Return the verbs that begin like `incomplete`, or options."""
        verbs = [
            CompletionItem(name, help=summary)
            for name, summary in self.summaries()
            if name.startswith(incomplete)
        ]
        # The method of `Command`, not of `Group`, which would import every verb to see
        # whether it is hidden.
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


app = VerbGroup(
    # "data list" and "data describe" are in the group below.
    [verb for verb in VERBS if " " not in verb.name],
    name="randsmooth",
    help="Train classifiers whose robustness can be proved, certify them, and judge "
    "them fairly.",
    epilog="Start with `randsmooth quickstart`. "
    "Exit codes: 0 done, 2 bad input, 1 failure.",
)
app.add_command(
    VerbGroup(
        [verb for verb in VERBS if verb.name.startswith("data ")],
        name="data",
        help="List and describe the named data sets.",
    )
)
click.version_option(
    __version__,
    prog_name="randsmooth",
    message="%(prog)s %(version)s",
    help="Print the version and stop.",
)(app)  # Click's decorator, called on the group, adds --version to it.


def main() -> None:
    """Run the command line, and exit with 0, 2 for bad input, or 1 for failure."""
    on_ctrl_c()
    try:
        # Restores `showwarning` at the end.
        with warnings.catch_warnings():
            # Python's type names the last arguments, which `_show` takes as `*more`.
            warnings.showwarning = _show  # type: ignore[assignment]
            sys.exit(app(standalone_mode=False))
    except (KeyboardInterrupt, click.Abort):
        # Ctrl-C before `run_verb` or after it, which handles its own.
        sys.exit(_stop("randsmooth: interrupted", INTERRUPTED))
    except click.UsageError as error:
        sys.exit(_stop(_misuse(error), BAD_INPUT))
    except RunFailed as error:
        sys.exit(_stop(f"randsmooth: {one_line(error)}", FAILURE))
    except Problem as error:
        lines = [f"randsmooth: {one_line(problem)}" for problem in each_problem(error)]
        sys.exit(_stop("\n".join(lines), BAD_INPUT))
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does.
        sys.exit(FAILURE)
    except (OSError, RuntimeError) as error:
        sys.exit(_stop(f"randsmooth: {one_line(explained(error))}", FAILURE))
    finally:
        # A verb had Ctrl-C raise KeyboardInterrupt. While Python ends, that would print
        # a traceback.
        on_ctrl_c()


def _misuse(error: click.UsageError) -> str:
    """Return what to print for wrong arguments of the command line.

    Without any argument it is the help.
    """
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return message
    if isinstance(error, click.NoSuchOption):
        message = f"no such option: {error.option_name}"
        if error.possibilities:
            message += f" (did you mean {' or '.join(sorted(error.possibilities))}?)"
    path = error.ctx.command_path if error.ctx else "randsmooth"
    # Click's sentence follows a colon here.
    sentence = message[0].lower() + message[1:].rstrip(".")
    return f"randsmooth: {one_line(sentence)}; see `{path} --help`"


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    *more: Any,
) -> None:
    """Print a note of ours as one line, and any other warning as Python does."""
    if issubclass(category, Note):
        note(message)
        return
    text = warnings.formatwarning(message, category, filename, lineno)
    say(text.rstrip(), file=sys.stderr)


def _stop(message: str, code: int) -> int:
    """Print an error, and return the exit code that goes with it."""
    say(message, file=sys.stderr)
    return code
