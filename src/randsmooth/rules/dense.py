"""A radius that is nearly as good as that of n samples, as early as it can be had."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from randsmooth import bounds
from randsmooth.errors import BadValue
from randsmooth.noise import NORMS, Gaussian
from randsmooth.progress import chosen_progress
from randsmooth.rules.base import Floats, Ints, Rule
from randsmooth.rules.grid import Grid

# The distance of two radii: a share of the price, and at least so many sigma.
STEP_BY_PRICE = 0.01
SMALLEST_STEP = 0.001

# The standard errors by which an image is taken to be easier than it looks: many while
# samples are few, lest it stop by bad luck, which would cost most of its radius; few later,
# when it costs little.
FEW_SAMPLES = 2000
ERRORS_OF_FEW_SAMPLES = 3.0
ERRORS_OF_MORE_SAMPLES = 0.75

# The failure probabilities between which images lie.
LIKELY_Q = np.concatenate([[0.0], np.geomspace(1e-7, 0.5, 2000)])

# The usual price of n samples, in sigma.
USUAL_PRICE = 0.25


@dataclass(frozen=True)
class Dense(Grid):
    """As Grid, for radii so close that rounding hardly matters, while samples are worth it.

    An image goes on as long as some later look, if its answers stay as they are, gains
    more radius than its samples cost: n samples cost `price` * sigma. Each sample so goes
    where the mean radius gains most by it. Radii are a hundredth of the price apart, in
    sigma (under another noise in its `scale`, such as lam).

    That images stop by their samples does not matter to the level. The radii are tested in
    a fixed order, smallest first, each at the full alpha by a boundary that holds at all
    looks together, wherever one stops; the first radius that is too large is claimed with
    probability at most alpha. Its boundary spends alpha by the look at which images of
    such a radius stop (see `bounds.claims_by_deadline`).

    Attributes:
        price: of n samples, in sigma, in (0, 1].

    Example:
        >>> from randsmooth.noise import NORMS, Gaussian
        >>> rule = Dense(Gaussian(0.5), n=1000, alpha=0.001)
        >>> len(rule.radii), round(rule.radii[-1], 3)
        (986, 1.231)
        >>> rule.next_look([32, 64, 96])
        128
        >>> rule.next_look([10, 20, 30])  # it is not worth more samples
    """

    name: ClassVar[str] = "dense"
    usage: ClassVar[str] = "dense[=P]"
    summary: ClassVar[str] = (
        "like grid, with radii so close that rounding hardly matters. It samples "
        "as long as that gains P sigma (0.25) per n: the largest mean radius for "
        "the samples."
    )
    number: ClassVar[str | None] = "price"
    # A table up to so many samples takes a tenth of a second, and there are hundreds.
    most: ClassVar[int] = 2_000_000
    price: float = USUAL_PRICE

    def __post_init__(self) -> None:
        if not 0.0 < self.price <= 1.0:
            raise BadValue(
                f"dense={self.price:g} must lie above 0 and be at most 1: the radius, in "
                f"sigma, that {self.n} samples must gain; {USUAL_PRICE} is usual"
            )
        if NORMS[self.noise.norm].whole:
            raise BadValue(
                f"radii under {self.noise.text} are whole, and those of dense are close: "
                "take rule grid"
            )
        self._check_radii()

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """The radii that an image could claim, when it stops, if all samples agree."""
        last_stop = self._stop_of_radii[-1] if len(self._stop_of_radii) else 0
        radii = [
            self.unit * i * self.noise.scale for i in range(self._units_to_farthest + 1)
        ]
        return tuple(
            r
            for r in radii
            if bounds.smallest_cap(self._q0(r), self.alpha) <= last_stop
        )

    @property
    def unit(self) -> float:
        """The distance from one radius to the next, in sigma."""
        return max(SMALLEST_STEP, STEP_BY_PRICE * self.price)

    asked_radii = Rule.asked_radii
    notes = Rule.notes

    @property
    def _units_to_farthest(self) -> int:
        """How many units the farthest radius is away."""
        farthest = self.noise.largest_radius(self.n, self.alpha)
        return int(farthest / self.noise.scale / self.unit)

    def guarantee(self) -> str:
        unit = self._as_text(self.unit)
        price = self._as_text(self.price)
        return (
            f"{self.tested} each radius of the grid of {unit}, smallest first, as long as "
            f"further samples gain {price} per {self.n}."
        )

    def _as_text(self, length: float) -> str:
        """Return a length in sigma as it is written for the noise."""
        if isinstance(self.noise, Gaussian):
            return f"{length:g} sigma"
        return f"{length * self.noise.scale:g}"

    def ends(self, path: Sequence[int]) -> bool:
        """Return whether no later look is worth its samples."""
        look = len(path) - 1
        return bool(path[-1] <= self.enough[look])

    @cached_property
    def needed(self) -> Ints:
        """(R, K) successes that claim each radius at each look.

        They are not kept on disk: to check the level of a table that was read takes longer
        than to make it.
        """
        stops = self._stop_of_radii.tolist()
        rows = []
        with chosen_progress(None)("boundaries", len(self.radii), "radii") as reporter:
            for r, deadline in zip(self.radii, stops, strict=False):
                q0 = self._q0(r)
                rows.append(
                    bounds.claims_by_deadline(q0, self.looks, self.alpha, deadline)
                )
                reporter.advance(1)
        return np.stack(rows)

    @cached_property
    def _stop_of_radii(self) -> Ints:
        """Samples at which images stop whose radius is i units then, for i from 0 on.

        They never fall.
        """
        best_look = self._best_look(LIKELY_Q)
        radius = self._projected_radius(self.looks[best_look], LIKELY_Q)
        by_radius = np.argsort(radius)
        by_radius = by_radius[radius[by_radius] > 0.0]
        if len(by_radius) == 0:
            return self.looks[:0]

        asked_radii = self.unit * np.arange(self._units_to_farthest + 1)
        place = np.searchsorted(radius[by_radius], asked_radii)
        stops = np.maximum.accumulate(self.looks[best_look[by_radius]])
        return np.asarray(stops[place.clip(max=len(by_radius) - 1)])

    @cached_property
    def enough(self) -> Ints:
        """(K,) the most successes at each look with which an image stops.

        It is -1 where none does.
        """
        # By bisection: an image stops with `low` successes, and goes on with `high`.
        low = np.full(len(self.looks), -1)
        high = self.looks.copy()
        # It may stop even if all agree, as where the noise proves no farther radius.
        low = np.where(self._stops(high), high, low)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            stops = self._stops(middle)
            low = np.where(stops, middle, low)
            high = np.where(stops, high, middle)
        return np.asarray(low)

    def _stops(self, successes: Ints) -> np.ndarray:
        """Return (K,) whether no later look is worth its samples after each look.

        Args:
            successes: (K,) of the image, at each look.
        """
        n = self.looks.astype(np.float64)
        q = (n - successes + 0.5) / (n + 1.0)
        standard_error = np.sqrt(q * (1.0 - q) / n)
        errors = np.where(
            n < FEW_SAMPLES, ERRORS_OF_FEW_SAMPLES, ERRORS_OF_MORE_SAMPLES
        )
        hopeful_q = np.maximum(0.0, q - errors * standard_error)
        return np.asarray(self._best_look(hopeful_q) <= np.arange(len(self.looks)))

    def _best_look(self, q: Floats) -> Ints:
        """Return (Q,) the look (index) at which the radius is worth most.

        Its worth is the radius less the price of its samples, for failures at each rate
        `q` (Q,).
        """
        looks = self.looks[:, None]
        worth = self._projected_radius(looks, q) - self.price * looks / self.n
        return np.asarray(np.argmax(worth, axis=0))

    def _projected_radius(self, n: Ints, q: Floats) -> Floats:
        """Return Clopper-Pearson's radius in sigma after n q failures of n.

        These are perhaps no whole number. The radius is 0 where p_A <= 1/2.
        """
        q_upper = bounds.expected_q_upper(q, n, self.alpha)
        radius = self.noise.radius(np.minimum(q_upper, 0.5))
        return np.asarray(radius / self.noise.scale)
