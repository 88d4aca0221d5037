"""Noise without float error: the exact distribution of a rounded noisy image.

In floating point, x + noise is not Gaussian around x: which numbers can occur depends
on x, and an adversary may exploit that (Voracek & Hein, ICLR 2023). Here the base
classifier is one that first rounds to multiples of 1/255, clipped far outside [0, 1].
What such a classifier sees can be drawn exactly, from random integers that are compared
with thresholds computed to as many digits as each comparison needs. Those integers are
words of a counter-based generator, so that a stream gives the same noise on every
device.

A pixel k/255 becomes clip(k + J) / 255, J being Gaussian noise rounded to an integer.
Its J is found in up to three looks:

1. 16 bits of the part FIRST of the stream, four pixels a word. A table tells the J of all
   numbers that begin with them, or that they leave it OPEN.
2. For the few pixels left open, a word each of the part MORE, in the order of the pixels,
   of which the upper 48 bits count: together 64 bits, compared with thresholds.
3. For a number that still equals a threshold, 32 bits more at a time, from the part
   BEYOND, again in the order of the pixels.
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

# Sigmas beyond [0, 1] at which the clip lies: noise reaches it once in 10^19 pixels.
CLIP_SIGMAS = 9

# The largest sigma for sound certification, in units of pixels in [0, 1].
LARGEST_SIGMA = 8.0

# Pixels that are drawn at a time on a CPU: about as many as its caches hold.
PIXELS_AT_A_TIME = 2**17

# Of a pixel times 255: what storing k/255 in float32 may round away, and no more.
OFF_GRID = 2.0**-15

# Parts of a stream.
FIRST = 0
MORE = 1
BEYOND = 2

# Bits of the thresholds that are kept ready, and of a word.
BITS = 64

# Bits of a number by its first look, by the second, and further ones at a time.
FIRST_BITS = 16
MORE_BITS = BITS - FIRST_BITS
EXTRA = 32
FIRST_MASK = (1 << FIRST_BITS) - 1
MORE_MASK = (1 << MORE_BITS) - 1

# Bits, beyond those asked for, that the distribution function is computed to.
GUARD = 40

# Pixels whose first bits come from one counter.
SHARED = LANES * BITS // FIRST_BITS

# In the place of a J: the first bits do not decide.
OPEN = int(np.iinfo(np.int16).min)

# Words of unsigned numbers, with this bit turned over, are in order as signed ones.
SIGN = signed(1 << 63)


@lru_cache(maxsize=16)
def grid_sampler(sigma: float) -> GridSampler:
    """Return the sampler of rounded noise of standard deviation `sigma`.

    It is made once for each sigma.

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
    """Raise Problem unless every value of `x` is on the grid, as float32 stores it.

    The grid are k/255 for integers k from 0 to 255.

    Example:
        >>> import torch
        >>> check_on_grid(torch.arange(256) / 255)
        >>> check_on_grid(torch.tensor([0.5]))
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: pixel value 0.5 is not on the grid k/255 ...
    """
    scaled = x.double() * 255.0
    between = (scaled - scaled.round()).abs() > OFF_GRID
    off = between | (scaled < -OFF_GRID) | (scaled > 255.0 + OFF_GRID)
    if bool(off.any()):
        value = float(x[off][0])
        raise BadValue(
            f"pixel value {value:.9g} is not on the grid k/255 (k = 0..255) of sound "
            "certification and rule exact: save the images with 8 bits a channel, or "
            "certify with sound=False, by another rule"
        )


