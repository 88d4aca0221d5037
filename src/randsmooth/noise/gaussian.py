"""Gaussian noise: its radii, and draws that depend on no batch, order or thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.errors import BadValue
from randsmooth.noise.base import Noise, check_shape, in_place
from randsmooth.noise.norms import LENGTHS, check_sigma
from randsmooth.noise.radii import Floats, below, bisected
from randsmooth.noise.streams import Stream, fill

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from randsmooth.noise.rounded_gaussian import GridSampler

# On a logarithm: what rounding may hide is not claimed.
MARGIN = 1e-14


@dataclass(frozen=True)
class Gaussian(Noise):
    """x + N(0, sigma^2 I), which certifies in L2 (Cohen et al. 2019).

    Attributes:
        sigma: standard deviation, in units of the input, such as pixels in [0, 1].

    Raises:
        Problem: sigma is no number from 1e-6 to 1e6.

    Example:
        >>> noise = Gaussian(0.5)
        >>> noise.radius([0.1587, 0.0228]).round(3).tolist()  # 1 and 2 sigma
        [0.5, 1.0]
        >>> noise.tail([0.0, 0.5]).round(4).tolist()
        [0.5, 0.1587]
    """

    sigma: float
    name: ClassVar[str] = "gaussian"
    norm: ClassVar[str] = "l2"
    usage: ClassVar[str] = "gaussian=SIGMA|Cstd|FILE.npy"
    summary: ClassVar[str] = (
        "x + N(0, SIGMA^2 I), which certifies in L2; Cstd: C deviations of each "
        "coordinate; FILE.npy: those."
    )
    tight: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    implied: ClassVar[tuple[str, ...]] = ("l1", "linf")
    proves_sets: ClassVar[bool] = True
    rounds_exactly: ClassVar[bool] = True

    # As in the tables of the literature, at any sigma.
    step = 0.25

    def __post_init__(self) -> None:
        check_sigma(self.sigma, most=LENGTHS[1])

    @property
    def title(self) -> str:
        """The noise as reports print it: "sigma 0.5"."""
        return f"sigma {self.sigma:g}"

    @property
    def title_with_norm(self) -> str:
        """Return the same as `title`: radii in L2 are understood."""
        return self.title

    def check_for_pixels(self) -> None:
        """Check as `Noise.check_for_pixels` does; sigma is at most 100."""
        check_sigma(self.sigma)

    def rounded(self) -> GridSampler:
        from randsmooth.noise.rounded_gaussian import grid_sampler

        return grid_sampler(self.sigma)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Set `out` (n, *shape), contiguous float32, to `x` (*shape) + N(0, sigma^2 I).

        On the CPU this does not use torch's own threads, so that several threads may
        draw at the same time.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> x, noisy = torch.full((1, 4, 4), 0.5), torch.empty(3, 1, 4, 4)
            >>> Gaussian(0.25).draw(noisy, x, Stream(0, "example"))
            >>> noise = draw((3, 1, 4, 4), 0.25, stream=Stream(0, "example"))
            >>> torch.allclose(noisy, x + noise)
            True
        """
        fill(out, stream, "normal")
        noisy = in_place(out)
        noisy *= self.sigma
        noisy += in_place(x)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return R = sigma / 2 (Phi^-1(1 - q) - Phi^-1(q_next)), never below 0.

        With q alone it is sigma Phi^-1(1 - q). Where q_next exceeds q, q takes its
        place: no other class has more than what the class leaves.

        Source: Cohen et al. 2019, theorem 1.

        Example:
            >>> float(Gaussian(0.5).radius(0.1587, 0.0228).round(3))  # (1 sigma + 2 sigma) / 2
            0.75
        """
        # Imported here, since it takes long to load.
        from scipy import special

        z = special.ndtri(np.asarray(q, np.float64))
        if q_next is None:
            return np.asarray(np.maximum(0.0, -self.sigma * z))
        other = special.ndtri(np.minimum(np.asarray(q_next, np.float64), q))
        return np.asarray(np.maximum(0.0, -self.sigma / 2.0 * (z + other)))

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q = Phi(-radius / sigma)."""
        from scipy import special

        return np.asarray(special.ndtr(-np.asarray(radius, np.float64) / self.sigma))

    def convert(self, norm: str, r: ArrayLike, *, shape: Sequence[int] = ()) -> Floats:
        """As `Noise.convert`.

        The L2 norm is never above the L1 norm, nor above sqrt(d) times the L-infinity
        norm.
        """
        r = super().convert(norm, r)
        if norm != "linf":
            return r
        check_shape(shape)
        return below(r / math.sqrt(math.prod(shape)))

    def top_k_radius(self, q: ArrayLike, rivals: ArrayLike) -> Floats:
        """Return the radius within which a class stays among the k most likely ones.

        A set S of t rivals has at most Phi(Phi^-1(p_S) + R / sigma) between them at
        distance R (Neyman & Pearson), p_S being their summed bounds and never more than
        q. If k rivals all beat the label, each of their subsets holds at least t times
        the label's probability. So the label stays in if, for some t,

            Phi(Phi^-1(1 - q) - R / sigma) > Phi(Phi^-1(p_S) + R / sigma) / t,

        S being the t smallest of the k largest bounds: no other k rivals have smaller
        subsets with larger sums.

        Args:
            q: (N,) bounds on 1 minus the label's probability, in (0, 1], from
                `bounds.top_k_bounds`.
            rivals: (N, k) the k largest upper bounds on the other classes'
                probabilities, in (0, 1], in any order.

        Returns:
            (N,)

        Raises:
            Problem: a bound outside (0, 1]: 0 would claim an infinite radius.

        Source: Jia et al. 2020 (ICLR), theorem 1.

        Example:
            >>> float(Gaussian(0.5).top_k_radius([0.6], [[0.45, 0.2]])[0].round(3))
            0.147
        """
        from scipy import special

        q = np.asarray(q, np.float64)[:, None]
        rivals = np.asarray(rivals, np.float64)
        _check_probabilities(q)
        _check_probabilities(rivals)

        # (N, k): in column t - 1, the sum of the t smallest.
        p_s = np.minimum(np.cumsum(np.sort(rivals, axis=1), axis=1), q)
        a = np.broadcast_to(-special.ndtri(q), p_s.shape)
        t = np.arange(1.0, rivals.shape[1] + 1.0)
        return self.sigma * _largest_crossing(a, special.ndtri(p_s), t)

    def set_radius(self, q: ArrayLike, p_other: ArrayLike) -> Floats:
        """Return the radius within which the smoothed class stays in a set of classes.

        At distance R, t classes of the set have at least Phi(Phi^-1(1 - q_t) - R /
        sigma) between them, and one of them at least a t-th of that. A class outside
        has at most Phi(Phi^-1(p_other) + R / sigma) (Neyman & Pearson). So the set
        holds the most likely class if, for some t,

            Phi(Phi^-1(1 - q_t) - R / sigma) / t > Phi(Phi^-1(p_other) + R / sigma).

        With p_other = q_s, what all s classes leave, it is R = sigma (Phi^-1(1 - q_s) -
        Phi^-1(s / (s + 1))) for t = s. Arguments and errors are those of
        `Noise.set_radius`.

        Raises:
            Problem: a bound outside (0, 1]: 0 would claim an infinite radius.

        Example:
            >>> noise = Gaussian(0.5)
            >>> # With all the rest at 0.05: 0.5 (Phi^-1(0.95) - Phi^-1(2/3))
            >>> noise.set_radius([[0.5, 0.05]], [0.05]).round(3).tolist()
            [0.607]
            >>> noise.set_radius([[0.1587]], [0.0228]).round(3).tolist()  # `radius`
            [0.75]
        """
        from scipy import special

        q = np.asarray(q, np.float64)
        p_other = np.asarray(p_other, np.float64)[:, None]
        _check_probabilities(q)
        _check_probabilities(p_other)
        t = np.arange(1.0, q.shape[1] + 1.0)
        a = -special.ndtri(q)
        b = np.broadcast_to(special.ndtri(np.minimum(p_other, q[:, -1:])), q.shape)
        return self.sigma * _largest_crossing(a, b, 1.0 / t)


