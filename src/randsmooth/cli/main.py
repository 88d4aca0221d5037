"""The command line: `randsmooth VERB`."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TextIO

import typer

from randsmooth import __version__
from randsmooth.cli.failures import explained
from randsmooth.cli.groups import APPEARANCE, AllVerbs, DataVerbs
from randsmooth.cli.messages import BAD_INPUT, COMPLETION, FAILURE, INTERRUPTED, note, one_line
from randsmooth.errors import InputError, Note, SeveralErrors
from randsmooth.escape import say

app = typer.Typer(
    name="randsmooth",
    cls=AllVerbs,
    help="Train classifiers whose robustness can be proved, certify them, and judge them fairly.",
    subcommand_metavar="VERB [ARGS]...",
    no_args_is_help=True,
    epilog="Start with `randsmooth quickstart`. Exit codes: 0 done, 2 bad input, 1 failure.",
    **APPEARANCE,
)
app.add_typer(
    typer.Typer(subcommand_metavar="VERB [ARGS]...", no_args_is_help=True, **APPEARANCE),
    cls=DataVerbs,
    name="data",
    help="List and describe the data sets that have a name here.",
)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if show:
        say(f"randsmooth {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with its code: 0, 2 for bad input, 1 for failure."""
    if COMPLETION in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show
            app()
    except KeyboardInterrupt:  # before a verb had begun
        sys.exit(_stop("randsmooth: interrupted", INTERRUPTED))
    except InputError as error:
        faults = error.faults if isinstance(error, SeveralErrors) else [error]
        sys.exit(_stop("\n".join(f"randsmooth: {one_line(fault)}" for fault in faults), BAD_INPUT))
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.exit(_stop("", FAILURE))
    except OSError as error:
        sys.exit(_stop(f"randsmooth: {one_line(explained(error, resumes=False))}", FAILURE))
    except RuntimeError as error:
        sys.exit(_stop(f"randsmooth: {type(error).__name__}: {one_line(error)}", FAILURE))


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a note of ours as one line of words, and any other warning as Python does."""
    if issubclass(category, Note):
        note(message)
    else:
        say(warnings.formatwarning(message, category, filename, lineno, line).rstrip(), file=file or sys.stderr)


def _stop(message: str, code: int) -> int:
    if message:
        say(message, file=sys.stderr)
    return code
