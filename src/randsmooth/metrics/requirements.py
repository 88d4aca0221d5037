"""Conditions on certified accuracy at one radius, and what a table's images say of them.

A condition is *shown* where the images prove it at the stated confidence, *refuted* where
they prove the contrary, and else there are *not enough images* to tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import BadValue, MissingValue, NotComparable, Setting
from randsmooth.metrics.accuracy import certified, labelled
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.estimate import Estimate, require_images
from randsmooth.metrics.intervals import paired_shares
from randsmooth.metrics.pairing import pair
from randsmooth.metrics.radii import asked_radii, can_certify, check_radius, farthest
from randsmooth.number_text import percent, signed

Outcome = Literal["shown", "refuted", "not enough images"]

# The outcomes of a condition.
SHOWN: Outcome = "shown"
REFUTED: Outcome = "refuted"
NOT_ENOUGH: Outcome = "not enough images"

# The largest number of images that is tried in search of one that would decide.
MOST_IMAGES = 10_000_000

# Radii that differ by less than this share of them are one radius.
SAME_RADIUS = 1e-9


@dataclass(frozen=True)
class AtLeast:
    """Certified accuracy at radius `at` is `least` or more.

    Attributes:
        at: the radius, in the unit of the certificates.
        least: a share of all images, strictly between 0 and 1.

    Raises:
        Problem: a value that cannot be.

    Example:
        >>> print(AtLeast(at=0.5, least=0.6))
        certified accuracy at 0.5 is at least 60%
    """

    at: float
    least: float

    def __post_init__(self) -> None:
        check_radius(self.at)
        _check_share("least", self.least)

    def __str__(self) -> str:
        return f"certified accuracy at {self.at:g} is at least {100.0 * self.least:g}%"

    @property
    def threshold(self) -> float:
        """The value that the measured one is held against."""
        return self.least

    def measure(self, table: Certificates) -> Counts:
        """Count the images that `table` certifies at the radius."""
        require_answered(table, self.at)
        hits = int(certified(table, self.at).sum())
        return Counts(images=len(table), hits=hits)

    def ends(self, counts: Counts, level_low: float, level_high: float) -> Ends:
        """Return a lower and an upper bound on certified accuracy, each at its level.

        Source: Clopper & Pearson 1934.
        """
        low = bounds.lower(counts.hits, counts.images, level_low)
        high = bounds.upper(counts.hits, counts.images, level_high)
        return float(low), float(high)


@dataclass(frozen=True)
class NoWorse:
    """Certified accuracy at radius `at` is less than the baseline's by `margin` at most.

    The tables are compared image by image; the baseline may have more images.

    Attributes:
        at: the radius, in the unit of the certificates.
        margin: a share of all images, such as 0.02 for 2 points.
        baseline: the table to compare with.

    Raises:
        Problem: a value that cannot be.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> print(NoWorse(at=0.5, margin=0.02, baseline=from_radii([0.7, 0.2], name="old")))
        certified accuracy at 0.5 is at most 2 points below that of old
    """

    at: float
    margin: float
    baseline: Certificates

    def __post_init__(self) -> None:
        check_radius(self.at)
        _check_share("margin", self.margin)

    def __str__(self) -> str:
        points = f"{100.0 * self.margin:g} points"
        name = self.baseline.name or "the baseline"
        return f"certified accuracy at {self.at:g} is at most {points} below that of {name}"

    @property
    def threshold(self) -> float:
        """The value that the measured one is held against."""
        return -self.margin

    def measure(self, table: Certificates) -> Counts:
        """Count the images that only the one or only the other table certifies."""
        require_answered(table, self.at)
        require_answered(self.baseline, self.at)
        shared, baseline = pair(table, self.baseline)
        if len(shared) < len(table):
            raise NotComparable(
                f"{len(table) - len(shared):,} of {len(table):,} images are not in "
                f"{self.baseline.name or 'the baseline'}: certify the baseline on them, too"
            )

        new = certified(shared, self.at)
        old = certified(baseline, self.at)
        gained = int(np.sum(new & ~old))
        lost = int(np.sum(old & ~new))
        return Counts(images=len(table), hits=gained, losses=lost)

    def ends(self, counts: Counts, level_low: float, level_high: float) -> Ends:
        """Return a lower and an upper bound on the difference, each at its level.

        Source: see `paired_shares`.
        """
        low, _ = paired_shares(
            counts.hits, counts.losses, counts.images, _critical(level_low)
        )
        _, high = paired_shares(
            counts.hits, counts.losses, counts.images, _critical(level_high)
        )
        return float(low), float(high)


Condition = AtLeast | NoWorse
Ends = tuple[float, float]


@dataclass(frozen=True)
class Counts:
    """The counts of a condition among the images of a table.

    Attributes:
        images: the number of images.
        hits: the number of images that speak for the table.
        losses: the number of images that speak against it, where two tables are
            compared.
    """

    images: int
    hits: int
    losses: int = 0

    @property
    def value(self) -> float:
        """Return the share of hits minus the share of losses."""
        return (self.hits - self.losses) / self.images

    def of(self, images: int) -> Counts:
        """Return these counts for another number of images, at about the same shares."""
        times = images / self.images
        return Counts(
            images=images,
            hits=round(self.hits * times),
            losses=round(self.losses * times),
        )


@dataclass(frozen=True)
class JudgedCondition:
    """A condition, and what the images of a table say of it.

    Attributes:
        condition: the condition that was checked.
        outcome: "shown", "refuted" or "not enough images".
        estimate: the share, or the difference of two; its ends are a lower and an upper
            bound, each at the level at which the outcome is stated.
        images_needed: about how many images in all would decide, if they are certified
            as often as these; None where it is decided, and where MOST_IMAGES would not.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> (judged,) = check(from_radii([0.8] * 150 + [0.1] * 50), 0.5, 0.6).conditions
        >>> judged.outcome, judged.estimate.value
        ('shown', 0.75)
    """

    condition: Condition
    outcome: Outcome
    estimate: Estimate
    images_needed: int | None


@dataclass(frozen=True)
class CheckedConditions:
    """All conditions on a table, and what its images say of them together.

    Attributes:
        name: the name of the table.
        conditions: the conditions, each with its outcome.
        confidence: the probability that the outcome of all conditions is right.
        runs: the number of checks, this one among them, that are right together with
            this confidence.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.8] * 150 + [0.1] * 50, name="new")
        >>> checked = check(table, at=0.5, least=0.6)
        >>> checked.outcome
        'shown'
        >>> print(checked)
        shown: certified accuracy at 0.5 is at least 60% (75.0% of 200 images; at least 69.5%)
    """

    name: str
    conditions: tuple[JudgedCondition, ...]
    confidence: float
    runs: int

    @property
    def outcome(self) -> Outcome:
        """Refuted if one condition is, shown if all are, else not enough images."""
        outcomes = [judged.outcome for judged in self.conditions]
        if REFUTED in outcomes:
            return REFUTED
        if NOT_ENOUGH in outcomes:
            return NOT_ENOUGH
        return SHOWN

    @property
    def images_needed(self) -> int | None:
        """About how many images would decide all conditions; None where none would."""
        undecided = [
            judged.images_needed
            for judged in self.conditions
            if judged.outcome == NOT_ENOUGH
        ]
        known = [needed for needed in undecided if needed is not None]
        if not known or len(known) < len(undecided):
            return None
        return max(known)

    def __str__(self) -> str:
        return "\n".join(judged_sentence(judged) for judged in self.conditions)


def check(
    table: CertificatesLike,
    at: float | None = None,
    least: float | None = None,
    *,
    baseline: CertificatesLike | None = None,
    margin: float | None = None,
    conditions: Sequence[Condition] = (),
    confidence: float = LEVEL,
    runs: int = 1,
) -> CheckedConditions:
    """Check what certified accuracy at a radius must be: shown, refuted, or not enough images.

    The images are taken to be drawn independently from those that the condition is about.
    "Shown" is false with probability 1 - `confidence` at most, and so is "refuted". Of
    several conditions, all must be shown: each at this level, since the one that does not
    hold would have to be shown. One that is refuted is enough: so each is refuted at a
    level that is divided by their number. Repeated checks each err so often, unless
    `runs` says how many shall all be right together: then every level is divided by it.

    Certified accuracy is that of this certification: with more samples an image it may be
    higher, so a refuted condition says nothing against the model under a larger n.

    Args:
        table: the certificates, with labels.
        at: the radius, in the unit of the certificates.
        least: the least share of images that must be right and certified at `at`.
        baseline: a table over these images or more, compared image by image; its noise
            may be the same or another.
        margin: the amount by which certified accuracy at `at` may be below that of
            `baseline`, a share of the images, such as 0.02 for 2 points.
        conditions: further conditions, or all of them.
        confidence: the confidence of the outcome, in (0, 1).
        runs: the number of checks that shall be right together.

    Raises:
        Problem: there is no condition, a value cannot be, the images have no labels, the
            samples do not answer a radius, or the baseline lacks an image.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.8] * 150 + [0.1] * 50)
        >>> check(table, at=0.5, least=0.6).outcome
        'shown'
        >>> check(table, at=0.5, least=0.9).outcome
        'refuted'
        >>> checked = check(table, at=0.5, least=0.7)
        >>> checked.outcome, checked.images_needed
        ('not enough images', 233)
    """
    every = [*_conditions(at, least, baseline, margin), *conditions]
    if not every:
        raise MissingValue(
            "there is no condition to check",
            field="at",
            fix=("give ", Setting("at", 0.5), " and ", Setting("least", 0.6)),
        )
    _check_share("confidence", confidence)
    if runs < 1:
        raise BadValue(field="runs", value=runs, expected="must be 1 or more")

    table = labelled(table)
    require_images(len(table))
    level = (1.0 - confidence) / runs
    level_refuted = level / len(every)
    judged = tuple(judge_condition(each, table, level, level_refuted) for each in every)
    return CheckedConditions(table.name, judged, confidence, runs)


def _conditions(
    at: float | None,
    least: float | None,
    baseline: CertificatesLike | None,
    margin: float | None,
) -> list[Condition]:
    """Return the conditions that the arguments of `check` state."""
    if at is None:
        for name, value in (
            ("least", least),
            ("baseline", baseline),
            ("margin", margin),
        ):
            if value is not None:
                raise MissingValue(
                    field="at",
                    fix=(
                        Setting(name),
                        " holds at a radius: give it as ",
                        Setting("at"),
                    ),
                )
        return []

    found: list[Condition] = []
    if least is not None:
        found.append(AtLeast(at, least))
    if baseline is not None:
        if margin is None:
            raise MissingValue(
                field="margin",
                expected="says by how much it may be below the baseline",
                fix=Setting("margin", 0.02),
            )
        found.append(NoWorse(at, margin, as_certificates(baseline)))
    elif margin is not None:
        raise MissingValue(
            field="baseline",
            fix=(Setting("margin"), " is to a table: give ", Setting("baseline")),
        )
    if not found:
        raise MissingValue(
            field="least",
            fix=("give ", Setting("least", 0.6), " or ", Setting("baseline")),
        )
    return found


def judge_condition(
    condition: Condition, table: Certificates, level_shown: float, level_refuted: float
) -> JudgedCondition:
    """Judge one condition, shown and refuted each at a level of its own."""

    def outcome_of(counts: Counts) -> Outcome:
        low, high = condition.ends(counts, level_shown, level_refuted)
        if low >= condition.threshold:
            return SHOWN
        if high < condition.threshold:
            return REFUTED
        return NOT_ENOUGH

    counts = condition.measure(table)
    outcome = outcome_of(counts)
    needed = None
    if outcome == NOT_ENOUGH:
        needed = _images_needed(counts, lambda more: outcome_of(more) != NOT_ENOUGH)

    low, high = condition.ends(counts, level_shown, level_refuted)
    estimate = Estimate(counts.value, low, high, counts.images)
    return JudgedCondition(condition, outcome, estimate, needed)


def _images_needed(counts: Counts, decides: Callable[[Counts], bool]) -> int | None:
    """Return about how many images decide, at the shares of `counts`.

    Counts are whole, so that a larger number may decide less than a smaller one; the
    result is one that decides, near the least.
    """
    most = counts.images
    while not decides(counts.of(most)):
        most *= 2
        if most > MOST_IMAGES:
            return None

    too_few = most // 2
    while most - too_few > 1:
        middle = (too_few + most) // 2
        if decides(counts.of(middle)):
            most = middle
        else:
            too_few = middle
    return most


def require_answered(table: Certificates, radius: float) -> None:
    """Raise Problem where the samples of a table say nothing about a radius."""
    asked = asked_radii(table)
    if asked is not None and not np.any(np.isclose(asked, radius, rtol=SAME_RADIUS)):
        radii = ", ".join(f"{r:g}" for r in asked)
        raise BadValue(
            field="at",
            value=radius,
            expected=f"must be a radius that the samples of {table.name or 'the table'} answer: {radii}",
        )
    if not can_certify(table, radius):
        raise BadValue(
            field="at",
            value=radius,
            expected=(
                f"is beyond what {table.name or 'the table'} can certify with its n and "
                f"alpha, {farthest(table):.3g}"
            ),
            fix="certify with more samples, or ask for a smaller radius",
        )


def judged_sentence(judged: JudgedCondition) -> str:
    """Return a judged condition in one sentence, with its figures."""
    estimate = judged.estimate
    images = f"{estimate.images:,} images"
    in_words = percent if isinstance(judged.condition, AtLeast) else _points
    figures = f"{in_words(estimate.value)} of {images}"
    if judged.outcome == SHOWN:
        figures += f"; at least {in_words(estimate.low)}"
    elif judged.outcome == REFUTED:
        figures += f"; at most {in_words(estimate.high)}"
    else:
        figures += f"; {in_words(estimate.low)} to {in_words(estimate.high)}"
    return f"{judged.outcome}: {judged.condition} ({figures})"


def how_many_decide(checked: CheckedConditions) -> str:
    """Return in one sentence how many images would decide."""
    if checked.images_needed is None:
        return "at these shares no number of images would decide; change the condition"
    about = _rounded_up(checked.images_needed)
    return f"about {about:,} images would decide, at these shares"


def _rounded_up(number: int) -> int:
    """Round an estimate up to two digits, which claims no more than is known."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return math.ceil(number / unit) * unit


def _points(share: float) -> str:
    return f"{signed(100.0 * share, decimals=1)} points"


def _critical(level: float) -> float:
    """Return the critical value of a one-sided bound."""
    return float(-special.ndtri(level))


def _check_share(name: str, value: float) -> None:
    """Raise Problem unless a share lies strictly between 0 and 1."""
    if not (math.isfinite(value) and 0.0 < value < 1.0):
        raise BadValue(
            field=name,
            value=value,
            expected="must be a share between 0 and 1, such as 0.6 for 60%",
        )
