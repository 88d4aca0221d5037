"""Noise without float error: the exact distribution of a noisy image rounded to the grid k/255.

In floats, x + noise is not Gaussian around x: which numbers can come out depends on x, and an adversary may use that
(Voracek & Hein, ICLR 2023). Here the base classifier rounds to k/255 first, within a clip far outside [0, 1], and what
it sees is drawn exactly: from whole random numbers, compared with thresholds that were computed to as many digits
as a comparison needs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.errors import InputError
from randsmooth.noise.stream import Stream
from randsmooth.noise.thresholds import BITS, Thresholds

WIDE = 9  # sigmas beyond [0, 1] at which the clip lies: noise reaches it once in 10^19 pixels
FIRST_BITS = 16  # of a random number decide nearly every pixel by one look into a table
UNDECIDED = np.iinfo(np.int16).min
LARGEST_SIGMA = 8.0
OFF_GRID = 2.0**-15  # of a pixel times 255: what storing k/255 in float32 may round away, and no more


@lru_cache(maxsize=16)
def lattice(sigma: float) -> Lattice:
    """The sampler for noise of standard deviation `sigma`, made once. InputError for a sigma that is too large."""
    return Lattice(sigma)


def check_on_lattice(x: Tensor) -> None:
    """Raise InputError unless every value of `x` is k/255 for a whole k from 0 to 255, as float32 stores it."""
    scaled = x.double() * 255.0
    off = ((scaled - scaled.round()).abs() > OFF_GRID) | (scaled < -OFF_GRID) | (scaled > 255.0 + OFF_GRID)
    if bool(off.any()):
        value = float(x[off][0])
        raise InputError(
            f"pixel value {value:.9g} is not on the grid k/255 (k = 0..255), which sound certification is about: save "
            "the images with 8 bits a channel, or certify without --sound"
        )


class Lattice:
    """Draws clip(k + J) / 255 for pixels k/255, J being Gaussian noise rounded to whole numbers.

    P(J = j) = Phi((j + 1/2) / (255 sigma)) - Phi((j - 1/2) / (255 sigma)), exactly: J does not depend on k.
    """

    def __init__(self, sigma: float) -> None:
        if sigma > LARGEST_SIGMA:
            raise InputError(f"sigma={sigma} is above {LARGEST_SIGMA:g}, the largest for sound certification")
        reach = int(np.ceil(WIDE * 255.0 * sigma)) + 1
        self.low, self.high = -reach, 255 + reach
        # The clip of k + J is one of k + J whatever J does beyond these.
        self.thresholds = Thresholds(sigma, first=-reach - 255, last=reach + 255)
        self.table = _first_looks(self.thresholds)
        self.values = (np.arange(self.low, self.high + 1, dtype=np.float32) / np.float32(255.0)).astype(np.float32)
        self._on_device: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def perturb(self, out: Tensor, x: Tensor, *, stream: Stream) -> None:
        """Set `out` (n, C, H, W), contiguous float32, to noisy copies of `x` (C, H, W), which lies on the grid.

        On the CPU this leaves torch's own threads alone, and a shorter `out` does not hold the first numbers of a
        longer one. On CUDA a pixel whose 63 random bits meet a threshold (once in 10^16) becomes NaN.
        """
        if out.device.type != "cpu":
            self._perturb_on_device(out, x, stream)
            return
        k = np.rint(x.numpy() * 255.0).astype(np.int32)
        places = self.integers(stream.numpy(), out.shape).astype(np.int32)
        places += k - self.low
        np.clip(places, 0, self.high - self.low, out=places)
        np.take(self.values, places, out=out.numpy(), mode="clip")

    def integers(self, generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int16]:
        """J of `shape`: 16 bits each first, and 48 more for the few that these leave open."""
        count = int(np.prod(shape))
        bits = np.frombuffer(generator.bytes(2 * count), np.uint16)
        drawn = np.take(self.table, bits)
        open_places = np.flatnonzero(drawn == UNDECIDED)
        more = generator.integers(0, 1 << (BITS - FIRST_BITS), size=len(open_places), dtype=np.uint64)
        whole = (bits[open_places].astype(np.uint64) << np.uint64(BITS - FIRST_BITS)) | more
        drawn[open_places] = self.thresholds.cells(whole, lambda: int(generator.integers(0, 1 << 32)))
        return drawn.reshape(shape)

    def _perturb_on_device(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        thresholds, values = self._tables(out.device)
        generator = stream.torch(out.device)
        high, low = (torch.randint(0, 1 << n, out.shape, generator=generator, device=out.device) for n in (31, 32))
        bits = (high << 32) | low  # 63 bits
        cells = torch.searchsorted(thresholds, bits, right=True)
        met = thresholds[(cells - 1).clamp_min(0)] == bits
        k = (x * 255.0).round().long()
        places = (cells + self.thresholds.first + k - self.low).clamp_(0, self.high - self.low)
        out.copy_(torch.where(met, torch.nan, values[places]))

    def _tables(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The thresholds to 63 bits, rounded down, and the grid's values, on `device`."""
        if device not in self._on_device:
            to_63_bits = torch.from_numpy((self.thresholds.rounded >> np.uint64(1)).astype(np.int64))
            self._on_device[device] = (to_63_bits.to(device), torch.from_numpy(self.values).to(device))
        return self._on_device[device]


def _first_looks(thresholds: Thresholds) -> NDArray[np.int16]:
    """(2^16,) the J that every number beginning with these 16 bits belongs to; UNDECIDED where there are several.

    A threshold in the very first or last of the numbers that share 16 bits leaves them undecided too.
    """
    starts = np.arange(1 << FIRST_BITS, dtype=np.uint64) << np.uint64(BITS - FIRST_BITS)
    ends = starts + np.uint64((1 << (BITS - FIRST_BITS)) - 1)
    below = np.searchsorted(thresholds.rounded, starts, side="left")
    above = np.searchsorted(thresholds.rounded, ends, side="right")
    cells = np.where(below == above, below + thresholds.first, UNDECIDED)
    return cells.astype(np.int16)
