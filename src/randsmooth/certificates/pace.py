"""How often to sync, so that syncs take half a percent of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 200  # the time between two syncs, in units of the time that the first of them took


class Pace:
    """Decides when to sync: at once, and after a sync of t seconds not before another SHARE * t have passed.

    So all syncs but the last take less than 1/SHARE of the time, however slow the disk is.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.next = clock, -float("inf")

    def due(self) -> bool:
        return self.clock() >= self.next

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Around a sync."""
        start = self.clock()
        yield
        end = self.clock()
        self.next = end + SHARE * (end - start)