def _check_probabilities(p: Floats) -> None:
    outside = ~((p > 0.0) & (p <= 1.0))
    if np.any(outside):
        raise BadValue(
            f"a bound on a probability must lie in (0, 1]; got {p[outside].flat[0]}"
        )


def _largest_crossing(a: Floats, b: Floats, t: Floats) -> Floats:
    """Return (N,) the largest of the crossings of a row, from below; 0 for none.

    Args:
        a, b: (N, k)
        t: (k,) above 0, the first of which is 1.
    """
    # For t = 1 there is a closed form.
    z_of_one = (a[:, :1] - b[:, :1]) / 2.0
    z_of_more = _crossing(a[:, 1:], b[:, 1:], t[1:])
    z = np.max(np.concatenate((z_of_one, z_of_more), axis=1), axis=1)
    return np.asarray(np.maximum(0.0, z))


def _crossing(a: Floats, b: Floats, t: Floats) -> Floats:
    """Return the largest z >= 0 with Phi(a - z) >= Phi(b + z) / t, from below.

    Args:
        a: (N, k)
        b: (N, k)
        t: (k,) above 0

    Returns:
        (N, k); 0 where there is none.
    """
    from scipy import special

    def holds(z: Floats) -> np.ndarray:
        # Logarithms, for far out in the tail both sides are 0.
        left = special.log_ndtr(a - z) + np.log(t)
        right = special.log_ndtr(b + z) + MARGIN
        return np.asarray(left >= right)

    low = np.zeros(b.shape)
    # Here 1 / (2 t), or 1/2 where t is below 1, lies between the two sides.
    between = np.minimum(0.5 / t, 0.5)
    high = np.maximum(0.0, np.maximum(-b, a - special.ndtri(between)))
    return bisected(holds, low, high)


def draw(
    shape: tuple[int, ...],
    sigma: float,
    *,
    stream: Stream,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return Gaussian noise N(0, sigma^2) of `shape`, float32 on `device`.

    Raises:
        Problem: `stream` is not a `Stream`, such as the number of a seed.

    Example:
        >>> from randsmooth.noise import Stream
        >>> noise = draw((100, 1, 8, 8), 0.5, stream=Stream(0, "example"))
        >>> noise.shape, round(float(noise.std()), 1)
        (torch.Size([100, 1, 8, 8]), 0.5)
    """
    import torch

    if not isinstance(stream, Stream):
        raise BadValue(
            field="stream",
            value=stream,
            fix="give a Stream, such as Stream(0, 'my noise')",
        )
    noise = torch.empty(shape, device=device)
    fill(noise, stream, "normal")
    return noise.mul_(sigma)
