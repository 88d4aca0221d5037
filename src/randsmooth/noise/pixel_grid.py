"""Noise without float error: the exact distribution of a noisy image rounded to the grid k/255.

In floating point, x + noise is not Gaussian around x: which numbers can occur depends on x, and an adversary may
exploit that (Voracek & Hein, ICLR 2023). Here the base classifier is one that first rounds to multiples of 1/255,
clipped far outside [0, 1]. What such a classifier sees can be drawn exactly, from random integers that are compared
with thresholds computed to as many digits as each comparison needs.
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
LARGEST_SIGMA = 8.0
OFF_GRID = 2.0**-15  # of a pixel times 255: what storing k/255 in float32 may round away, and no more


@lru_cache(maxsize=16)
def grid_sampler(sigma: float) -> GridSampler:
    """The sampler of rounded noise of standard deviation `sigma`; it is made once for each sigma.

    Raises:
        InputError: sigma is above 8.

    Example:
        >>> x, noisy = torch.full((1, 4, 4), 128 / 255), torch.empty(3, 1, 4, 4)
        >>> grid_sampler(0.25).perturb(noisy, x, stream=Stream(0, "example"))
        >>> torch.equal((noisy * 255).round() / 255, noisy)
        True
    """
    return GridSampler(sigma)


def check_on_grid(x: Tensor) -> None:
    """Raise InputError unless every value of `x` is k/255 for an integer k from 0 to 255, as float32 stores it.

    Example:
        >>> check_on_grid(torch.arange(256) / 255)
        >>> check_on_grid(torch.tensor([0.5]))
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: pixel value 0.5 is not on the grid k/255 ...
    """
    scaled = x.double() * 255.0
    off = ((scaled - scaled.round()).abs() > OFF_GRID) | (scaled < -OFF_GRID) | (scaled > 255.0 + OFF_GRID)
    if bool(off.any()):
        value = float(x[off][0])
        raise InputError(
            f"pixel value {value:.9g} is not on the grid k/255 (k = 0..255), which sound certification is about: save "
            "the images with 8 bits a channel, or certify without --sound"
        )


class GridSampler:
    """Draws clip(k + J) / 255 for pixels k/255, where J is Gaussian noise rounded to integers.

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
        self._on_device: dict[torch.device, Tensor] = {}

    def perturb(self, out: Tensor, x: Tensor, *, stream: Stream) -> None:
        """Set `out` (n, C, H, W), contiguous float32, to noisy copies of `x` (C, H, W), whose pixels are k/255.

        On the CPU this does not use torch's own threads. A shorter `out` does not hold the first numbers of a longer
        one. On CUDA a pixel whose 63 random bits equal a threshold (once in 10^16) becomes NaN.
        """
        if out.device.type != "cpu":
            self._perturb_on_device(out, x, stream)
            return
        samples = out.numpy()
        self.fill_integers(samples, stream.numpy())
        samples += np.rint(x.numpy() * 255.0)  # whole numbers below 2^24: exact in float32
        np.clip(samples, self.low, self.high, out=samples)
        samples /= np.float32(255.0)

    def fill_integers(self, out: NDArray[np.float32], generator: np.random.Generator) -> None:
        """Fill `out` with J, by 16 random bits each, and 48 more for the few numbers that these do not decide."""
        bits = generator.bit_generator.random_raw(-(-out.size // 4)).view(np.uint16)[: out.size]
        drawn = out.reshape(-1)
        np.take(self.table, bits, out=drawn, mode="clip")  # no place is clipped: that mode needs no second buffer
        open_places = np.flatnonzero(np.isnan(drawn))
        more = generator.integers(0, 1 << (BITS - FIRST_BITS), size=len(open_places), dtype=np.uint64)
        whole = (bits[open_places].astype(np.uint64) << np.uint64(BITS - FIRST_BITS)) | more
        drawn[open_places] = self.thresholds.cells(whole, lambda: int(generator.integers(0, 1 << 32)))

    def _perturb_on_device(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        thresholds = self._thresholds_on(out.device)
        generator = stream.torch(out.device)
        high, low = (torch.randint(0, 1 << n, out.shape, generator=generator, device=out.device) for n in (31, 32))
        bits = (high << 32) | low  # 63 bits
        cells = torch.searchsorted(thresholds, bits, right=True)
        met = thresholds[(cells - 1).clamp_min(0)] == bits
        whole = (cells + self.thresholds.first + (x * 255.0).round().long()).clamp_(self.low, self.high)
        torch.div(whole.float().masked_fill_(met, torch.nan), 255.0, out=out)

    def _thresholds_on(self, device: torch.device) -> Tensor:
        """The thresholds to 63 bits, rounded down, on `device`."""
        if device not in self._on_device:
            to_63_bits = (self.thresholds.rounded >> np.uint64(1)).astype(np.int64)
            self._on_device[device] = torch.from_numpy(to_63_bits).to(device)
        return self._on_device[device]


def _first_looks(thresholds: Thresholds) -> NDArray[np.float32]:
    """(2^16,) the J of all 64-bit numbers that begin with these 16 bits; NaN where they have several.

    They count as undecided also where the first or the last of them equals a threshold.
    """
    starts = np.arange(1 << FIRST_BITS, dtype=np.uint64) << np.uint64(BITS - FIRST_BITS)
    ends = starts + np.uint64((1 << (BITS - FIRST_BITS)) - 1)
    below = np.searchsorted(thresholds.rounded, starts, side="left")
    above = np.searchsorted(thresholds.rounded, ends, side="right")
    return np.where(below == above, below + thresholds.first, np.nan).astype(np.float32)
