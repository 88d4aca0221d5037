"""What the command line says: notes, failures of the system with the way out, answers, and the exit codes."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from randsmooth.errors import CODE, OutputExists
from randsmooth.escape import LONG, printable, say, shortened, to_csv, to_json
from randsmooth.progress import is_quiet

FAILURE = 1
BAD_INPUT = 2
INTERRUPTED = 130  # what shells report for a process that Ctrl-C ended
COMPLETION = "_RANDSMOOTH_COMPLETE"  # set by a shell that asks how to complete a line, or for the script that asks
LONGEST = 8_000  # characters of an error; the longest of ours, which lists the presets, has fewer
Answers = list[dict[str, Any]]


def note(text: object) -> None:
    """Print something that a user may want to know, on one line of stderr, unless asked to be quiet."""
    if not is_quiet():
        say(f"note: {one_line(text)}", file=sys.stderr)


def on_ctrl_c(act: Callable[..., Any] = lambda *_: os._exit(INTERRUPTED)) -> None:
    """Have Ctrl-C, and SIGTERM as `timeout` sends it, call `act`; by default they end the process, which has no lock.

    A `KeyboardInterrupt` while modules are loaded, or while Python ends, would print tracebacks of other packages.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, act)


def say_lines(lines: Iterable[str]) -> None:
    """Print each of `lines`, whatever names they quote."""
    for line in lines:
        say(printable(line))


def one_line(text: object) -> str:
    """`text` on one printable line, with its middle left out where it is very long because it quotes a file.

    What it gives to be pasted follows on lines of its own.
    """
    from randsmooth.urls import (
        with_urls,
    )  # here, since --help needs neither URLs nor locks, which take long to load

    said, begins, code = str(text).partition(CODE)
    return (
        shortened(printable(with_urls(said)), LONGEST)
        + begins
        + "\n".join(map(printable, code.splitlines()))
    )


def explained(error: OSError | RuntimeError) -> str:
    """`error` in a sentence, with the way on that a verb noted, if any."""
    if (
        not isinstance(error, OSError) or error.errno is None
    ):  # another library's, which says it in its own words
        return f"{type(error).__name__}: {error}"
    at = error.filename if isinstance(error.filename, str) else "a file"
    return f"{at}: {error.strerror}; mend that, then {getattr(error, '__notes__', ['try again'])[0]}"


@contextmanager
def writing(paths: Sequence[Path], *, overwrite: bool) -> Iterator[None]:
    """Be the one run that writes `paths`, of which the first stands for all of them; no folder is left empty.

    Raises:
        Problem: another run is writing them, or without `overwrite` one of them exists.
    """
    from randsmooth.atomic import claimed, sweep

    folder = paths[0].parent
    made = not folder.exists()
    try:
        with claimed(paths[0]):
            if there := [path for path in paths if not overwrite and path.exists()]:
                raise OutputExists(
                    f"{there[0]} exists; use --overwrite or another --out"
                )
            for path in paths:
                sweep(path)
            yield
    finally:
        if made:
            with suppress(OSError):  # something was written
                folder.rmdir()


def show_answers(answers: Answers, format: str) -> None:
    """Print answers about images, one a line, as text, CSV or JSON; an abstention has no label and radius 0."""
    from randsmooth.noise import printed_radius

    if format == "json":
        say(to_json(answers, indent=1))
    elif format == "csv":
        say(
            to_csv([list(answers[0]), *(list(answer.values()) for answer in answers)]),
            end="",
        )
    else:
        for answer in answers:
            radius = printed_radius(answer["radius"])
            image, label = (
                answer[key] and shortened(printable(answer[key]), LONG)
                for key in ("image", "label")
            )
            norm = f" ({answer['norm'].upper()})" if "norm" in answer else ""
            say(
                f"{image}  abstains"
                if label is None
                else f"{image}  {label}  radius {radius}{norm}"
            )
