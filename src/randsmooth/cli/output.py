"""The printed answers, notes and failures of the command line, and its exit codes."""

import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from randsmooth.errors import CODE, OutputExists
from randsmooth.escape import LONG, printable, say, shortened, to_csv, to_json
from randsmooth.notes import Note
from randsmooth.progress import is_quiet, terminal_columns, worded

# Exit codes: the command failed, and its input was refused.
FAILURE = 1
BAD_INPUT = 2
# The exit code that shells report for a process that Ctrl-C ended.
INTERRUPTED = 130

# The longest error of ours, which lists the presets, is shorter.
MOST_CHARACTERS_OF_AN_ERROR = 8_000

# Begins a line that is a command to paste.
COMMAND = "randsmooth "

Answers = list[dict[str, Any]]


def note(text: object) -> None:
    """Print a note for the user on stderr, unless asked to be quiet.

    The settings that a `Note` names are spelt as the verb's options. A terminal gets lines
    that fit it. In a file, which is searched, each note has one line.
    """
    if is_quiet():
        return
    if isinstance(text, Note):
        text = worded(text)
    lines = f"note: {one_line(text)}".splitlines()
    # The variable is set where somebody wants lines of this width, whatever reads them.
    if "COLUMNS" in os.environ or (sys.stderr is not None and sys.stderr.isatty()):
        lines = [*broken_to_fit(lines, terminal_columns())]
    for line in lines:
        say(line, file=sys.stderr)


def _exit_at_once(*_: object) -> None:
    """End the process, without what Python does at an exit."""
    os._exit(INTERRUPTED)


def on_ctrl_c(handler: Callable[..., Any] = _exit_at_once) -> None:
    """Have Ctrl-C, and SIGTERM as `timeout` sends it, call `handler`.

    Without a handler they end the process at once. That is for the time before a verb
    runs and after it: the process holds no lock, and a `KeyboardInterrupt` while modules
    are loaded, or while Python ends, would print tracebacks of other packages.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def broken_to_fit(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield the lines, each broken at spaces where it is longer than `width`.

    A line goes on below with its indent and two spaces more. Commands, which are to be
    pasted, are not broken.

    Example:
        >>> [*broken_to_fit(["  one two three", "  randsmooth certify demo"], 12)]
        ['  one two', '    three', '  randsmooth certify demo']
    """
    for line in lines:
        is_command = line.lstrip().startswith(COMMAND)
        if len(line) <= width or is_command:
            yield line
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        yield from textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )


def say_lines(lines: Iterable[str]) -> None:
    """Print each of `lines`, broken to fit the terminal, whatever a name in it has."""
    for line in broken_to_fit(map(printable, lines), terminal_columns()):
        say(line)


def one_line(text: object) -> str:
    """Return `text` on one printable line, without its middle where it is very long.

    Where an error holds code to paste into a file, the code follows on lines of its own.
    """
    # Late, as the help of all verbs needs no URLs, which take long to load.
    from randsmooth.urls import with_urls

    sentence, mark, code = str(text).partition(CODE)
    line = shortened(printable(with_urls(sentence)), MOST_CHARACTERS_OF_AN_ERROR)
    return line + mark + "\n".join(map(printable, code.splitlines()))


def explained(error: OSError | RuntimeError) -> str:
    """Return `error` in a sentence, with what to do next.

    `run_verb` adds that to an error of the system as a note.
    """
    if not isinstance(error, OSError) or error.errno is None:
        # Another library raised it, in its own words.
        return f"{type(error).__name__}: {error}"
    name = error.filename if isinstance(error.filename, str) else "a file"
    # An exception has the attribute only once a note was added to it.
    notes = getattr(error, "__notes__", ["try again"])
    return f"{name}: {error.strerror}; mend that, then {notes[0]}"


@contextmanager
def writing(paths: Sequence[Path], *, overwrite: bool) -> Iterator[None]:
    """Be the one run that writes `paths`, during this block.

    The lock on the first path stands for all of them. If the folder was made for the
    block and nothing was written, it is removed again.

    Args:
        paths: the files to write, in one folder.
        overwrite: whether they may exist.

    Raises:
        Problem: another run writes them, or one exists without `overwrite`.
    """
    # Late, as the help of a verb needs no locks, which take long to load.
    from randsmooth.atomic import claimed, sweep

    folder = paths[0].parent
    is_new = not folder.exists()
    try:
        # The lock makes the folder.
        with claimed(paths[0]):
            _check_free(paths, overwrite=overwrite)
            # Remove what a killed run left of them.
            for path in paths:
                sweep(path)
            yield
    finally:
        if is_new:
            # `rmdir` fails, as it shall, where something was written.
            with suppress(OSError):
                folder.rmdir()


def _check_free(paths: Sequence[Path], *, overwrite: bool) -> None:
    """Raise Problem for the first path that exists, unless it may be overwritten."""
    if overwrite:
        return
    for path in paths:
        if path.exists():
            raise OutputExists(f"{path} exists; use --overwrite or another --out")


def show_answers(answers: Answers, format: str) -> None:
    """Print answers about images as text, CSV or JSON.

    Args:
        answers: at least one answer; all have the same keys. An abstention has the label
            None and the radius 0.
        format: "text" or "csv", one answer a line, or "json".
    """
    if format == "json":
        say(to_json(answers, indent=1))
    elif format == "csv":
        rows = [list(answer.values()) for answer in answers]
        say(to_csv([list(answers[0]), *rows]), end="")
    else:
        for answer in answers:
            say(_answer_line(answer))


def _answer_line(answer: dict[str, Any]) -> str:
    """Return an answer about an image as a line for a person."""
    # Late, as the help of all verbs needs no noises.
    from randsmooth.noise import printed_radius

    image = shortened(printable(answer["image"]), LONG)
    if answer["label"] is None:
        return f"{image}  abstains"
    label = shortened(printable(answer["label"]), LONG)
    # Only models that may decline have this key.
    if answer.get("declined"):
        label = "declines"
    # Only texts have this key.
    if "words" in answer:
        may = "none"
        if answer["radius"] > 0.0:
            may = f"any {answer['radius']:.0f}"
        return f"{image}  {label}  {may} of its {answer['words']} words may be replaced"
    line = f"{image}  {label}  radius {printed_radius(answer['radius'])}"
    if "norm" in answer:
        line += f" ({answer['norm'].upper()})"
    return line
