"""What a command came to, as the fixture `cli` of the command line's tests gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Result(NamedTuple):
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]  # the fixture `cli`: a command line, word by word
