"""Uniform noise in a cube, and radii by the share of copies in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.noise.base import Noise, check_shape, in_place
from randsmooth.noise.fine import add_and_round, in_parts
from randsmooth.noise.norms import check_length
from randsmooth.noise.radii import Floats, below, both
from randsmooth.noise.streams import Stream

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class OfShares(Noise):
    """Noise under which near inputs have most of their copies in common.

    Inputs |delta|_1 apart have all but a share of |delta|_1 / (2 lam). The class loses
    at most that share, and another one gains at most as much.
    """

    lam: float
    norm: ClassVar[str] = "l1"

    def __post_init__(self) -> None:
        check_length("lam", self.lam)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return R = lam (1 - q - q_next); with q alone lam (1 - 2 q).

        Source: Yang et al. 2020, table 1 (uniform, L1).
        """
        lost = both(q, q_next)
        return self.lam * np.asarray(np.where(lost <= 0.0, 1.0, below(1.0 - lost)))

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q = (1 - radius / lam) / 2."""
        r = np.asarray(radius, np.float64) / self.lam
        return np.asarray(np.where(r <= 0.0, 0.5, below((1.0 - r) / 2.0)))


class Uniform(OfShares):
    """x + U[-lam, lam]^d, which certifies in L1 (Lee et al. 2019; Yang et al. 2020).

    Two cubes of side 2 lam, `delta` apart, have all but a share of
    1 - prod(1 - |delta_i| / (2 lam)) in common, which is at most |delta|_1 / (2 lam).

    Attributes:
        lam: half the side of the cube, in the units of the input.

    Raises:
        Problem: lam is no number from 1e-6 to 1e6.

    Example:
        >>> noise = Uniform(0.6)
        >>> # The cubes may be lam apart, and no farther.
        >>> noise.radius([0.0, 0.25, 0.5]).round(3).tolist()
        [0.6, 0.3, 0.0]
        >>> noise.tail([0.0, 0.3, 0.7]).round(3).tolist()
        [0.5, 0.25, 0.0]
    """

    name: ClassVar[str] = "uniform"
    usage: ClassVar[str] = "uniform=LAM"
    summary: ClassVar[str] = (
        "x + noise that is uniform in [-LAM, LAM] for each coordinate, which certifies "
        "in L1."
    )
    tight: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    # At distance r, p is at most q + r / (2 lam).
    proves_sets: ClassVar[bool] = True
    implied: ClassVar[tuple[str, ...]] = ("linf",)
    proves_apart: ClassVar[tuple[str, ...]] = ("linf",)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Draw as `Noise.draw` does; x + noise is rounded to a grid independent of x.

        See `randsmooth.noise.fine`.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> x, noisy = torch.full((1, 4, 4), 0.5), torch.empty(3, 1, 4, 4)
            >>> Uniform(0.25).draw(noisy, x, Stream(0, "example"))
            >>> bool(((noisy >= 0.25) & (noisy <= 0.75)).all())
            True
        """
        for rows, numbers in in_parts(out, stream, "uniform"):
            noise = in_place(numbers)
            noise -= 0.5
            noise *= 2.0 * self.lam
            add_and_round(rows, numbers, x, self.lam)

    def convert(self, norm: str, r: ArrayLike, *, shape: Sequence[int] = ()) -> Floats:
        """As `Noise.convert`.

        In L-infinity it is 2 lam (1 - (1 - h)^(1/d)) for h = r / (2 lam). h is (1 - q -
        q_next) / 2. Of two cubes that lie t apart in each of d coordinates a share of
        (1 - t / (2 lam))^d is in both.

        Source: Yang et al. 2020, table 1 (uniform, L-infinity).
        """
        r = super().convert(norm, r)
        if norm != "linf":
            return r
        check_shape(shape)
        d = math.prod(shape)
        side = 2.0 * self.lam
        return below(-2.0 * self.lam * np.expm1(np.log1p(-r / side) / d))
