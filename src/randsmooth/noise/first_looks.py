"""How the random bits of a pixel's noise lie in a stream, and what the first of them decide.

A pixel has 16 bits in the part FIRST of its stream, four pixels a word. Those few pixels that are not decided by them
have a word each in the part MORE, in the order of the pixels, of which the upper 48 bits count. A number that still
equals a threshold has 32 bits more at a time, from the part BEYOND, again in the order of the pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from randsmooth.noise.philox import LANES, Philox
from randsmooth.noise.thresholds import BITS, EXTRA, Thresholds

FIRST, MORE, BEYOND = 0, 1, 2
FIRST_BITS = 16
MORE_BITS = BITS - FIRST_BITS
TOGETHER = LANES * BITS // FIRST_BITS  # pixels whose first bits come from one counter
OPEN = int(np.iinfo(np.int16).min)  # in the place of a J: the first bits do not decide


def counters(pixels: int) -> int:
    """How many counters the first bits of a sample take; a sample begins with a counter of its own."""
    return -(-pixels // TOGETHER)


def first_looks(thresholds: Thresholds) -> NDArray[np.int16]:
    """(2^16,) the J of all 64-bit numbers that begin with these 16 bits; OPEN where they have several.

    They count as undecided also where the first or the last of them equals a threshold.
    """
    starts = np.arange(1 << FIRST_BITS, dtype=np.uint64) << np.uint64(MORE_BITS)
    ends = starts + np.uint64((1 << MORE_BITS) - 1)
    below = np.searchsorted(thresholds.rounded, starts, side="left")
    above = np.searchsorted(thresholds.rounded, ends, side="right")
    return np.where(below == above, below + thresholds.first, OPEN).astype(np.int16)


def beyond(stream: Philox) -> Callable[[], int]:
    """Gives the next 32 bits of the part BEYOND at each call, from a counter of their own."""
    place = itertools.count(0, LANES)
    return lambda: int(stream.words(BEYOND, 1, next(place))[0]) >> (BITS - EXTRA)
