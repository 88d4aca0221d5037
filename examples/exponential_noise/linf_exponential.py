"""Noise whose density falls off exponentially in the L-infinity norm: a noise that randsmooth does not bring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike

from randsmooth import Problem
from randsmooth.noise import Noise, Stream


@dataclass(frozen=True)
class LinfExponential(Noise):
    """x + noise of density proportional to exp(-max|z_i| / lam), which certifies in L1 (Yang et al. 2020).

    Let x move along a straight line of length r in L1. The density changes with a coordinate only where that one is the
    largest, which is so for 1/d of the noise, half of it on the side that moves away: there by 1/lam a unit of length.
    So the probability q of the other classes grows, a unit, by at most min(q, 1 / (2 d)) / lam. From q on it reaches
    1/2 after

        lam (log(1 / (2 d q)) + d - 1)  where q < 1 / (2 d),  and  2 d lam (1/2 - q)  elsewhere.

    Where the next class is bounded too, neither it nor the others may gain more than r / (2 d lam).

    Attributes:
        lam: how far out the density falls to 1/e of what it is at x.
        d: numbers that make up an input, which `of` counts; None: not known yet.
    """

    lam: float
    d: int | None = None
    name: ClassVar[str] = "linf-exponential"
    norm: ClassVar[str] = "l1"
    usage: ClassVar[str] = "linf-exponential=LAM"
    additive: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "x + noise of density exp(-max|z| / LAM), which certifies in L1; a number is about d LAM / 2."
    )

    def __post_init__(self) -> None:
        if not 0.0 < self.lam < math.inf:
            raise Problem(
                f"lam={self.lam} must be above 0; 1 / (2 d) is usual for d pixels in [0, 1]"
            )

    @property
    def scale(self) -> float:
        return self.lam * self._known()

    def of(self, shape: Sequence[int]) -> LinfExponential:
        super().of(shape)
        return replace(self, d=math.prod(shape))

    def draw(self, out: torch.Tensor, x: torch.Tensor, stream: Stream) -> None:
        """A direction from the middle of a cube to its surface, times a gamma distributed length of shape d."""
        d = x.numel()
        if out.device.type == "cpu":
            stream.numpy().random(out=out.numpy(), dtype=np.float32)
        else:
            out.uniform_(generator=stream.torch(out.device))
        cube = out.view(len(out), d).sub_(0.5)
        lengths = (
            Stream(stream.seed, f"{stream.name}/lengths", stream.position)
            .numpy()
            .standard_gamma(d, len(out))
        )
        cube *= (
            torch.from_numpy(lengths).float().to(out.device)
            * self.lam
            / cube.abs().amax(dim=1)
        )[:, None]
        out.add_(x)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> np.ndarray:
        d, q = self._known(), np.asarray(q, np.float64)
        with np.errstate(divide="ignore"):
            far = np.log(1.0 / (2.0 * d * q)) + d - 1.0
        r = np.where(q < 0.5 / d, far, d * (1.0 - 2.0 * q))
        if q_next is not None:
            r = np.maximum(r, d * (1.0 - q - np.minimum(q_next, q)))
        return np.maximum(0.0, self.lam * r * (1.0 - 1e-15))

    def tail(self, radius: ArrayLike) -> np.ndarray:
        d, r = self._known(), np.asarray(radius, np.float64) / self.lam
        return np.where(
            r > d - 1.0,
            np.exp(np.minimum(0.0, d - 1.0 - r)) / (2.0 * d),
            0.5 - r / (2.0 * d),
        )

    def _known(self) -> int:
        if self.d is None:
            raise Problem(
                f"{self.text} proves a radius once inputs are known: noise.of(shape) counts their numbers"
            )
        return self.d
