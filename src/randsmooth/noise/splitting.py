"""Splitting noise: a copy tells between which random thresholds each coordinate lies."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.errors import BadValue
from randsmooth.noise.base import in_place
from randsmooth.noise.radii import Floats
from randsmooth.noise.streams import Stream, fill
from randsmooth.noise.uniform import OfShares

if TYPE_CHECKING:
    from torch import Tensor

# Steps from black to white of a pixel that has 8 bits.
LEVELS = 255

# Share of a number of copies by which rounding lam may miss a whole one.
WHOLE = 1e-9


class Splitting(OfShares):
    """Each coordinate of x in [0, 1] only as the interval in which it lies: L1.

    The thresholds of a coordinate are s + 2 lam k for whole k, s being uniform between
    0 and 2 lam. The network sees the middle of the part within [0, 1] of the interval
    between them. Two inputs look alike unless a threshold lies between them, which has
    a probability of at most |delta|_1 / (2 lam), however the thresholds of different
    coordinates depend on each other.

    So all of them may move together. Where inputs are on the grid k/255, `numbered` has
    2 lam 255 copies in all, each coordinate's thresholds being at every place between
    grid points once: shares of them are probabilities, with no error. At lam = 1/2
    these are 255.

    Attributes:
        lam: half the distance of thresholds, in units of pixels in [0, 1].

    Raises:
        Problem: lam is no number from 1e-6 to 1e6.

    Source: Levine & Feizi 2021, theorem 2 and its section on derandomisation.

    Example:
        >>> noise = Splitting(0.5)
        >>> noise.radius([0.0, 0.25, 0.5]).round(3).tolist(), noise.copies
        ([0.5, 0.25, 0.0], 255)
    """

    name: ClassVar[str] = "splitting"
    domain: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    usage: ClassVar[str] = "splitting=LAM"
    summary: ClassVar[str] = (
        "for each coordinate the interval of length 2 LAM it lies in, placed at random: "
        "L1, inputs in [0, 1]."
    )

    @property
    def copies(self) -> int | None:
        """The whole number 2 lam 255, up to the rounding of lam; None if it is none."""
        exact = 2 * LEVELS * self.lam
        number = round(exact)
        whole = number > 0 and abs(exact - number) < WHOLE * number
        return number if whole else None

    def check(self, x: Tensor) -> None:
        """As `Noise.check`.

        Beyond [0, 1] all inputs look alike, so that no radius would say anything.
        """
        if bool(((x >= 0.0) & (x <= 1.0)).all()):
            return
        least = float(x.min())
        most = float(x.max())
        raise BadValue(
            f"{self.text} is for inputs in [0, 1]; got values from {least:.6g} to "
            f"{most:.6g}: scale them, or take uniform noise, whose radii are in L1 too"
        )

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Draw as `Noise.draw` does, with new thresholds for each coordinate of a copy.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> noisy = torch.empty(1000, 1)
            >>> Splitting(0.5).draw(noisy, torch.full((1,), 0.3), Stream(0, "example"))
            >>> # The share of thresholds below 0.3.
            >>> round(float((noisy > 0.5).float().mean()), 1)
            0.3
        """
        import torch

        # Arrays on the CPU, as `in_place` makes them.
        library: Any = np if out.device.type == "cpu" else torch
        side = 2.0 * self.lam
        fill(out, stream, "uniform")
        s = in_place(out)
        s *= side

        # The threshold next above x: what is seen depends on s and a whole number only.
        above = in_place(x) - s
        above /= side
        library.ceil(above, out=above)
        above *= side
        above += s

        # The one below takes the place of s, and the middle of both that of the copy.
        library.subtract(above, side, out=s)
        library.clip(s, 0.0, 1.0, out=s)
        library.clip(above, 0.0, 1.0, out=above)
        s += above
        s /= 2.0

    def offsets(self, x: Tensor, m: int, stream: Stream) -> Tensor:
        import torch

        copies = torch.empty(m, *x.shape, device=x.device)
        # Every number has a threshold of its own, whichever input it is of.
        self.draw(copies, x, stream)
        return copies.sub_(x)

    def numbered(self, out: Tensor, x: Tensor, first: int, seed: int) -> None:
        """As `Noise.numbered`.

        In copy j thresholds are at ((t + j) mod copies + 1/2) / 255. t is settled by
        `seed` and the shape. No offset t depends on the input: at x and at x + delta
        the same copies are compared. What is seen is a multiple of 1/1020, the same on
        every device.

        Raises:
            Problem: `x` is not on the grid k/255, 2 lam 255 is not whole, or there are
                not as many copies.

        Example:
            >>> import torch
            >>> noise = Splitting(0.5)
            >>> all_copies = torch.empty(255, 1)
            >>> noise.numbered(all_copies, torch.tensor([51 / 255]), 0, seed=0)
            >>> int((all_copies > 0.5).sum())  # thresholds below it
            51
        """
        import torch

        # Imported here, since listing noises needs no mpmath.
        from randsmooth.noise.rounded_gaussian import check_on_grid

        number = self._whole_number()
        last = first + len(out) - 1
        if first < 0 or last >= number:
            raise BadValue(
                f"{self.text} has copies 0 to {number - 1}; got {first} to {last}"
            )
        check_on_grid(x)

        device = out.device
        offsets, seen = _plan(number, tuple(x.shape), seed)
        t = torch.from_numpy(offsets).to(device)
        k = (x.to(device).float() * LEVELS).round().int()
        j = torch.arange(first, first + len(out), dtype=torch.int32, device=device)
        j = j.view(-1, *[1] * x.dim())
        # What is seen of k at t + j has this place in the table.
        places = (t + j) * (LEVELS + 1) + k
        table = torch.from_numpy(seen).to(device)
        torch.index_select(table, 0, places.view(-1), out=out.view(-1))

    def exact_radius(self, n_a: ArrayLike, n_next: ArrayLike) -> Floats:
        """Return the largest radius within which no input on the grid has another class.

        It is a multiple of 1/255. A step of 1/255 in one coordinate changes one of all
        copies. So after K steps the class has at least n_a - K of them and any other at
        most n_next + K: it is still ahead, ties included, up to
        K = (n_a - n_next - 1) // 2.

        Args:
            n_a: copies, of all, that have the class, any shape.
            n_next: the most that any other class has.

        Raises:
            Problem: 2 lam 255 is not whole.

        Example:
            >>> radii = Splitting(0.5).exact_radius([255, 130, 128], [0, 125, 127])
            >>> (radii * 255).round(6).tolist()
            [127.0, 2.0, 0.0]
        """
        self._whole_number()
        steps = (np.asarray(n_a, np.int64) - np.asarray(n_next, np.int64) - 1) // 2
        return np.asarray(np.maximum(steps, 0) / LEVELS)

    def _whole_number(self) -> int:
        """Return the number of copies.

        Raises:
            Problem: they cannot be counted.
        """
        if self.copies is None:
            nearest = max(1, round(2 * LEVELS * self.lam)) / (2 * LEVELS)
            raise BadValue(
                f"lam={self.lam!r}: copies can be counted where 2 lam 255 is a whole "
                f"number; the nearest such lam is {nearest!r}, and 0.5 has 255 copies"
            )
        return self.copies


@lru_cache(maxsize=4)
def _plan(
    number: int, shape: tuple[int, ...], seed: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return where the thresholds of each coordinate begin, and what is seen under each.

    The thresholds next to k are, in units of 1/510, whole numbers, the lower one is
    below 2 k, the upper one above.

    Args:
        number: the number of all copies.
        shape: the shape of an input.
        seed: settles where they begin.

    Returns:
        (*shape) t of each coordinate, uniform in 0 ... number - 1; and
        (2 number * 256,) what is seen of k/255 under the threshold t, for t by t.
    """
    stream = Stream(seed, "splitting").at(number, *shape)
    offsets = stream.numpy().integers(0, number, size=shape, dtype=np.int32)

    t = np.arange(number)[:, None]
    k = np.arange(LEVELS + 1)
    above = 2 * t + 1 + 2 * number * -((t - k) // number)
    below = above - 2 * number
    ends = np.clip(above, 0, 2 * LEVELS) + np.clip(below, 0, 2 * LEVELS)
    # Divided here, as GPUs do not.
    seen = ends.astype(np.float32) / np.float32(4 * LEVELS)
    # t + j runs through all places twice.
    return offsets, np.concatenate((seen, seen)).ravel()
