"""The counter-based generator Philox4x64-10, whose words are a function of key and counter: the same on every device.

Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3". On the CPU the words come from NumPy's
`Philox`; on other devices they are computed in torch, in whole numbers, and are the same to the last bit.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

LANES = 4  # words of a counter
ROUNDS = 10
HALF = 0xFFFFFFFF
FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
GROWTH = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)  # of the key, from round to round


class Philox(NamedTuple):
    """A stream of 64-bit words: its two words of key, and the two upper words of each of its counters.

    The lowest word of a counter counts from 1 on, as NumPy does; the one above it is the `part` of the stream, so that
    parts have no word in common.
    """

    key0: int
    key1: int
    upper0: int
    upper1: int

    def words(self, part: int, count: int, start: int = 0) -> NDArray[np.uint64]:
        """`count` words of a part, from the word numbered `start`; computed on the CPU."""
        held, skipped = _held(), start % LANES
        counter = np.array([start // LANES, part, self.upper0, self.upper1], np.uint64)
        state = {"counter": counter, "key": np.array([self.key0, self.key1], np.uint64)}
        full: Any = {
            "bit_generator": "Philox",
            "state": state,
            "has_uint32": 0,
            "uinteger": 0,
        }
        held.state = full | {
            "buffer": np.zeros(LANES, np.uint64),
            "buffer_pos": LANES,
        }  # nothing is left in it
        drawn: NDArray[np.uint64] = held.random_raw(skipped + count)
        return drawn[skipped:]

    def signed(self) -> list[int]:
        """Its four words as the int64 numbers that have the same bits."""
        return [signed(word) for word in self]


_own = threading.local()


def _held() -> np.random.Philox:
    """This thread's generator: to set its state takes a tenth of the time that making another takes."""
    found: np.random.Philox | None = getattr(_own, "generator", None)
    if found is None:
        found = _own.generator = np.random.Philox(0)
    return found


def computed_words(streams: Tensor, part: int, places: Tensor) -> Tensor:
    """(..., 4) the words [4 c, 4 c + 4) of a part of each stream, for c in `places` (...).

    It is not compiled: torch.compile of 2.13 made kernels for CPUs that gave other words at the end of a tensor.

    Args:
        streams: (..., 4) `Philox.signed`, with the dimensions of `places` or 1 in their place.
        part: as of `Philox.words`.
        places: int64, from 0 on.

    Returns:
        int64 numbers with the bits of the words.
    """
    import torch

    k0, k1, c2, c3 = streams.unbind(-1)
    c0, c1 = places + 1, torch.full_like(places, part)
    for _ in range(ROUNDS):
        (low0, high0), (low1, high1) = (
            _product(c0, FACTORS[0]),
            _product(c2, FACTORS[1]),
        )
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + signed(GROWTH[0]), k1 + signed(GROWTH[1])
    return torch.stack([c0, c1, c2, c3], dim=-1)


def signed(word: int) -> int:
    """The int64 with the bits of a 64-bit `word`; sums and products of such numbers wrap as those of the words do."""
    return word - (1 << 64) if word >> 63 else word


def _product(x: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Lower and upper word of the product of the words `x` and `factor`, by halves of 32 bits."""
    below, above, f_below, f_above = x & HALF, _upper(x), factor & HALF, factor >> 32
    low, across, over, high = (
        below * f_below,
        above * f_below,
        below * f_above,
        above * f_above,
    )
    middle = _upper(low) + (across & HALF) + (over & HALF)  # below 3 * 2^32
    return x * signed(factor), high + _upper(across) + _upper(over) + _upper(middle)


def _upper(x: Tensor) -> Tensor:
    """The upper 32 bits, as a number from 0 on: torch's shift fills up with the sign."""
    return (x >> 32) & HALF
