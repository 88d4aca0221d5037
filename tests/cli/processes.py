"""What a command came to; and verbs in processes of their own, forked from one that has imported torch: a start costs
milliseconds.
"""

import atexit
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

from randsmooth.cli.main import main

HEAVY = ["randsmooth.training.run", "randsmooth.certification.run"]

_one_at_a_time = threading.Lock()


class Result(NamedTuple):
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str


class Run:
    """What the fixture `cli` is: runs a command line, word by word."""

    def __init__(self, run: Callable[..., Result]) -> None:
        self.run = run

    def __call__(self, *words: object) -> Result:
        return self.run(*words)

    def done(self, *words: object) -> Result:
        """What a command printed that does what it was asked."""
        result = self.run(*words)
        assert result.code == 0, result
        return result

    def refused(self, *words: object) -> str:
        """The error of a command that was given bad input."""
        result = self.run(*words)
        assert result.code == 2 and "Traceback" not in result.err, result
        return result.err

    def refuses(self, cases: Mapping[str, str], *before: object) -> None:
        """Each command line, `before` and then more words, is refused, and its error holds what is said of it."""
        for words, said in cases.items():
            assert said in (error := self.refused(*before, *words.split())), (
                words,
                error,
            )


@contextmanager
def server(heavy: Sequence[str] = HEAVY) -> Iterator[None]:
    """Keeps the process that the others are forked from, and waits for its end, so that its time is counted."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([__name__, *heavy])
    try:
        yield
    finally:
        forkserver._forkserver._stop()  # type: ignore[attr-defined]


def start(
    words: list[str],
    folder: Path | None = None,
    said: Path | None = None,
    before: Callable[[], None] | None = None,
) -> BaseProcess:
    """`randsmooth WORDS`, in `folder` if one is given; what it says goes to `said`, or nowhere.

    `before` is called in its process first; the file `said` is there from that moment on. Whoever starts a process asks
    how all known others ended, which only one thread is told, and any other takes for exit code 255: so this one is not
    known to others, and nobody but the caller asks after it.
    """
    process = multiprocessing.get_context("forkserver").Process(
        target=verb, args=(words, folder, said, before)
    )
    with _one_at_a_time:
        process.start()
        multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
    return process


def verb(
    words: list[str],
    folder: Path | None,
    said: Path | None,
    before: Callable[[], None] | None,
) -> None:
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored by what a shell starts in the background
    if folder is not None:
        os.chdir(folder)
    sys.argv = ["randsmooth", *words]
    if before is not None:
        before()
    talk = os.open(said or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for stream in (1, 2):
        os.dup2(talk, stream)
    try:
        main()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # as programs end, for which joblib's idle workers wait
        atexit._run_exitfuncs()


def unwrapped(err: str) -> str:
    """What was printed on stderr, each note on one line: a terminal's width breaks them."""
    return err.replace("\n  ", " ")
