"""One radius, or the largest of a grid, by exact group-sequential boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from randsmooth import bounds
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules.base import (
    MORE_THAN_HALF,
    NO_CLAIM,
    Claim,
    Ints,
    Rule,
    possible,
    way_out,
)
from randsmooth.rules.choices import ANY_CLASS, MOST_WATCHED, ConfidenceBound

GRAIN = 32  # looks come after whole numbers of these
MANY = 1000  # radii of a grid: each needs a boundary of its own, and reports print a dozen
WORK = 1000 * 10**6  # radii times n: a boundary up to a million samples takes some 40 ms, up to ten million 280 ms
TINY = 1e-300  # a failure probability that no number of samples proves
TOWARDS_SAFETY = 1.0 - 1e-13  # outweighs the rounding of the normal distribution function


@dataclass(frozen=True)
class Grid(Rule):
    """The largest certifiable radius of 0, step, 2 step, ..., smallest first, each at the full alpha.

    A radius may be claimed once all smaller ones are (fixed-sequence testing), so alpha need not be divided among them.

    Attributes:
        step: of the radii, in units of pixels in [0, 1].

    Example:
        >>> rule = Grid(sigma=0.5, n=1000, alpha=0.001)
        >>> rule.radii
        (0.0, 0.25, 0.5, 0.75, 1.0)
        >>> rule.claim([32, 64, 96]).radius  # after three looks at which all samples agreed
        0.5
    """

    name: ClassVar[str] = "grid"
    block: ClassVar[int | None] = GRAIN
    most: ClassVar[int] = MOST_WATCHED
    spending: ClassVar[bounds.Spending] = bounds.LATE
    step: float = 0.25

    def __post_init__(self) -> None:
        if not 0.0 < self.step < np.inf:
            raise InputError(f"the grid's step {self.step} must be a finite radius above 0; tables take 0.25")
        farthest = Gaussian(self.sigma).largest_radius(self.n, self.alpha)
        many = min(MANY, WORK // self.n)
        if farthest / self.step > many:
            raise InputError(
                f"a grid of {self.step:g} has more than {many} radii up to {farthest:.3g}, each with its table: take a "
                f"step of at least {1.01 * farthest / many:.3g}, or rule anytime, which has no steps"
            )
        if not self.radii:
            raise InputError(
                f"n={self.n} samples cannot certify any radius at alpha={self.alpha} under {self.name}: allow "
                f"n >= {bounds.smallest_cap(0.5, self.alpha)}"
            )

    @classmethod
    def as_of(cls, version: int | None) -> type[Self]:
        before = {Grid: GridV3, OneRadius: OneRadiusV3, Union: UnionV3}
        return cls if version is None or version > 3 else before.get(cls, cls)  # type: ignore[return-value]

    @cached_property
    def looks(self) -> Ints:
        """(K,) sample counts of the looks, growing by a tenth."""
        return bounds.looks(self.n, grain=GRAIN)

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """The radii of the grid that n successes of n would certify."""
        farthest = Gaussian(self.sigma).largest_radius(self.n, self.alpha)
        return tuple(self.step * i for i in range(int(farthest / self.step) + 1) if self._reachable(self.step * i))

    @property
    def asked_radii(self) -> tuple[float, ...] | None:
        return self.radii

    def _reachable(self, r: float) -> bool:
        return self._least(r) <= self.n

    def _least(self, r: float) -> int:
        """The smallest n that can certify `r`, or some number above MOST_WATCHED if it is so large."""
        q0 = self._q0(r)
        return bounds.smallest_cap(q0, self.alpha) if q0 > TINY else MOST_WATCHED + 1

    def _q0(self, r: float) -> float:
        return float(Gaussian(self.sigma).tail(r)) * TOWARDS_SAFETY

    @cached_property
    def _tables(self) -> tuple[Ints, Ints]:
        """(R, K) successes that claim each radius at each look, and successes at which it is given up."""
        made = bounds.any_class_boundary if self.any_class else bounds.cached_boundary
        tables = [made(self._q0(r), self.looks, self.alpha, spending=self.spending) for r in self.radii]
        return np.stack([t.claim for t in tables]), np.stack([t.give_up for t in tables])

    @property
    def notes(self) -> tuple[str, ...]:
        dropped = self.step * len(self.radii)
        return (f"radii from {dropped:g} on are dropped: no {self.n} samples certify them at alpha={self.alpha:g}",)

    def guarantee(self) -> str:
        return (
            f"Each certificate is wrong with probability at most {self.alpha:g}, whenever its samples stopped: an "
            f"exact group-sequential test of each radius of the grid of {self.step:g}, smallest first."
        )

    def next_look(self, path: Sequence[int]) -> int | None:
        k = len(path)
        if k >= len(self.looks):
            return None
        frontier = self._claimed(path)
        if frontier == len(self.radii):
            return None
        if k and path[-1] <= self._tables[1][frontier, k - 1]:
            return None
        return int(self.looks[k])

    def samples(self, path: Sequence[int]) -> int:
        return super().samples(path) if possible(path, self.looks) else 0

    def claim(self, path: Sequence[int]) -> Claim:
        claimed = self._claimed(path)
        if claimed == 0:
            return NO_CLAIM
        radius = self.radii[claimed - 1]
        return Claim(min(float(Gaussian(self.sigma).tail(radius)), MORE_THAN_HALF), radius)

    def _claimed(self, path: Sequence[int]) -> int:
        """How many radii, from the smallest on, have been claimed at some look."""
        crossed = (np.asarray(path, np.int64) >= self._tables[0][:, : len(path)]).any(axis=1)
        return int(np.argmin(np.append(crossed, False)))


@dataclass(frozen=True)
class OneRadius(Grid):
    """Whether one given radius can be certified, which takes the fewest samples.

    Attributes:
        radius: in units of pixels in [0, 1].
        bound: "any-class" where no other samples pick a class: whichever crosses is certified, at a price of a
            thousandth of alpha (see `bounds.any_class_boundary`). Radius 0 and its neighbourhood have no such test.

    Example:
        >>> rule = OneRadius(sigma=0.5, n=1000, alpha=0.001, radius=0.5)
        >>> rule.next_look([32]), rule.next_look([20])  # on, or given up after 20 of 32
        (64, None)
    """

    name: ClassVar[str] = "radius"
    takes: ClassVar[tuple[ConfidenceBound, ...]] = ("clopper-pearson", ANY_CLASS)
    radius: float = 0.5
    bound: ConfidenceBound = "clopper-pearson"

    def __post_init__(self) -> None:
        if not 0.0 <= self.radius < np.inf:
            raise InputError(f"radius={self.radius} must be a finite number >= 0, in units of pixels in [0, 1]")
        least = self._least(self.radius)
        if self.n < least:
            raise InputError(
                f"n={self.n} samples cannot certify radius {self.radius:g} at sigma={self.sigma:g} and "
                f"alpha={self.alpha:g}, even if all agree: "
                f"{way_out(least, Gaussian(self.sigma).largest_radius(self.n, self.alpha))}"
            )
        if self.any_class:
            self._check_any_class()

    def _check_any_class(self) -> None:
        try:
            _ = self._tables
        except InputError:
            raise InputError(
                f"radius={self.radius:g} is too small at sigma={self.sigma:g} for samples that pick no class first: "
                "several classes may come near it. Let n0 samples pick the class (--n0 100), or ask for a larger radius"
            ) from None

    @property
    def stated_bound(self) -> str | None:
        return self.bound if self.bound == ANY_CLASS else None

    @cached_property
    def radii(self) -> tuple[float, ...]:
        return (self.radius,)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def guarantee(self) -> str:
        return (
            f"Each certificate is wrong with probability at most {self.alpha:g}, whenever its samples stopped: an "
            f"exact group-sequential test of radius {self.radius:g} alone{', for any class' if self.any_class else ''}."
        )


@dataclass(frozen=True)
class Union(Grid):
    """As Grid, but with radii between its points: Clopper-Pearson at each look, with alpha divided among the looks.

    Example:
        >>> rule = Union(sigma=0.5, n=1000, alpha=0.001)
        >>> round(rule.claim([32, 64, 96]).radius, 3)
        0.626
    """

    name: ClassVar[str] = "union"

    def guarantee(self) -> str:
        return (
            f"Each certificate is wrong with probability at most {self.alpha:g}, whenever its samples stopped: "
            "Clopper-Pearson at every look, half of alpha at the last and half shared by the others."
        )

    def claim(self, path: Sequence[int]) -> Claim:
        return self.by_q(float(bounds.union_q_upper(np.asarray(path, np.int64), self.looks, self.alpha)))

    def _claimed(self, path: Sequence[int]) -> int:
        if not len(path):
            return 0
        claim = self.claim(path)
        return sum(r < claim.radius for r in self.radii) if claim.q < 0.5 else 0


class GridV3(Grid):
    """The rule of tables up to format 3, which spent alpha earlier and gave up later. It is kept to read them."""

    spending: ClassVar[bounds.Spending] = bounds.SQUARE_ROOT


class OneRadiusV3(OneRadius):
    """As `GridV3`, for one radius."""

    spending: ClassVar[bounds.Spending] = bounds.SQUARE_ROOT


class UnionV3(Union):
    """As `GridV3`, for the radii of union, whose images were given up later."""

    spending: ClassVar[bounds.Spending] = bounds.SQUARE_ROOT
