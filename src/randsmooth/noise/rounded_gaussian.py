"""Noise without float error: the exact distribution of a noisy image rounded to the grid k/255.

In floating point, x + noise is not Gaussian around x: which numbers can occur depends on x, and an adversary may
exploit that (Voracek & Hein, ICLR 2023). Here the base classifier is one that first rounds to multiples of 1/255,
clipped far outside [0, 1]. What such a classifier sees can be drawn exactly, from random integers that are compared
with thresholds computed to as many digits as each comparison needs. Those integers are words of a counter-based
generator, so that a stream gives the same noise on every device.

A pixel has 16 bits in the part FIRST of its stream, four pixels a word. Those few pixels that are not decided by them
have a word each in the part MORE, in the order of the pixels, of which the upper 48 bits count. A number that still
equals a threshold has 32 bits more at a time, from the part BEYOND, again in the order of the pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import mpmath
import numpy as np
from numpy.typing import NDArray

from randsmooth.errors import BadValue
from randsmooth.noise.copies import Copies
from randsmooth.noise.philox import LANES, Philox, computed_words, signed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from randsmooth.noise.streams import Stream

WIDE = 9  # sigmas beyond [0, 1] at which the clip lies: noise reaches it once in 10^19 pixels
LARGEST_SIGMA = 8.0
TOGETHER = (
    2**17
)  # pixels that are drawn at a time on a CPU: about as many as its caches hold
SIGN = signed(
    1 << 63
)  # the words of unsigned numbers, with this bit turned over, are in order as signed ones
OFF_GRID = (
    2.0**-15
)  # of a pixel times 255: what storing k/255 in float32 may round away, and no more
BITS = 64  # of the thresholds that are kept ready
EXTRA = 32  # bits that are drawn at a time for a number that begins like a threshold
GUARD = (
    40  # bits, beyond those asked for, that the distribution function is computed to
)
FIRST, MORE, BEYOND = 0, 1, 2
FIRST_BITS = 16
MORE_BITS = BITS - FIRST_BITS
SHARED = LANES * BITS // FIRST_BITS  # pixels whose first bits come from one counter
OPEN = int(np.iinfo(np.int16).min)  # in the place of a J: the first bits do not decide


@lru_cache(maxsize=16)
def grid_sampler(sigma: float) -> GridSampler:
    """The sampler of rounded noise of standard deviation `sigma`; it is made once for each sigma.

    Raises:
        Problem: sigma is above 8.

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
    """Raise Problem unless every value of `x` is k/255 for an integer k from 0 to 255, as float32 stores it.

    Example:
        >>> import torch
        >>> check_on_grid(torch.arange(256) / 255)
        >>> check_on_grid(torch.tensor([0.5]))
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: pixel value 0.5 is not on the grid k/255 ...
    """
    scaled = x.double() * 255.0
    off = (
        ((scaled - scaled.round()).abs() > OFF_GRID)
        | (scaled < -OFF_GRID)
        | (scaled > 255.0 + OFF_GRID)
    )
    if bool(off.any()):
        value = float(x[off][0])
        said = f"pixel value {value:.9g} is not on the grid k/255 (k = 0..255) of sound certification and rule exact"
        raise BadValue(
            f"{said}: save the images with 8 bits a channel, or certify with sound=False, by another rule"
        )