class Thresholds:
    """F(j + 1/2) for integers j from `first` to `last` - 1.

    F is the distribution function of N(0, (255 sigma)^2). Cell j lies between
    F(j - 1/2) and F(j + 1/2). The first and the last cell include everything beyond.

    Attributes:
        rounded: (last - first,) floor(2^64 F(j + 1/2)), ascending.
    """

    def __init__(self, sigma: float, *, first: int, last: int) -> None:
        self.sigma = sigma
        self.first = first
        below = [self.exact(j, BITS) for j in range(first, 0)]
        # The others follow from 1 - F(t) = F(-t).
        above = [(1 << BITS) - 1 - value for value in reversed(below)]
        self.rounded = np.array(below + above, np.uint64)[: last - first]

    def exact(self, j: int, bits: int) -> int:
        """Return floor(2^bits F(j + 1/2)).

        It is computed with more and more digits until rounding cannot change it.
        """
        guard = GUARD
        while True:
            with mpmath.workprec(bits + guard):
                # (j + 1/2) / (255 sigma)
                z = mpmath.mpf(2 * j + 1) / (510 * mpmath.mpf(self.sigma))
                value = mpmath.ldexp(mpmath.ncdf(z), bits)
                # The value is at most 2^bits.
                error = mpmath.ldexp(1, 8 - guard)
                # F lies strictly between 0 and 1.
                below = max(0, int(mpmath.floor(value - error)))
                above = min((1 << bits) - 1, int(mpmath.floor(value + error)))
            if below == above:
                return below
            guard *= 2

    def cells(
        self, numbers: NDArray[np.uint64], more: Callable[[], int]
    ) -> NDArray[np.int64]:
        """Return the cells j of uniform numbers in [0, 1), given by their first 64 bits.

        A number whose 64 bits are those of a threshold gets 32 more bits from `more()`
        at a time, until it differs from the further digits of the threshold.
        """
        places = np.searchsorted(self.rounded, numbers, side="left")
        thresholds = self.rounded[np.minimum(places, len(self.rounded) - 1)]
        for i in np.flatnonzero(thresholds == numbers).tolist():
            places[i] = self._drawn_on(int(numbers[i]), int(places[i]), more)
        return places + self.first

    def _drawn_on(self, number: int, place: int, more: Callable[[], int]) -> int:
        """Count the thresholds that are at most a number.

        Its first 64 bits are those of the threshold at `place`.
        """
        bits = BITS
        first_bits = number
        while place < len(self.rounded) and int(self.rounded[place]) == first_bits:
            threshold = self.exact(self.first + place, bits)
            if number == threshold:
                bits += EXTRA
                number = (number << EXTRA) | more()
            elif number < threshold:
                break
            else:
                place += 1
        return place

    def first_looks(self) -> NDArray[np.int16]:
        """Return the J of all 64-bit numbers that begin with the same 16 bits.

        They count as undecided also where the first or the last of them equals a
        threshold.

        Returns:
            (2^16,) by these bits; OPEN where such numbers have several J.
        """
        starts = np.arange(1 << FIRST_BITS, dtype=np.uint64) << np.uint64(MORE_BITS)
        ends = starts + np.uint64(MORE_MASK)
        below = np.searchsorted(self.rounded, starts, side="left")
        above = np.searchsorted(self.rounded, ends, side="right")
        return np.where(below == above, below + self.first, OPEN).astype(np.int16)


