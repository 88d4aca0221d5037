"""A radius to within a tolerance: a pilot chooses how many fresh samples then bound p_A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from randsmooth import bounds
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules.base import NO_CLAIM, Claim, Floats, Ints, Rule
from randsmooth.rules.choices import MOST_SAMPLES

PILOT = 1024  # a whole number of blocks
PILOT_ALPHA = 0.01  # of either side of the pilot's interval: it affects samples and tolerance, never soundness
FINEST = 1e-6  # sigma: no n is searched for a smaller tolerance; MOST_SAMPLES samples keep 3.5e-7
SHARE = 0.9  # of an image's certificates must lie within the tolerance, at any p_A
RATIO = 1.01  # between neighbouring sample counts to choose from
TOTALS = 16  # numbers of failures tried between those that the pilot leaves open, evenly spread on a log scale


@dataclass(frozen=True)
class Tolerance(Rule):
    """As many samples as bring the radius within `tolerance` * sigma of what n of them would give.

    "What n would give" is Clopper-Pearson's radius from all n samples of the image, of which those drawn are the first.
    At any p_A the radius falls short of it by more than the tolerance with probability at most 1 - SHARE. That is made
    of PILOT_ALPHA, with which the pilot makes the image look harder than it is, and of the rest, with which the fresh
    samples hold more failures than the choice allowed for. (Easy images need more samples: Phi^-1 is steeper there.)

    The pilot's samples choose how many fresh ones are drawn, and do not bound p_A: used for both, they would break the
    level.

    Attributes:
        tolerance: in units of sigma, in (0, 1).

    Example:
        >>> rule = Tolerance(sigma=0.5, n=100_000, alpha=0.001, tolerance=0.05)
        >>> [rule.next_look([successes]) for successes in (600, 900, 1024)]  # in all, after a pilot of 1,024
        [10770, 13206, 84090]
    """

    name: ClassVar[str] = "tolerance"
    sequential: ClassVar[bool] = False
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance={self.tolerance} must lie strictly between 0 and 1 sigma; 0.05 is usual")
        self._check_n()

    def _check_n(self) -> None:
        """Raise InputError if even all samples after the pilot do not keep the tolerance."""
        shortfall = _shortfall_at_cap(self.n, self.alpha)
        if shortfall <= self.tolerance:
            return
        ways = [f"allow n >= {least}"] if (least := self._least_n()) <= MOST_SAMPLES else []
        ways += [f"ask for tolerance={np.ceil(1000.0 * shortfall) / 1000.0:g}"] if shortfall < 0.999 else []
        raise InputError(
            f"n={self.n} cannot keep tolerance={self.tolerance:g}: a pilot takes {PILOT} of the samples, and the rest "
            f"cannot keep {SHARE:.0%} of radii within it; {', '.join([*ways, 'or take --rule fixed'])}"
        )

    def _least_n(self) -> int:
        """The least cap that keeps the tolerance, to a hundredth; above MOST_SAMPLES where no usable one does."""
        if self.tolerance < FINEST:
            return MOST_SAMPLES + 1
        low, high = self.n, max(10 * self.n, 2 * PILOT)
        while high <= MOST_SAMPLES and _shortfall_at_cap(high, self.alpha) > self.tolerance:
            low, high = high, 10 * high
        while high <= MOST_SAMPLES and high - low > low // 100:
            middle = (low + high) // 2
            kept = _shortfall_at_cap(middle, self.alpha) <= self.tolerance
            low, high = (low, middle) if kept else (middle, high)
        return high

    @classmethod
    def as_of(cls, version: int | None) -> type[Self]:
        return ToleranceV1 if version == 1 else cls  # type: ignore[return-value]

    def guarantee(self) -> str:
        return (
            f"{self._sound()}, and at least {SHARE:.0%} of them lie within {self.tolerance:g} sigma of what all "
            f"{self.n} samples of the image would have proved."
        )

    def _sound(self) -> str:
        return (
            f"Each certificate is wrong with probability at most {self.alpha:g}: a pilot of {PILOT} samples chose how "
            "many fresh ones bound p_A by Clopper-Pearson"
        )

    def next_look(self, path: Sequence[int]) -> int | None:
        if len(path) == 1 and 0 <= path[0] <= PILOT:
            fresh = self._fresh[path[0]]
            return PILOT + fresh if fresh else None
        return None if path else PILOT

    def claim(self, path: Sequence[int]) -> Claim:
        if len(path) < 2:
            return NO_CLAIM
        return self.by_q(float(bounds.q_upper(path[1] - path[0], self._fresh[path[0]], self.alpha)))

    @cached_property
    def _fresh(self) -> list[int]:
        """How many samples the pilot asks for after s = 0..PILOT successes; 0 where nothing will be certified."""
        clear, open_ = _by_pilot()
        fresh = np.zeros(PILOT + 1, np.int64)
        fresh[open_] = self.n - PILOT
        fresh[clear] = self._chosen(clear)
        return [int(n) for n in fresh]

    def _chosen(self, s: Ints) -> Ints:
        """The least sample count (S,) that keeps the tolerance after `s` (S,) successes of the pilot (bisection)."""
        choices, shortfall = _choices(self.n - PILOT, self.alpha), Shortfall(s, self.n, self.alpha)
        low, high = np.zeros(len(s), np.int64), np.full(len(s), len(choices) - 1)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            kept = shortfall(choices[middle]) <= self.tolerance
            low, high = np.where(kept, low, middle), np.where(kept, middle, high)
        return np.asarray(choices[high])


@dataclass(frozen=True)
class ToleranceV1(Tolerance):
    """The rule of tables in format 1: the loss projected from the pilot's mean is within the tolerance.

    It is kept to read them; about half of their certificates fall short by more than the tolerance.
    """

    def _check_n(self) -> None:
        least = PILOT + bounds.smallest_n(self.alpha)
        if self.n < least:
            raise InputError(f"n={self.n} leaves no samples after a pilot of {PILOT}: allow n >= {least}")

    def guarantee(self) -> str:
        return f"{self._sound()}."

    def _chosen(self, s: Ints) -> Ints:
        choices = _choices(self.n - PILOT, self.alpha, ratio=1.05)
        projected = Gaussian(1.0).radius(bounds.q_upper(s[:, None] / PILOT * choices, choices, self.alpha))
        return np.asarray(choices[np.argmax(projected >= projected[:, -1:] - self.tolerance, axis=1)])


class Shortfall:
    """How far the radius of fresh samples may fall short of that of all n, after `s` (S,) successes of the pilot.

    Of the n samples F are failures, and F can be anything that agrees with the pilot's interval for p_A. Given F, the
    fresh samples are a random subset of those after the pilot. With probability 1 - SHARE - PILOT_ALPHA they hold more
    failures than a quantile, for which the binomial one is taken: the hypergeometric one is nearer to the mean.
    Called with the numbers of fresh samples (S,), it returns the shortfall at that quantile and the worst F, in sigma.
    """

    def __init__(self, s: Ints, n: int, alpha: float) -> None:
        self.n, self.alpha = n, alpha
        failed = PILOT - s
        least = failed + np.floor(bounds.lower(failed, PILOT, PILOT_ALPHA) * (n - PILOT))
        most = failed + np.ceil(bounds.upper(failed, PILOT, PILOT_ALPHA) * (n - PILOT))
        totals = np.rint(np.geomspace(least + 1.0, most + 1.0, TOTALS, axis=1) - 1.0)
        self.rest = totals - failed[:, None]
        self.full = Gaussian(1.0).radius(bounds.q_upper(n - totals, n, alpha))

    def __call__(self, fresh: Ints) -> Floats:
        from scipy import stats  # here, since it takes long to load

        fresh = fresh[:, None]
        failures = stats.binom.isf(1.0 - SHARE - PILOT_ALPHA, self.rest, fresh / (self.n - PILOT))
        q = bounds.q_upper(fresh - np.minimum(failures, fresh), fresh, self.alpha)
        return np.asarray(np.max(self.full - Gaussian(1.0).radius(q), axis=1))


def _by_pilot() -> tuple[Ints, Ints]:
    """The successes of the pilot after which p_A is clearly above 1/2, and those that leave both sides possible."""
    s = np.arange(PILOT + 1)
    above, below = bounds.lower(s, PILOT, PILOT_ALPHA) > 0.5, bounds.upper(s, PILOT, PILOT_ALPHA) <= 0.5
    return np.flatnonzero(above), np.flatnonzero(~above & ~below)


def _choices(most: int, alpha: float, ratio: float = RATIO) -> Ints:
    """Sample counts up to `most`, each larger than the one before by about `ratio`."""
    steps = max(2, int(np.log(most) / np.log(ratio)))
    return np.unique(np.geomspace(bounds.smallest_n(alpha), most, num=steps).astype(np.int64))


def _shortfall_at_cap(n: int, alpha: float) -> float:
    """The largest shortfall of all samples after the pilot, in sigma; infinite if too few are left."""
    if n < PILOT + bounds.smallest_n(alpha):
        return float("inf")
    s = np.concatenate(_by_pilot())
    return float(np.max(Shortfall(s, n, alpha)(np.full(len(s), n - PILOT))))
