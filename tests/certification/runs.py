"""What the tests of runs share: one that is interrupted, and when two tables are the same."""

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest

from randsmooth.certificates import Certificates
from randsmooth.progress import Silent

COLUMNS = ("idx", "label", "predict", "radius", "counts0", "counts")


def same(a: Certificates, b: Certificates) -> bool:
    """Whether all but the seconds agree."""
    paths = len(a.paths or ()) == len(b.paths or ()) and all(
        map(np.array_equal, a.paths or (), b.paths or ())
    )
    return (
        a.header == b.header
        and paths
        and all(np.array_equal(getattr(a, c), getattr(b, c)) for c in COLUMNS)
    )


class StopAfter(Silent):
    """Interrupts a run once so many images are done."""

    def __init__(self, images: int) -> None:
        self.left = images

    def advance(self, steps: int, info: str = "") -> None:
        self.left -= steps
        if self.left < 0:
            raise KeyboardInterrupt


def interrupt(
    run: Callable[..., object], *given: object, stop: int = 1, **how: object
) -> None:
    """Call `run`, which is interrupted once so many images are done."""
    with pytest.raises(KeyboardInterrupt):
        run(*given, progress=lambda *_: nullcontext(StopAfter(stop)), **how)
