"""Noise without float error: the exact distribution of a noisy image rounded to the grid k/255.

In floating point, x + noise is not Gaussian around x: which numbers can occur depends on x, and an adversary may
exploit that (Voracek & Hein, ICLR 2023). Here the base classifier is one that first rounds to multiples of 1/255,
clipped far outside [0, 1]. What such a classifier sees can be drawn exactly, from random integers that are compared
with thresholds computed to as many digits as each comparison needs. Those integers are words of a counter-based
generator, so that a stream gives the same noise on every device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from randsmooth.errors import InputError
from randsmooth.noise.philox import LANES, Philox
from randsmooth.noise.thresholds import (
    FIRST,
    FIRST_BITS,
    MORE,
    MORE_BITS,
    OPEN,
    Thresholds,
    beyond,
    counters,
    first_looks,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from randsmooth.noise.grid_on_device import Copies, GridOnDevice
    from randsmooth.noise.streams import Stream

WIDE = 9  # sigmas beyond [0, 1] at which the clip lies: noise reaches it once in 10^19 pixels
LARGEST_SIGMA = 8.0
TOGETHER = 2**17  # pixels that are drawn at a time on a CPU: about as many as its caches hold
OFF_GRID = 2.0**-15  # of a pixel times 255: what storing k/255 in float32 may round away, and no more


@lru_cache(maxsize=16)
def grid_sampler(sigma: float) -> GridSampler:
    """The sampler of rounded noise of standard deviation `sigma`; it is made once for each sigma.

    Raises:
        InputError: sigma is above 8.

    Example:
        >>> import torch
        >>> from randsmooth.noise import Stream
        >>> x, noisy = torch.full((1, 4, 4), 128 / 255), torch.empty(3, 1, 4, 4)
        >>> grid_sampler(0.25).draw(noisy, x, Stream(0, "example"))
        >>> torch.equal((noisy * 255).round() / 255, noisy)
        True
    """
    return GridSampler(sigma)


def check_on_grid(x: Tensor) -> None:
    """Raise InputError unless every value of `x` is k/255 for an integer k from 0 to 255, as float32 stores it.

    Example:
        >>> import torch
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
        self.table = first_looks(self.thresholds)
        self._on_device: dict[torch.device, GridOnDevice] = {}

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Set `out` (n, C, H, W), contiguous float32, to noisy copies of `x` (C, H, W), whose pixels are k/255.

        On the CPU this does not use torch's own threads. A shorter `out` holds the first numbers of a longer one.
        """
        if out.device.type == "cpu":
            self._draw_here(out, x, stream)
        else:
            from randsmooth.noise.grid_on_device import Copies

            self.draw_together(out, [Copies(x, stream, len(out))])

    def draw_together(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """As `draw`, for each of `groups` in turn: their samples together are the rows of `out`."""
        if out.device.type == "cpu":
            for group, rows in zip(groups, out.split([group.samples for group in groups]), strict=True):
                self._draw_here(rows, group.x, group.stream)
            return
        from randsmooth.noise.grid_on_device import GridOnDevice

        if out.device not in self._on_device:
            self._on_device[out.device] = GridOnDevice(self.thresholds, self.low, self.high, out.device)
        self._on_device[out.device].draw(out, groups)

    def _draw_here(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        k = np.rint(x.numpy().ravel() * 255.0).astype(np.int16)
        done = 0
        for whole in self.integers(len(out), x.numel(), stream.philox()):
            whole += k
            np.clip(whole, self.low, self.high, out=whole)
            np.divide(whole, np.float32(255.0), out=out[done : done + len(whole)].view(whole.shape).numpy())
            done += len(whole)

    def integers(self, samples: int, pixels: int, stream: Philox) -> Iterator[NDArray[np.int16]]:
        """The samples' J, some rows (..., pixels) at a time.

        A pixel has 16 random bits, and 48 more in the few places that these leave open.
        """
        rows, row, opened, further = max(1, TOGETHER // pixels), counters(pixels) * LANES, 0, beyond(stream)
        for start in range(0, samples, rows):
            count = min(rows, samples - start)
            words = stream.words(FIRST, count * row, start * row).astype("<u8", copy=False)
            bits = words.view("<u2").reshape(count, -1)[:, :pixels].ravel()
            drawn = np.take(self.table, bits, mode="clip")  # no place is clipped: that mode checks none
            places = np.flatnonzero(drawn == OPEN)
            more = stream.words(MORE, len(places), opened) >> np.uint64(FIRST_BITS)
            numbers = bits[places].astype(np.uint64) << np.uint64(MORE_BITS) | more
            drawn[places] = self.thresholds.cells(numbers, further)
            opened += len(places)
            yield drawn.reshape(count, pixels)