def counters(pixels: int) -> int:
    """Count the counters that the first bits of a sample take.

    A sample begins with a counter of its own.
    """
    return -(-pixels // SHARED)


def beyond(stream: Philox) -> Callable[[], int]:
    """Return what gives the next 32 bits of the part BEYOND at each call.

    They come from a counter of their own.
    """
    places = itertools.count(0, LANES)

    def next_bits() -> int:
        (word,) = stream.words(BEYOND, 1, next(places)).tolist()
        return int(word) >> (BITS - EXTRA)

    return next_bits


class GridSampler:
    """Draws clip(k + J) / 255 for pixels k/255.

    J is Gaussian noise rounded to integers: exactly,

        P(J = j) = Phi((j + 1/2) / (255 sigma)) - Phi((j - 1/2) / (255 sigma)),

    whatever k is.
    """

    def __init__(self, sigma: float) -> None:
        if sigma > LARGEST_SIGMA:
            raise BadValue(
                field="sigma",
                value=sigma,
                expected=f"is above {LARGEST_SIGMA:g}, the largest for sound certification",
            )
        reach = int(np.ceil(CLIP_SIGMAS * 255.0 * sigma)) + 1
        self.low = -reach
        self.high = 255 + reach
        # The clip of k + J is one of k + J whatever J does beyond these.
        self.thresholds = Thresholds(sigma, first=-reach - 255, last=reach + 255)
        self.table = self.thresholds.first_looks()
        self._on_device: dict[torch.device, GridOnDevice] = {}

    def check(self, x: Tensor) -> None:
        """As `check_on_grid`."""
        check_on_grid(x)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Set `out` (n, C, H, W) to noisy copies of `x` (C, H, W).

        The pixels of `x` are k/255. `out` is contiguous float32. On the CPU this does
        not use torch's own threads. A shorter `out` holds the first numbers of a longer
        one.
        """
        self.draw_together(out, [Copies(x, stream, len(out))])

    def draw_together(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """Set `out` to the samples of `groups`, one after another, each as by `draw`."""
        device = out.device
        if device.type == "cpu":
            parts = out.split([group.samples for group in groups])
            for group, rows in zip(groups, parts, strict=True):
                self._draw_on_cpu(rows, group.x, group.stream)
            return
        if device not in self._on_device:
            self._on_device[device] = GridOnDevice(
                self.thresholds, self.low, self.high, device
            )
        self._on_device[device].draw(out, groups)

    def _draw_on_cpu(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        k = np.rint(x.numpy().ravel() * 255.0).astype(np.int16)
        done = 0
        for whole in self.integers(len(out), x.numel(), stream.philox()):
            whole += k
            np.clip(whole, self.low, self.high, out=whole)
            rows = out[done : done + len(whole)].view(whole.shape).numpy()
            np.divide(whole, np.float32(255.0), out=rows)
            done += len(whole)

    def integers(
        self, samples: int, pixels: int, stream: Philox
    ) -> Iterator[NDArray[np.int16]]:
        """Yield the samples' J, some rows (..., pixels) at a time.

        A pixel has 16 random bits, and 48 more in the few places that these leave open.
        """
        samples_at_a_time = max(1, PIXELS_AT_A_TIME // pixels)
        words_of_sample = counters(pixels) * LANES
        further_bits = beyond(stream)
        # Pixels that were left open so far.
        opened = 0
        for start in range(0, samples, samples_at_a_time):
            count = min(samples_at_a_time, samples - start)
            words = stream.words(
                FIRST, count * words_of_sample, start * words_of_sample
            )
            bits_of_words = words.astype("<u8", copy=False).view("<u2")
            bits = bits_of_words.reshape(count, -1)[:, :pixels].ravel()
            # No place is clipped; this mode does not check.
            drawn = np.take(self.table, bits, mode="clip")

            places = np.flatnonzero(drawn == OPEN)
            more = stream.words(MORE, len(places), opened) >> np.uint64(FIRST_BITS)
            first = bits[places].astype(np.uint64) << np.uint64(MORE_BITS)
            drawn[places] = self.thresholds.cells(first | more, further_bits)
            opened += len(places)
            yield drawn.reshape(count, pixels)


class GridOnDevice:
    """Draws clip(k + J) / 255, with k + J clipped to `low` and `high`, on `device`.

    Everything is drawn in whole numbers, and k/255 is read from a table that the CPU
    divided, since a GPU multiplies by 1/255 instead, which rounds differently.
    """

    def __init__(
        self, thresholds: Thresholds, low: int, high: int, device: torch.device
    ) -> None:
        import torch

        self.host = thresholds
        self.low = low
        self.high = high
        self.device = device
        self.table = torch.from_numpy(thresholds.first_looks()).int().to(device)
        ordered = thresholds.rounded.view(np.int64) ^ SIGN
        self.thresholds = torch.from_numpy(ordered).to(device)
        levels = np.arange(low, high + 1, dtype=np.float32) / np.float32(255.0)
        self.levels = torch.from_numpy(levels).to(device)

    def draw(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """Set `out` (n, C, H, W) to the samples of `groups`, one after another.

        They share each kernel, so that many small groups take no longer than a single
        one. `out` is contiguous float32.
        """
        import torch

        # (n,) the group that each row of the batch belongs to, and its number in it.
        samples = torch.tensor([group.samples for group in groups])
        group = torch.arange(len(groups)).repeat_interleave(samples).to(self.device)
        row = torch.cat([torch.arange(count) for count in samples.tolist()])
        row = row.to(self.device)
        streams = torch.tensor([each.stream.philox().signed() for each in groups])
        streams = streams.to(self.device)

        bits = self._first_bits(streams[group], row, pixels=out[0].numel())
        drawn = self.table.index_select(0, bits)
        # For which the host waits.
        undecided = (drawn == OPEN).nonzero()[:, 0]
        if len(undecided):
            group_of_pixel = group[undecided // out[0].numel()]
            drawn[undecided] = self._decided(
                group_of_pixel, bits[undecided], streams, groups
            )

        k = torch.stack([(each.x * 255.0).round().int() for each in groups])
        whole = k.index_select(0, group).add_(drawn.view(out.shape))
        whole.clamp_(self.low, self.high)
        places = whole.sub_(self.low).view(-1)
        torch.index_select(self.levels, 0, places, out=out.view(-1))

    def _first_bits(self, streams: Tensor, row: Tensor, *, pixels: int) -> Tensor:
        """Return (n * pixels,) the first bits of the pixels of n samples.

        Args:
            streams: (n, 4) the stream of each sample, as of `computed_words`.
            row: (n,) its number among those of its stream.
            pixels: the number of pixels of a sample.
        """
        import torch

        in_row = counters(pixels)
        counter = torch.arange(in_row, device=self.device)
        places = row[:, None] * in_row + counter
        words = computed_words(streams[:, None], FIRST, places)
        bits = words.view(torch.int16).flatten(1)[:, :pixels]
        return bits.reshape(-1).int() & FIRST_MASK

    def _decided(
        self, own: Tensor, bits: Tensor, streams: Tensor, groups: Sequence[Copies]
    ) -> Tensor:
        """Return (n,) J of n pixels that their first bits leave open.

        Args:
            own: (n,) the groups of the pixels, ascending.
            bits: (n,) their first bits.
            streams: the streams of the groups, as `computed_words` takes them.
            groups: the groups that are drawn.
        """
        import torch

        # The number of each pixel among those of its group.
        numbers_of_groups = torch.arange(len(groups), device=self.device)
        begin = torch.searchsorted(own, numbers_of_groups)
        number = torch.arange(len(own), device=self.device) - begin[own]

        words = computed_words(streams[own], MORE, number // LANES)
        word = words.gather(1, (number % LANES)[:, None])[:, 0]
        more = word >> FIRST_BITS & MORE_MASK
        numbers = (bits.long() << MORE_BITS | more) ^ SIGN
        cells = torch.searchsorted(self.thresholds, numbers)
        decided = (cells + self.host.first).int()

        # Once in 10^14 of those that were open, a number equals a threshold.
        nearest = self.thresholds[cells.clamp_max(len(self.thresholds) - 1)]
        equal = (nearest == numbers).nonzero()[:, 0].tolist()
        if not equal:
            return decided
        further_bits = [beyond(each.stream.philox()) for each in groups]
        for i in equal:
            number_met = np.array([int(numbers[i]) ^ SIGN]).view(np.uint64)
            cell = self.host.cells(number_met, further_bits[int(own[i])])[0]
            decided[i] = int(cell)
        return decided
