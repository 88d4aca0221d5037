"""Verbs in processes of their own, forked from one that has imported torch: a start costs milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess

from randsmooth.cli.main import main

HEAVY = ["randsmooth.training.train", "randsmooth.certification.runner"]


@contextmanager
def server() -> Iterator[None]:
    """Keeps the process that the others are forked from, and waits for its end, so that its time is counted."""
    try:
        yield
    finally:
        forkserver._forkserver._stop()


def start(words: list[str]) -> BaseProcess:
    """`randsmooth WORDS`, which says nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *HEAVY])
    process = context.Process(target=verb, args=(words,))
    process.start()
    return process


def verb(words: list[str]) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    sys.argv = ["randsmooth", *words]
    main()
