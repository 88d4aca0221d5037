"""The ends of the cells of a rounded Gaussian, to as many binary digits as a comparison needs, and the bits compared.

A pixel has 16 bits in the part FIRST of its stream, four pixels a word. Those few pixels that are not decided by them
have a word each in the part MORE, in the order of the pixels, of which the upper 48 bits count. A number that still
equals a threshold has 32 bits more at a time, from the part BEYOND, again in the order of the pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath
import numpy as np
from numpy.typing import NDArray

from randsmooth.noise.philox import LANES, Philox

BITS = 64  # of the thresholds that are kept ready
EXTRA = 32  # bits that are drawn at a time for a number that begins like a threshold
GUARD = 40  # bits, beyond those asked for, that the distribution function is computed to
FIRST, MORE, BEYOND = 0, 1, 2
FIRST_BITS = 16
MORE_BITS = BITS - FIRST_BITS
TOGETHER = LANES * BITS // FIRST_BITS  # pixels whose first bits come from one counter
OPEN = int(np.iinfo(np.int16).min)  # in the place of a J: the first bits do not decide


class Thresholds:
    """F(j + 1/2) for integers j from `first` to `last` - 1, F being the distribution function of N(0, (255 sigma)^2).

    Cell j lies between F(j - 1/2) and F(j + 1/2). The first and the last cell include everything beyond them.

    Attributes:
        rounded: (last - first,) floor(2^64 F(j + 1/2)), ascending.
    """

    def __init__(self, sigma: float, *, first: int, last: int) -> None:
        self.scale, self.first = sigma, first
        below = [self.exact(j, BITS) for j in range(first, 0)]  # the others follow from 1 - F(t) = F(-t)
        above = [(1 << BITS) - 1 - value for value in reversed(below)]
        self.rounded = np.array(below + above, np.uint64)[: last - first]

    def exact(self, j: int, bits: int) -> int:
        """floor(2^bits F(j + 1/2)), computed with more and more digits until rounding cannot change it."""
        guard = GUARD
        while True:
            with mpmath.workprec(bits + guard):
                value = mpmath.ldexp(mpmath.ncdf(mpmath.mpf(2 * j + 1) / (510 * mpmath.mpf(self.scale))), bits)
                error = mpmath.ldexp(1, 8 - guard)  # the value is at most 2^bits
                below = max(0, int(mpmath.floor(value - error)))  # F lies strictly between 0 and 1
                above = min((1 << bits) - 1, int(mpmath.floor(value + error)))
            if below == above:
                return below
            guard *= 2

    def cells(self, numbers: NDArray[np.uint64], more: Callable[[], int]) -> NDArray[np.int64]:
        """The cells j of uniform numbers in [0, 1), given by their first 64 bits.

        A number whose 64 bits are those of a threshold gets 32 more bits from `more()` at a time, until it differs
        from the further digits of the threshold.
        """
        places = np.searchsorted(self.rounded, numbers, side="left")
        open_places = np.flatnonzero(self.rounded[np.minimum(places, len(self.rounded) - 1)] == numbers)
        for i in open_places.tolist():
            places[i] = self._drawn_on(int(numbers[i]), int(places[i]), more)
        return places + self.first

    def _drawn_on(self, number: int, place: int, more: Callable[[], int]) -> int:
        """How many thresholds are at most a number whose first 64 bits are those of the threshold at `place`."""
        bits = BITS
        while place < len(self.rounded) and int(self.rounded[place]) == number >> (bits - BITS):
            threshold = self.exact(self.first + place, bits)
            if number == threshold:
                bits, number = bits + EXTRA, (number << EXTRA) | more()
            elif number < threshold:
                break
            else:
                place += 1
        return place

    def first_looks(self) -> NDArray[np.int16]:
        """(2^16,) the J of all 64-bit numbers that begin with these 16 bits; OPEN where they have several.

        They count as undecided also where the first or the last of them equals a threshold.
        """
        starts = np.arange(1 << FIRST_BITS, dtype=np.uint64) << np.uint64(MORE_BITS)
        ends = starts + np.uint64((1 << MORE_BITS) - 1)
        below = np.searchsorted(self.rounded, starts, side="left")
        above = np.searchsorted(self.rounded, ends, side="right")
        return np.where(below == above, below + self.first, OPEN).astype(np.int16)


def counters(pixels: int) -> int:
    """How many counters the first bits of a sample take; a sample begins with a counter of its own."""
    return -(-pixels // TOGETHER)


def beyond(stream: Philox) -> Callable[[], int]:
    """Gives the next 32 bits of the part BEYOND at each call, from a counter of their own."""
    place = itertools.count(0, LANES)
    return lambda: int(stream.words(BEYOND, 1, next(place))[0]) >> (BITS - EXTRA)