class Thresholds:
    """F(j + 1/2) for integers j from `first` to `last` - 1, F being the distribution function of N(0, (255 sigma)^2).

    Cell j lies between F(j - 1/2) and F(j + 1/2). The first and the last cell include everything beyond them.

    Attributes:
        rounded: (last - first,) floor(2^64 F(j + 1/2)), ascending.
    """

    def __init__(self, sigma: float, *, first: int, last: int) -> None:
        self.scale, self.first = sigma, first
        below = [
            self.exact(j, BITS) for j in range(first, 0)
        ]  # the others follow from 1 - F(t) = F(-t)
        above = [(1 << BITS) - 1 - value for value in reversed(below)]
        self.rounded = np.array(below + above, np.uint64)[: last - first]

    def exact(self, j: int, bits: int) -> int:
        """floor(2^bits F(j + 1/2)), computed with more and more digits until rounding cannot change it."""
        guard = GUARD
        while True:
            with mpmath.workprec(bits + guard):
                value = mpmath.ldexp(
                    mpmath.ncdf(mpmath.mpf(2 * j + 1) / (510 * mpmath.mpf(self.scale))),
                    bits,
                )
                error = mpmath.ldexp(1, 8 - guard)  # the value is at most 2^bits
                below = max(
                    0, int(mpmath.floor(value - error))
                )  # F lies strictly between 0 and 1
                above = min((1 << bits) - 1, int(mpmath.floor(value + error)))
            if below == above:
                return below
            guard *= 2

    def cells(
        self, numbers: NDArray[np.uint64], more: Callable[[], int]
    ) -> NDArray[np.int64]:
        """The cells j of uniform numbers in [0, 1), given by their first 64 bits.

        A number whose 64 bits are those of a threshold gets 32 more bits from `more()` at a time, until it differs
        from the further digits of the threshold.
        """
        places = np.searchsorted(self.rounded, numbers, side="left")
        open_places = np.flatnonzero(
            self.rounded[np.minimum(places, len(self.rounded) - 1)] == numbers
        )
        for i in open_places.tolist():
            places[i] = self._drawn_on(int(numbers[i]), int(places[i]), more)
        return places + self.first

    def _drawn_on(self, number: int, place: int, more: Callable[[], int]) -> int:
        """How many thresholds are at most a number whose first 64 bits are those of the threshold at `place`."""
        bits = BITS
        while place < len(self.rounded) and int(self.rounded[place]) == number >> (
            bits - BITS
        ):
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
    return -(-pixels // SHARED)


def beyond(stream: Philox) -> Callable[[], int]:
    """Gives the next 32 bits of the part BEYOND at each call, from a counter of their own."""
    place = itertools.count(0, LANES)
    return lambda: int(stream.words(BEYOND, 1, next(place))[0]) >> (BITS - EXTRA)


class GridSampler:
    """Draws clip(k + J) / 255 for pixels k/255, where J is Gaussian noise rounded to integers.

    P(J = j) = Phi((j + 1/2) / (255 sigma)) - Phi((j - 1/2) / (255 sigma)), exactly: J does not depend on k.
    """

    def __init__(self, sigma: float) -> None:
        if sigma > LARGEST_SIGMA:
            raise BadValue(
                field="sigma",
                value=sigma,
                expected=f"is above {LARGEST_SIGMA:g}, the largest for sound certification",
            )
        reach = int(np.ceil(WIDE * 255.0 * sigma)) + 1
        self.low, self.high = -reach, 255 + reach
        # The clip of k + J is one of k + J whatever J does beyond these.
        self.thresholds = Thresholds(sigma, first=-reach - 255, last=reach + 255)
        self.table = self.thresholds.first_looks()
        self._on_device: dict[torch.device, GridOnDevice] = {}

    def check(self, x: Tensor) -> None:
        """As `check_on_grid`."""
        check_on_grid(x)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Set `out` (n, C, H, W), contiguous float32, to noisy copies of `x` (C, H, W), whose pixels are k/255.

        On the CPU this does not use torch's own threads. A shorter `out` holds the first numbers of a longer one.
        """
        self.draw_together(out, [Copies(x, stream, len(out))])

    def draw_together(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """As `draw`, for each of `groups` in turn: their samples together are the rows of `out`."""
        if out.device.type == "cpu":
            for group, rows in zip(
                groups, out.split([group.samples for group in groups]), strict=True
            ):
                self._draw_here(rows, group.x, group.stream)
            return
        if out.device not in self._on_device:
            self._on_device[out.device] = GridOnDevice(
                self.thresholds, self.low, self.high, out.device
            )
        self._on_device[out.device].draw(out, groups)

    def _draw_here(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        k = np.rint(x.numpy().ravel() * 255.0).astype(np.int16)
        done = 0
        for whole in self.integers(len(out), x.numel(), stream.philox()):
            whole += k
            np.clip(whole, self.low, self.high, out=whole)
            np.divide(
                whole,
                np.float32(255.0),
                out=out[done : done + len(whole)].view(whole.shape).numpy(),
            )
            done += len(whole)

    def integers(
        self, samples: int, pixels: int, stream: Philox
    ) -> Iterator[NDArray[np.int16]]:
        """The samples' J, some rows (..., pixels) at a time.

        A pixel has 16 random bits, and 48 more in the few places that these leave open.
        """
        rows, row, opened, further = (
            max(1, TOGETHER // pixels),
            counters(pixels) * LANES,
            0,
            beyond(stream),
        )
        for start in range(0, samples, rows):
            count = min(rows, samples - start)
            words = stream.words(FIRST, count * row, start * row).astype(
                "<u8", copy=False
            )
            bits = words.view("<u2").reshape(count, -1)[:, :pixels].ravel()
            drawn = np.take(
                self.table, bits, mode="clip"
            )  # no place is clipped: that mode checks none
            places = np.flatnonzero(drawn == OPEN)
            more = stream.words(MORE, len(places), opened) >> np.uint64(FIRST_BITS)
            numbers = bits[places].astype(np.uint64) << np.uint64(MORE_BITS) | more
            drawn[places] = self.thresholds.cells(numbers, further)
            opened += len(places)
            yield drawn.reshape(count, pixels)


class GridOnDevice:
    """Draws clip(k + J) / 255, with k + J clipped to `low` and `high`, on `device`.

    Everything is drawn in whole numbers, and k/255 is read from a table that the CPU divided, since a GPU multiplies by
    1/255 instead, which rounds differently.
    """

    def __init__(
        self, thresholds: Thresholds, low: int, high: int, device: torch.device
    ) -> None:
        import torch

        self.host, self.low, self.high, self.device = thresholds, low, high, device
        self.table = torch.from_numpy(thresholds.first_looks()).int().to(device)
        self.thresholds = torch.from_numpy(thresholds.rounded.view(np.int64) ^ SIGN).to(
            device
        )
        levels = np.arange(low, high + 1, dtype=np.float32) / np.float32(255.0)
        self.levels = torch.from_numpy(levels).to(device)

    def draw(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """Set `out` (n, C, H, W), contiguous float32, to the samples of `groups`, n together, one after another.

        They share each kernel, so that many small groups take no longer than a single one.
        """
        import torch

        # (n,) the group that each row of the batch belongs to, and its number in the group
        group = torch.arange(len(groups)).repeat_interleave(
            torch.tensor([each.samples for each in groups])
        )
        group, row = (
            group.to(self.device),
            torch.cat([torch.arange(each.samples) for each in groups]).to(self.device),
        )
        streams = torch.tensor([each.stream.philox().signed() for each in groups]).to(
            self.device
        )
        pixels, in_row = out[0].numel(), counters(out[0].numel())
        places = row[:, None] * in_row + torch.arange(in_row, device=self.device)
        words = computed_words(streams[group][:, None], FIRST, places)
        bits = words.view(torch.int16).flatten(1)[:, :pixels].reshape(-1).int() & (
            (1 << FIRST_BITS) - 1
        )
        drawn = self.table.index_select(0, bits)
        undecided = (drawn == OPEN).nonzero()[:, 0]  # for which the host waits
        if len(undecided):
            drawn[undecided] = self._decided(
                group[undecided // pixels], bits[undecided], streams, groups
            )
        k = torch.stack([(each.x * 255.0).round().int() for each in groups])
        whole = (
            k.index_select(0, group)
            .add_(drawn.view(out.shape))
            .clamp_(self.low, self.high)
        )
        torch.index_select(
            self.levels, 0, whole.sub_(self.low).view(-1), out=out.view(-1)
        )

    def _decided(
        self, own: Tensor, bits: Tensor, streams: Tensor, groups: Sequence[Copies]
    ) -> Tensor:
        """(n,) J of n pixels of the groups `own`, in the order of the batch, that their first `bits` leave open."""
        import torch

        begin = torch.searchsorted(
            own, torch.arange(len(groups), device=self.device)
        )  # `own` ascends
        number = (
            torch.arange(len(own), device=self.device) - begin[own]
        )  # among those of the group
        words = computed_words(streams[own], MORE, number // LANES)
        more = words.gather(1, (number % LANES)[:, None])[:, 0] >> FIRST_BITS & (
            (1 << MORE_BITS) - 1
        )
        numbers = (bits.long() << MORE_BITS | more) ^ SIGN
        cells = torch.searchsorted(self.thresholds, numbers)
        met = (
            (self.thresholds[cells.clamp_max(len(self.thresholds) - 1)] == numbers)
            .nonzero()[:, 0]
            .tolist()
        )
        found = (cells + self.host.first).int()
        further = [beyond(each.stream.philox()) for each in groups] if met else []
        for i in met:  # once in 10^14 of those that were open
            number_met = np.array([int(numbers[i]) ^ SIGN]).view(np.uint64)
            found[i] = int(self.host.cells(number_met, further[int(own[i])])[0])
        return found
