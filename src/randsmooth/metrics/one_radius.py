"""Differences at one radius that was chosen beforehand, each judged at this radius alone.

`metrics.compare` judges all radii together, which costs width. Who names one radius
before looking needs no allowance for the others: only the tables that are compared with
one baseline are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy import special

from randsmooth.metrics.comparison import Comparison, Point
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.intervals import paired_shares


@dataclass(frozen=True)
class JudgedAtRadius:
    """The differences of several comparisons at one radius, judged together.

    With 95% probability all of their intervals hold, at this radius alone.

    Attributes:
        radius: the radius, chosen before anybody saw the tables.
        points: the difference of each comparison; None where its tables cannot be
            compared at the radius.
        pairs: the number of differences that are judged, which the intervals allow for.
        critical: the critical value of each interval: 1.96 for a single difference.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.metrics import compare
        >>> a = from_radii([0.5] * 9 + [0.0], name="a")
        >>> b = from_radii([0.0] * 9 + [0.5], name="b")
        >>> judged = judged_at(compare([(a, b)], [0.25]), 0.25)
        >>> judged.pairs, round(judged.critical, 2), judged.points[0].shown
        (1, 1.96, 1)
    """

    radius: float
    points: list[Point | None]
    pairs: int
    critical: float

    @property
    def words(self) -> str:
        """Return what the intervals hold for, in a few words."""
        if self.pairs == 1:
            return f"{LEVEL:.0%}, this radius alone"
        return f"{LEVEL:.0%}, this radius, together for {self.pairs} tables"


def judged_at(comparisons: Sequence[Comparison], radius: float) -> JudgedAtRadius:
    """Judge the differences in certified accuracy at one radius, and at no other.

    Each of k differences has the interval of level 1 - 0.05 / k, so that all hold
    together with 95% probability (Bonferroni). For one difference it contains 0 exactly
    where McNemar's exact test does not reject at 5%; for k, where it does not reject at
    5% / k.

    Args:
        comparisons: usually of several tables with one baseline. Their radii include
            this one, as far as their tables were asked about it.
        radius: the radius, chosen before anybody saw the tables.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.metrics import compare
        >>> a = from_radii([0.5] * 9 + [0.0], name="a")
        >>> b = from_radii([0.0] * 9 + [0.5], name="b")
        >>> judged = judged_at(compare([(a, b), (b, b)], [0.25]), 0.25)
        >>> judged.pairs, round(judged.critical, 2), [point.shown for point in judged.points]
        (2, 2.24, [1, 0])
    """
    points = [comparison.at(radius) for comparison in comparisons]
    pairs = sum(point is not None for point in points)
    alpha_of_end = (1.0 - LEVEL) / 2.0 / max(1, pairs)
    critical = -float(special.ndtri(alpha_of_end))
    judged = [None if point is None else _judged(point, critical) for point in points]
    return JudgedAtRadius(radius, judged, pairs, critical)


def _judged(point: Point, critical: float) -> Point:
    """Return the difference with the interval of a critical value."""
    images = point.difference.images
    ends = paired_shares(point.only_a, point.only_b, images, critical)
    low, high = map(float, ends)
    return replace(
        point,
        difference=replace(point.difference, low=low, high=high),
        shown=int(low > 0.0) - int(high < 0.0),
    )
