"""A radius that is nearly as good as that of n samples, as early as it can be had."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import special

from randsmooth import bounds
from randsmooth.errors import BadValue
from randsmooth.noise import Gaussian
from randsmooth.progress import chosen_progress
from randsmooth.rules.base import Floats, Ints, Rule
from randsmooth.rules.grid import Grid

SHARE, FINEST = 0.01, 0.001  # between two radii, of the price, and in sigma
# Standard errors by which an image is taken to be easier than it looks: many while samples are few, lest it stop by bad
# luck, which would cost most of its radius; few later, when it costs little.
EARLY, HOPEFUL, LATER = 2000, 3.0, 0.75
LIKELY = np.concatenate(
    [[0.0], np.geomspace(1e-7, 0.5, 2000)]
)  # failure probabilities between which images lie
DEFAULT = 0.25


@dataclass(frozen=True)
class Dense(Grid):
    """As Grid, for radii so close that rounding hardly matters, until further samples are not worth their price.

    An image goes on as long as some later look, if its answers stay as they are, gains more radius than its samples
    cost: n samples cost `price` * sigma. Each sample so goes where the mean radius gains most by it. Radii are a
    hundredth of the price apart, in sigma (under another noise in its `scale`, such as lam).

    That images stop by their samples does not matter to the level. The radii are tested in a fixed order, smallest
    first, each at the full alpha by a boundary that holds at all looks together, wherever one stops; the first radius
    that is too large is claimed with probability at most alpha. Its boundary spends alpha by the look at which images
    of such a radius stop (see `bounds.claims_by_deadline`).

    Attributes:
        price: of n samples, in sigma, in (0, 1].

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Dense(Gaussian(0.5), n=1000, alpha=0.001)
        >>> len(rule.radii), round(rule.radii[-1], 3)
        (986, 1.231)
        >>> rule.next_look([32, 64, 96]), rule.next_look([10, 20, 30])  # on, or not worth more samples
        (128, None)
    """

    name: ClassVar[str] = "dense"
    most: ClassVar[int] = (
        2_000_000  # a table up to so many samples takes a tenth of a second, and there are hundreds
    )
    price: float = DEFAULT

    def __post_init__(self) -> None:
        if not 0.0 < self.price <= 1.0:
            said = f"dense={self.price:g} must lie above 0 and be at most 1"
            raise BadValue(
                f"{said}: the radius, in sigma, that {self.n} samples must gain; {DEFAULT} is usual"
            )
        if self.noise.norm == "l0":
            raise BadValue(
                f"radii under {self.noise.text} are whole, and those of dense are close: take rule grid"
            )
        self._check_radii()

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """Those that an image could claim of which all samples agree, when it stops."""
        most = self._deadline_of_all[-1] if len(self._deadline_of_all) else 0
        asked = (
            self.unit * i * self.noise.scale for i in range(self._farthest_unit + 1)
        )
        return tuple(
            r for r in asked if bounds.smallest_cap(self._q0(r), self.alpha) <= most
        )

    @property
    def unit(self) -> float:
        """From one radius to the next, in sigma."""
        return max(FINEST, SHARE * self.price)

    asked_radii, notes = Rule.asked_radii, Rule.notes

    @property
    def _farthest_unit(self) -> int:
        return int(
            self.noise.largest_radius(self.n, self.alpha) / self.noise.scale / self.unit
        )

    def guarantee(self) -> str:
        worth = (
            f"as long as further samples gain {self._length(self.price)} per {self.n}"
        )
        return f"{self.tested} each radius of the grid of {self._length(self.unit)}, smallest first, {worth}."

    def _length(self, r: float) -> str:
        return (
            f"{r:g} sigma"
            if isinstance(self.noise, Gaussian)
            else f"{r * self.noise.scale:g}"
        )

    def ends(self, path: Sequence[int]) -> bool:
        """Whether no later look is worth its samples."""
        return bool(path[-1] <= self.enough[len(path) - 1])

    @cached_property
    def needed(self) -> Ints:
        """(R, K) successes that claim each radius at each look.

        They are not kept on disk: to check the level of a table that was read takes longer than to make it.
        """
        rows = []
        with chosen_progress(None)("boundaries", len(self.radii), "radii") as reporter:
            for r, deadline in zip(
                self.radii, self._deadline_of_all.tolist(), strict=False
            ):
                rows.append(
                    bounds.claims_by_deadline(
                        self._q0(r), self.looks, self.alpha, deadline
                    )
                )
                reporter.advance(1)
        return np.stack(rows)

    @cached_property
    def _deadline_of_all(self) -> Ints:
        """Samples at which images stop whose radius is i units then, for i from 0 on, never falling."""
        last = self._worthwhile(LIKELY)
        radius = self._projected(self.looks[last], LIKELY)
        order = np.argsort(radius)
        order = order[radius[order] > 0.0]
        if not len(order):
            return self.looks[:0]
        asked = self.unit * np.arange(self._farthest_unit + 1)
        place = np.searchsorted(radius[order], asked).clip(max=len(order) - 1)
        return np.asarray(np.maximum.accumulate(self.looks[last[order]])[place])

    @cached_property
    def enough(self) -> Ints:
        """(K,) the most successes at each look with which an image stops; -1 where none does."""
        low, high = (
            np.full(len(self.looks), -1),
            self.looks.copy(),
        )  # stops with `low`, goes on with `high`
        ends = self._stops(
            high
        )  # even if all agree, as where the noise proves no farther radius
        low = np.where(ends, high, low)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            stops = self._stops(middle)
            low, high = np.where(stops, middle, low), np.where(stops, high, middle)
        return np.asarray(low)

    def _stops(self, successes: Ints) -> np.ndarray:
        """(K,) whether an image with so many successes at each look has none before it that is worth its samples."""
        n = self.looks.astype(np.float64)
        q = (n - successes + 0.5) / (n + 1.0)
        errors = np.where(n < EARLY, HOPEFUL, LATER)
        hopeful = np.maximum(0.0, q - errors * np.sqrt(q * (1.0 - q) / n))
        return np.asarray(self._worthwhile(hopeful) <= np.arange(len(self.looks)))

    def _worthwhile(self, q: Floats) -> Ints:
        """The look (index) at which the radius less the price of its samples is largest, for failures at rate `q`."""
        looks = self.looks[:, None]
        return np.asarray(
            np.argmax(self._projected(looks, q) - self.price * looks / self.n, axis=0)
        )

    def _projected(self, n: Ints, q: Floats) -> Floats:
        """Clopper-Pearson's radius in sigma after n q failures of n, no whole number perhaps; 0 where p_A <= 1/2."""
        failures, successes = np.multiply(n, q), np.multiply(n, np.subtract(1.0, q))
        upper = special.betainccinv(failures + 1.0, successes, self.alpha)
        return np.asarray(self.noise.radius(np.minimum(upper, 0.5)) / self.noise.scale)
