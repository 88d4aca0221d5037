"""One radius, or the largest of a grid, by exact group-sequential boundaries."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from randsmooth import bounds
from randsmooth.errors import BadValue, Problem, TooFewSamples
from randsmooth.rules.base import MORE_THAN_HALF, NO_CLAIM, Claim, Ints, Rule, Watching
from randsmooth.rules.limits import ANY_CLASS, MOST_WATCHED, ConfidenceBound

# The most radii of a grid: each needs a boundary of its own, and reports print a dozen.
MOST_RADII = 1000

# The most radii times n: a boundary up to a million samples takes some 40 ms, up to ten
# million 280 ms.
MOST_RADII_TIMES_N = 1000 * 10**6

# How much larger than the smallest possible step the one is that an error proposes.
ROOM_OF_PROPOSED_STEP = 1.01

# A failure probability that no number of samples proves.
UNPROVABLE_Q = 1e-300

# A factor that outweighs the rounding of the noise's tail.
TOWARDS_SAFETY = 1.0 - 1e-13

# An image is left open after SCREEN_ROOTS * sqrt(m) samples, or SCREEN_TIMES * m if that is
# more, where m samples that all agree prove the radius: replayed on published logs, about
# there a sample is spent as well on the next image as on one left open.
SCREEN_ROOTS = 64
SCREEN_TIMES = 3


@dataclass(frozen=True)
class Grid(Watching):
    """The largest certifiable radius of 0, step, 2 step, ..., smallest first.

    Each is tested at the full alpha: a radius may be claimed once all smaller ones are
    (fixed-sequence testing), so alpha need not be divided among them.

    Attributes:
        step: of the radii, in the units of the input; None: the noise's own (see
            `Noise.step`).

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Grid(Gaussian(0.5), n=1000, alpha=0.001)
        >>> rule.radii
        (0.0, 0.25, 0.5, 0.75, 1.0)
        >>> rule.claim([32, 64, 96]).radius  # after three looks at which all samples agreed
        0.5
    """

    name: ClassVar[str] = "grid"
    usage: ClassVar[str] = "grid[=STEP]"
    summary: ClassVar[str] = (
        "samples until the largest provable radius of 0, 0.25, 0.5, ... is found, by exact "
        "sequential tests, smallest radius first; where the noise proves short radii only "
        "they are closer, in L0 whole."
    )
    number: ClassVar[str | None] = "step"
    step: float | None = None

    def __post_init__(self) -> None:
        self.noise.check_radius("grid", self.apart)
        if not self.apart:
            raise BadValue(
                f"the grid's step {self.apart} must be a radius above 0; tables take 0.25"
            )
        self._check_number_of_radii()
        self._check_radii()

    def _check_number_of_radii(self) -> None:
        """Raise Problem if the grid is so fine that its boundaries would take too long."""
        farthest = self.farthest_asked
        most_radii = min(MOST_RADII, MOST_RADII_TIMES_N // self.n)
        if farthest / self.apart > most_radii:
            wider_step = ROOM_OF_PROPOSED_STEP * farthest / most_radii
            raise BadValue(
                f"a grid of {self.apart:g} has more than {most_radii} radii up to "
                f"{farthest:.3g}, each with its table: take a step of at least "
                f"{wider_step:.3g}, or rule anytime"
            )

    def _check_reaches(self, field: str, radius: float) -> None:
        """Raise Problem, about `field`, if n samples cannot certify `radius`."""
        self.noise.check_radius(field, radius)
        least = self._least(radius)
        if self.n < least:
            farthest = self.noise.largest_radius(self.n, self.alpha)
            raise self.out_of_reach(f"radius {radius:g}", least, farthest)

    @property
    def farthest_asked(self) -> float:
        """The farthest radius that n samples can certify: no radius beyond is asked for."""
        return self.noise.largest_radius(self.n, self.alpha)

    @property
    def apart(self) -> float:
        """The distance from one radius to the next."""
        return self.noise.step if self.step is None else self.step

    def _check_radii(self) -> None:
        """Raise Problem if n samples cannot certify any radius."""
        if not self.radii:
            raise TooFewSamples(
                f"n={self.n} samples cannot certify any radius at alpha={self.alpha} "
                f"under {self.name}: allow n >= {bounds.smallest_cap(0.5, self.alpha)}"
            )

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """The radii of the grid that n successes of n would certify."""
        farthest = self.farthest_asked
        asked = (self.apart * i for i in range(int(farthest / self.apart) + 1))
        return tuple(r for r in asked if self._least(r) <= self.n)

    @property
    def asked_radii(self) -> tuple[float, ...] | None:
        return self.radii

    def _least(self, r: float) -> int:
        """Return the smallest n that can certify `r`; if that is large, a larger number.

        That number is above MOST_WATCHED.
        """
        q0 = self._q0(r)
        if q0 <= UNPROVABLE_Q:
            return MOST_WATCHED + 1
        return bounds.smallest_cap(q0, self.alpha)

    def _q0(self, r: float) -> float:
        """Return the failure probability below which the noise proves radius `r`."""
        return float(self.noise.tail(r)) * TOWARDS_SAFETY

    @cached_property
    def _tables(self) -> tuple[Ints, Ints]:
        """(R, K) successes that claim each radius at each look, and that give it up."""
        boundary = bounds.any_class_boundary if self.any_class else bounds.boundary
        boundaries = [boundary(self._q0(r), self.looks, self.alpha) for r in self.radii]
        claim = np.stack([table.claim for table in boundaries])
        give_up = np.stack([table.give_up for table in boundaries])
        return claim, give_up

    @property
    def needed(self) -> Ints:
        """(R, K) successes that claim each radius at each look."""
        claim, _ = self._tables
        return claim

    @property
    def notes(self) -> tuple[str, ...]:
        dropped = self.apart * len(self.radii)
        return (
            f"radii from {dropped:g} on are dropped: no {self.n} samples certify them at "
            f"alpha={self.alpha:g}",
        )

    @property
    def tested(self) -> str:
        """The guarantee up to what is tested."""
        return (
            f"{self.level_kept}, whenever its samples stopped: an exact group-sequential "
            "test of"
        )

    def guarantee(self) -> str:
        return (
            f"{self.tested} each radius of the grid of {self.apart:g}, smallest first."
        )

    def ends(self, path: Sequence[int]) -> bool:
        """Return whether all radii are claimed, or the next one is given up."""
        claimed = self._claimed(path)
        if claimed == len(self.radii):
            return True
        _, give_up = self._tables
        look = len(path) - 1
        return bool(path[-1] <= give_up[claimed, look])

    def claim(self, path: Sequence[int]) -> Claim:
        claimed = self._claimed(path)
        if claimed == 0:
            return NO_CLAIM
        # The radius itself, and not that of its q: no digit is lost.
        radius = self.radii[claimed - 1]
        q = min(float(self.noise.tail(radius)), MORE_THAN_HALF)
        return Claim(q, radius)

    def _claimed(self, path: Sequence[int]) -> int:
        """Return how many radii, from the smallest on, have been claimed at some look."""
        successes = np.asarray(path, np.int64)
        crossed = (successes >= self.needed[:, : len(path)]).any(axis=1)
        return int(np.argmin(np.append(crossed, False)))


@dataclass(frozen=True)
class OneRadius(Grid):
    """Whether one given radius can be certified, which takes the fewest samples.

    Attributes:
        radius: in units of pixels in [0, 1].
        bound: "any-class" where no other samples pick a class: whichever crosses is
            certified, at a price of a thousandth of alpha (see
            `bounds.any_class_boundary`). Radius 0 and its neighbourhood have no such test.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = OneRadius(Gaussian(0.5), n=1000, alpha=0.001, radius=0.5)
        >>> rule.next_look([32]), rule.next_look([20])  # on, or given up after 20 of 32
        (64, None)
    """

    name: ClassVar[str] = "radius"
    usage: ClassVar[str] = "radius=R"
    summary: ClassVar[str] = (
        "samples until radius R is proved or given up, by an exact sequential test that "
        "may stop at any of its looks."
    )
    number: ClassVar[str | None] = "radius"
    number_is_required: ClassVar[bool] = True
    takes: ClassVar[tuple[ConfidenceBound, ...]] = ("clopper-pearson", ANY_CLASS)
    radius: float = 0.5
    bound: ConfidenceBound = "clopper-pearson"

    def __post_init__(self) -> None:
        self._check_reaches("radius", self.radius)
        if self.any_class:
            self._check_has_test_of_any_class()

    def _check_has_test_of_any_class(self) -> None:
        """Raise Problem for a radius so small that any class may have too many samples."""
        try:
            _ = self.needed
        except Problem as error:
            raise BadValue(
                field="radius",
                value=self.radius,
                expected=f"is too small under {self.noise.text}: {error}",
            ) from None

    @property
    def stated_bound(self) -> str | None:
        return self.bound if self.bound == ANY_CLASS else None

    @cached_property
    def radii(self) -> tuple[float, ...]:
        return (self.radius,)

    notes = Rule.notes

    def guarantee(self) -> str:
        if self.any_class:
            return f"{self.tested} radius {self.radius:g} alone, for any class."
        return f"{self.tested} radius {self.radius:g} alone."


@dataclass(frozen=True)
class Screen(OneRadius):
    """As `OneRadius`, but an image that is neither certified nor given up early is left open.

    It has the boundary of `OneRadius` with the same n, so that whoever goes on with an
    image that was left open makes the same test: `metrics.measured_accuracy` puts both
    together.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Screen(Gaussian(0.5), n=100_000, alpha=0.001, radius=0.5)
        >>> rule.horizon, rule.next_look([32]), rule.next_look([10])  # on, or given up
        (405, 64, None)
    """

    name: ClassVar[str] = "screen"
    usage: ClassVar[str] = "screen=R"
    summary: ClassVar[str] = (
        "as radius=R, but an image that is not decided early is left open: the first pass "
        "of `randsmooth accuracy`."
    )

    @cached_property
    def horizon(self) -> int:
        """The most samples that an image takes."""
        m = self._least(self.radius)
        horizon = max(SCREEN_TIMES * m, math.ceil(SCREEN_ROOTS * math.sqrt(m)))
        return min(self.n, horizon)

    def guarantee(self) -> str:
        test = super().guarantee().removesuffix(".")
        return f"{test}, left open after {self.horizon} samples at the latest."

    def ends(self, path: Sequence[int]) -> bool:
        """Return whether `OneRadius` ends, or the next look lies beyond the horizon."""
        return super().ends(path) or bool(self.looks[len(path)] > self.horizon)

    def leaves_open(self, path: Sequence[int]) -> bool:
        """Return whether the looks of `path` decide nothing: `OneRadius` would go on."""
        return len(path) < len(self.looks) and not super().ends(path)
