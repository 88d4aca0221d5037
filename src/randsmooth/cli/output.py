"""The printed answers, notes and failures of the command line, and its exit codes."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from randsmooth.errors import CODE, OutputExists
from randsmooth.escape import LONG, printable, say, shortened, to_csv, to_json
from randsmooth.notes import Note
from randsmooth.progress import is_quiet, worded

# Exit codes: the command failed, and its input was refused.
FAILURE = 1
BAD_INPUT = 2
# The exit code that shells report for a process that Ctrl-C ended.
INTERRUPTED = 130

# The longest error of ours, which lists the presets, is shorter.
MOST_CHARACTERS_OF_AN_ERROR = 8_000

Answers = list[dict[str, Any]]


def note(text: object) -> None:
    """Print a note for the user on one line of stderr, unless asked to be quiet.

    The settings that a `Note` names are spelt as the verb's options.
    """
    if is_quiet():
        return
    if isinstance(text, Note):
        text = worded(text)
    say(f"note: {one_line(text)}", file=sys.stderr)


def _exit_at_once(*_: object) -> None:
    os._exit(INTERRUPTED)


def on_ctrl_c(handler: Callable[..., Any] = _exit_at_once) -> None:
    """Have Ctrl-C, and SIGTERM as `timeout` sends it, call `handler`.

    By default they end the process, which holds no lock then. A `KeyboardInterrupt`
    while modules are loaded, or while Python ends, would print tracebacks of other
    packages.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def say_lines(lines: Iterable[str]) -> None:
    """Print each of `lines`, whatever names they quote."""
    for line in lines:
        say(printable(line))


def one_line(text: object) -> str:
    """Return `text` on one printable line, without its middle where it is very long.

    Code that it gives to be pasted follows on lines of its own.
    """
    # Help needs neither URLs nor locks, which take long to load.
    from randsmooth.urls import with_urls

    sentence, mark, code = str(text).partition(CODE)
    line = shortened(printable(with_urls(sentence)), MOST_CHARACTERS_OF_AN_ERROR)
    return line + mark + "\n".join(map(printable, code.splitlines()))


def explained(error: OSError | RuntimeError) -> str:
    """Return `error` in a sentence, with the way on that a verb noted, if any."""
    if not isinstance(error, OSError) or error.errno is None:
        # Another library raised it, in its own words.
        return f"{type(error).__name__}: {error}"
    place = error.filename if isinstance(error.filename, str) else "a file"
    ways_on = getattr(error, "__notes__", ["try again"])
    return f"{place}: {error.strerror}; mend that, then {ways_on[0]}"


@contextmanager
def writing(paths: Sequence[Path], *, overwrite: bool) -> Iterator[None]:
    """Be the one run that writes `paths`, of which the first stands for all.

    A folder that is made for them is not left empty.

    Raises:
        Problem: another run writes them, or one exists without `overwrite`.
    """
    from randsmooth.atomic import claimed, sweep

    folder = paths[0].parent
    is_new = not folder.exists()
    try:
        with claimed(paths[0]):
            _check_free(paths, overwrite=overwrite)
            for path in paths:
                sweep(path)
            yield
    finally:
        if is_new:
            # It is not empty where something was written.
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
    """Print answers about images, one a line, as text, CSV or JSON.

    An abstention has no label and radius 0.
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
    from randsmooth.noise import printed_radius

    image = shortened(printable(answer["image"]), LONG)
    if answer["label"] is None:
        return f"{image}  abstains"
    label = shortened(printable(answer["label"]), LONG)
    line = f"{image}  {label}  radius {printed_radius(answer['radius'])}"
    if "norm" in answer:
        line += f" ({answer['norm'].upper()})"
    return line
