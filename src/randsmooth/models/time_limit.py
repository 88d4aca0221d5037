"""A limit on the time that a call may take, whatever it waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, function: Callable[[], T]) -> T:
    """What `function` returns or raises, in a thread of its own.

    A thread cannot be stopped: one that takes too long goes on in the background, and what it returns is dropped. It
    does not keep the process alive.

    Raises:
        TimeoutError: it takes longer than `seconds`.

    Example:
        >>> within(10.0, lambda: 2 + 2)
        4
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            answer = function()
        except BaseException as error:
            result.set_exception(error)
        else:
            result.set_result(answer)

    threading.Thread(target=run, daemon=True).start()
    return result.result(timeout=seconds)
