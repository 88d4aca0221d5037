"""The command line: `randsmooth VERB`."""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

import typer

from randsmooth import __version__
from randsmooth.cli import (
    attack,
    certify,
    compare,
    data,
    evaluate,
    export,
    leaderboard,
    methods,
    predict,
    quickstart,
    reproduce,
    train,
    verify,
)
from randsmooth.cli.failures import told
from randsmooth.cli.verb import FAILURE, INTERRUPTED, add, note, one_line
from randsmooth.errors import InputError, Note, SeveralErrors
from randsmooth.escape import say

BAD_INPUT = 2

app = typer.Typer(
    name="randsmooth",
    help="Train classifiers whose robustness can be proved, certify them, and judge them fairly.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `randsmooth quickstart`. Exit codes: 0 done, 2 bad input, 1 failure.",
)
add(app, quickstart.Quickstart, quickstart.quickstart)
add(app, train.Train, train.train)
add(app, certify.Certify, certify.certify)
add(app, predict.Predict, predict.predict)
add(app, attack.Attack, attack.attack)
add(app, evaluate.Evaluate, evaluate.evaluate)
add(app, compare.Compare, compare.compare)
add(app, leaderboard.Leaderboard, leaderboard.leaderboard)
add(app, reproduce.Reproduce, reproduce.reproduce)
add(app, export.Export, export.export)
add(app, verify.Verify, verify.verify)
app.add_typer(data.app, name="data")
add(app, methods.Methods, methods.methods)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if show:
        say(f"randsmooth {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with its code: 0, 2 for bad input, 1 for failure."""
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
        sys.exit(_stop(f"randsmooth: {one_line(told(error, resumes=False))}", FAILURE))
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
    """A note of ours in words alone; what others warn of as Python does."""
    if issubclass(category, Note):
        note(message)
    else:
        say(warnings.formatwarning(message, category, filename, lineno, line).rstrip(), file=file or sys.stderr)


def _stop(message: str, code: int) -> int:
    if message:
        say(message, file=sys.stderr)
    return code
