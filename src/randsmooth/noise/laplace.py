"""Laplace noise, under which probabilities change by at most a factor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.noise.base import Noise, in_place
from randsmooth.noise.fine import add_and_round, in_parts
from randsmooth.noise.norms import check_length
from randsmooth.noise.radii import Floats, below, both
from randsmooth.noise.streams import Stream

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Laplace(Noise):
    """x + noise of density (2 b)^-d exp(-|z|_1 / b) (Teng et al. 2020).

    It certifies in L1.

    Attributes:
        b: mean absolute value of a coordinate of the noise, in the units of the input.

    Raises:
        Problem: b is no number from 1e-6 to 1e6.

    Example:
        >>> noise = Laplace(0.5)
        >>> noise.radius([0.1, 0.5]).round(3).tolist()
        [0.805, 0.0]
        >>> noise.tail([0.0, 0.805]).round(3).tolist()
        [0.5, 0.1]
    """

    b: float
    name: ClassVar[str] = "laplace"
    norm: ClassVar[str] = "l1"
    usage: ClassVar[str] = "laplace=B"
    summary: ClassVar[str] = (
        "x + noise of mean absolute value B and density exp(-|z| / B), which certifies "
        "in L1."
    )
    tight: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    # At distance r, p is at most e^(r/b) q.
    proves_sets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_length("b", self.b)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Draw as `Noise.draw` does: the difference of two exponential numbers.

        x + noise is rounded to a grid that does not depend on x (see
        `randsmooth.noise.fine`).

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> noisy = torch.empty(10_000, 1)
            >>> Laplace(0.5).draw(noisy, torch.zeros(1), Stream(0, "example"))
            >>> round(float(noisy.abs().mean()), 1)
            0.5
        """
        others = replace(stream, name=f"{stream.name}/others")
        minuends = in_parts(out, stream, "exponential")
        subtrahends = in_parts(out, others, "exponential")
        for (rows, minuend), (_, subtrahend) in zip(minuends, subtrahends, strict=True):
            noise = in_place(minuend)
            noise -= in_place(subtrahend)
            noise *= self.b
            add_and_round(rows, minuend, x, self.b)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return the larger of -b log(q + q_next) and b/2 log((1 - q) / q_next).

        With q alone it is -b log(2 q).

        At distance R in L1 no set is more than e^(R/b) times as likely as before. So
        the class is left with more than 1 - e^(R/b) q, and with e^(-R/b) (1 - q), while
        no other one gets more than e^(R/b) q_next. With q alone the first is never the
        smaller one, for 4 q (1 - q) <= 1.

        Source: Teng et al. 2020, theorem 1.

        Example:
            >>> # -b log(0.8) would be 0.112.
            >>> float(Laplace(0.5).radius(0.6, 0.2).round(3))
            0.173
        """
        # Infinite where no noise leads to another class.
        with np.errstate(divide="ignore"):
            by_what_is_left = -np.log(both(q, q_next))
            if q_next is None:
                return below(self.b * by_what_is_left)
            q = np.asarray(q, np.float64)
            other = np.minimum(np.asarray(q_next, np.float64), q)
            by_ratio = (np.log1p(-q) - np.log(other)) / 2.0
        larger = np.maximum(by_what_is_left, by_ratio)
        return below(self.b * np.where(q >= 1.0, 0.0, larger))

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q = exp(-radius / b) / 2."""
        r = np.asarray(radius, np.float64)
        return np.asarray(np.where(r <= 0.0, 0.5, below(np.exp(-r / self.b) / 2.0)))
