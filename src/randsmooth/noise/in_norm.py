"""A noise as it is seen in another norm than its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.noise.base import Noise
from randsmooth.noise.radii import Floats, bisected

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise.streams import Stream

# The least q that a tail is looked for at.
LEAST_Q = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class InNorm(Noise):
    """`noise`, with the radii in `norm` that follow from its own by a proof.

    See `Noise.convert`.

    Attributes:
        noise: the noise that is drawn.
        norm: the norm of the radii, one of `noise.norms`.
        dimensions: the shape of an input, which some proofs need.

    Raises:
        Problem: nothing is proved in `norm`, or it takes the dimensions.

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
        # Raises where nothing is proved.
        self.from_own(0.0)

    def from_own(self, r: ArrayLike) -> Floats:
        """Return what follows from the radius `r` in the noise's own norm."""
        return self.noise.convert(self.norm, r, shape=self.dimensions)

    @property
    def scale(self) -> float:
        return float(self.from_own(self.noise.scale))

    @property
    def text(self) -> str:
        return self.noise.text

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        self.noise.draw(out, x, stream)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        return self.from_own(self.noise.radius(q, q_next))

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q, found by halving its logarithm, from below."""
        r = np.asarray(radius, np.float64)

        def certifies(log_of_twice_q: Floats) -> np.ndarray:
            return self.radius(np.exp(log_of_twice_q) / 2.0) >= r

        low = np.full(r.shape, np.log(LEAST_Q))
        high = np.zeros(r.shape)
        q = np.exp(bisected(certifies, low, high)) / 2.0
        q = np.where(self.radius(q) >= r, q, 0.0)
        return np.asarray(np.where(r > 0.0, q, 0.5))
