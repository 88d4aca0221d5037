"""A noise whose radii are asked for in another norm than its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.noise.base import Floats, Noise, bisected

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise.streams import Stream


@dataclass(frozen=True)
class InNorm(Noise):
    """`noise`, with the radii in `norm` that follow from its own by a proof (see `Noise.convert`).

    Attributes:
        noise: what is drawn.
        norm: of the radii, one of `noise.norms`.
        dimensions: the shape of an input, which some proofs need.

    Raises:
        InputError: nothing is proved in `norm`, or it takes the dimensions.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> seen = InNorm(Gaussian(0.5), "linf", (4, 4))
        >>> seen.radius(0.1587).round(3).tolist(), seen.tail(0.125).round(4).tolist()
        (0.125, 0.1587)
    """

    noise: Noise
    norm: str  # type: ignore[misc]
    dimensions: tuple[int, ...] = ()
    name: ClassVar[str] = "in another norm"

    def __post_init__(self) -> None:
        self.from_own(0.0)

    def from_own(self, r: ArrayLike) -> Floats:
        """What follows from the radius `r` in the noise's own norm."""
        return self.noise.convert(self.norm, r, shape=self.dimensions)

    @property
    def scale(self) -> float:
        return float(self.from_own(self.noise.scale))

    @property
    def text(self) -> str:
        return self.noise.text

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        self.noise.draw(out, x, stream)

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.noise.shape(shape)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        return self.from_own(self.noise.radius(q, q_next))

    def tail(self, radius: ArrayLike) -> Floats:
        """By halving: the larger of two q that enclose it is never taken."""
        r = np.asarray(radius, np.float64)
        low, high = np.full(r.shape, np.log(np.finfo(np.float64).tiny)), np.zeros(r.shape)  # of log(2 q)
        q = np.exp(bisected(lambda log: self.radius(np.exp(log) / 2.0) >= r, low, high)) / 2.0
        return np.asarray(np.where(r > 0.0, np.where(self.radius(q) >= r, q, 0.0), 0.5))
