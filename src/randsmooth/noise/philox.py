"""The counter-based generator Philox4x64-10, whose words are the same on every device.

They are a function of key and counter. On the CPU the words come from NumPy's `Philox`;
on other devices they are computed in torch, in whole numbers, and are the same to the
last bit.

Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

# Words of a counter.
LANES = 4

# The rounds of Philox4x64-10.
ROUNDS = 10

# The lower 32 bits of a word.
HALF = 0xFFFFFFFF

# What the two even words of a counter are multiplied by in a round.
FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)

# What the words of the key grow by from round to round.
GROWTH = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


class Philox(NamedTuple):
    """A stream of 64-bit words.

    The lowest word of a counter counts from 1 on, as NumPy does; the one above it is
    the `part` of the stream, so that parts have no word in common.

    Attributes:
        key0, key1: the two words of its key.
        upper0, upper1: the two upper words of each of its counters.
    """

    key0: int
    key1: int
    upper0: int
    upper1: int

    def words(self, part: int, count: int, start: int = 0) -> NDArray[np.uint64]:
        """Return `count` words of a part, from the word numbered `start`.

        They are computed on the CPU.
        """
        counter = [start // LANES, part, self.upper0, self.upper1]
        state: Any = {
            "bit_generator": "Philox",
            "state": {
                "counter": np.array(counter, np.uint64),
                "key": np.array([self.key0, self.key1], np.uint64),
            },
            "has_uint32": 0,
            "uinteger": 0,
            # Nothing is left in the buffer.
            "buffer": np.zeros(LANES, np.uint64),
            "buffer_pos": LANES,
        }
        generator = _generator_of_thread()
        generator.state = state
        skipped = start % LANES
        drawn: NDArray[np.uint64] = generator.random_raw(skipped + count)
        return drawn[skipped:]

    def signed(self) -> list[int]:
        """Return its four words as the int64 numbers that have the same bits."""
        return [signed(word) for word in self]


_of_thread = threading.local()


def _generator_of_thread() -> np.random.Philox:
    """Return this thread's generator.

    To set its state takes a tenth of the time that making another takes.
    """
    generator: np.random.Philox | None = getattr(_of_thread, "generator", None)
    if generator is None:
        generator = np.random.Philox(0)
        _of_thread.generator = generator
    return generator


def computed_words(streams: Tensor, part: int, places: Tensor) -> Tensor:
    """Return the words [4 c, 4 c + 4) of a part of each stream, for c in `places`.

    It is not compiled: torch.compile of 2.13 made kernels for CPUs that gave other
    words at the end of a tensor.

    Args:
        streams: (..., 4) `Philox.signed`, with the dimensions of `places` or 1 in their
            place.
        part: the part of the stream, see `Philox.words`.
        places: (...) int64, from 0 on.

    Returns:
        (..., 4) int64 numbers with the bits of the words.
    """
    import torch

    # The paper's letters: k for the key, c for the counter.
    k0, k1, c2, c3 = streams.unbind(-1)
    c0 = places + 1
    c1 = torch.full_like(places, part)
    for _ in range(ROUNDS):
        low0, high0 = _product(c0, FACTORS[0])
        low1, high1 = _product(c2, FACTORS[1])
        c0 = high1 ^ c1 ^ k0
        c1 = low1
        c2 = high0 ^ c3 ^ k1
        c3 = low0
        k0 = k0 + signed(GROWTH[0])
        k1 = k1 + signed(GROWTH[1])
    return torch.stack([c0, c1, c2, c3], dim=-1)


def signed(word: int) -> int:
    """Return the int64 with the bits of a 64-bit `word`.

    Sums and products of such numbers wrap as those of the words do.
    """
    return word - (1 << 64) if word >> 63 else word


def _product(x: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Return the lower and the upper word of the product of `x` and `factor`."""
    # By halves of 32 bits.
    x_lower = x & HALF
    x_upper = _upper(x)
    factor_lower = factor & HALF
    factor_upper = factor >> 32

    lower = x_lower * factor_lower
    across = x_upper * factor_lower
    over = x_lower * factor_upper
    upper = x_upper * factor_upper
    # Below 3 * 2^32.
    middle = _upper(lower) + (across & HALF) + (over & HALF)
    carried = _upper(across) + _upper(over) + _upper(middle)
    return x * signed(factor), upper + carried


def _upper(x: Tensor) -> Tensor:
    """Return the upper 32 bits, as a number from 0 on.

    torch's shift fills up with the sign.
    """
    return (x >> 32) & HALF
