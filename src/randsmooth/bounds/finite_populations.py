"""Statements about finitely many images.

They say how many have a property, and how many certificates may be false.
"""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.levels import check_alpha, check_probability
from randsmooth.errors import BadValue

# The most numbers of hits, about half of those drawn, at which the length of an
# interval is checked.
MOST_HITS_CHECKED = 400

# The relative error of a tail: one this little below the level counts as above it,
# which widens the interval.
TAIL_ERROR = 1e-9


def finite_share_interval(
    hits: int, drawn: int, total: int, alpha: float
) -> tuple[int, int]:
    """Return an interval for how many of `total` things have a property.

    P(the number lies outside) <= alpha, if the `drawn` were chosen by chance, without
    replacement, and their number without sight of what they show. The ends are the
    smallest and the largest number that the exact hypergeometric test at alpha / 2 does
    not reject, as Clopper and Pearson's are for the binomial distribution: a true
    number below the lower end would have been rejected, which happens with probability
    at most alpha / 2; likewise above the upper.

    Args:
        hits: how many of the drawn have it, 0..drawn.
        drawn: 0..total; from none nothing is known, from all the number itself.
        total: how many there are.
        alpha: probability of failure, in (0, 1).

    Raises:
        Problem: numbers that cannot be, or alpha out of range.

    Source: Buonaccorsi 1987, "A note on confidence intervals for proportions in finite
    populations".

    Example:
        >>> finite_share_interval(30, drawn=60, total=800, alpha=0.05)
        (299, 501)
        >>> finite_share_interval(30, drawn=60, total=60, alpha=0.05)
        (30, 30)
    """
    check_alpha(alpha)
    if not 0 <= hits <= drawn <= total:
        raise BadValue(
            f"hits={hits} of drawn={drawn} of total={total}: each must be at most the "
            "next, and none < 0"
        )
    low = _lowest_not_rejected(hits, drawn, total, alpha)
    lowest_without = _lowest_not_rejected(drawn - hits, drawn, total, alpha)
    return low, total - lowest_without


def enough_drawn(total: int, width: float, alpha: float) -> int:
    """Return how many of `total` things to draw for an interval of a given width.

    The ends of `finite_share_interval` then lie at most `width` apart.

    The interval is longest where about half of those drawn are hits, which is what the
    number is chosen for.

    Args:
        total: how many there are.
        width: in things, >= 0.
        alpha: probability that the interval fails, in (0, 1).

    Raises:
        Problem: a total or a width below 0, or alpha out of range.

    Example:
        >>> enough_drawn(800, width=200, alpha=0.05)
        62
        >>> [enough_drawn(100, width=width, alpha=0.05) for width in (100, 0)]
        [0, 100]
    """
    check_alpha(alpha)
    if not (total >= 0 and width >= 0.0):
        raise BadValue(f"total={total} and width={width} must not be below 0")

    def narrow_at_half(drawn: int) -> bool:
        return _length(drawn // 2, drawn, total, alpha) <= width

    def narrow(drawn: int) -> bool:
        return all(
            _length(hits, drawn, total, alpha) <= width
            for hits in _hits_of_longest_intervals(drawn, total, alpha)
        )

    drawn = bisect_left(range(total), True, key=narrow_at_half)
    while not narrow(drawn):
        drawn += 1
    return drawn


def _hits_of_longest_intervals(drawn: int, total: int, alpha: float) -> list[int]:
    """Return the numbers of hits at which the ends may lie farthest apart, descending.

    They begin with half of the `drawn`.

    Their distance falls off like a parabola, to both sides alike. As both ends are
    whole numbers, it is less than two below the parabola: so it may be longest wherever
    that has fallen by less than two.
    """
    half = drawn // 2
    longest = max(1, _length(half, drawn, total, alpha))
    reach = drawn / math.sqrt(longest) + 1.0
    hits = np.linspace(half, max(0.0, half - reach), MOST_HITS_CHECKED).round()
    return sorted(set(hits.astype(int).tolist()), reverse=True)


def _length(hits: int, drawn: int, total: int, alpha: float) -> int:
    """Return how far the ends of `finite_share_interval` lie apart."""
    low, high = finite_share_interval(hits, drawn, total, alpha)
    return high - low


def _lowest_not_rejected(hits: int, drawn: int, total: int, alpha: float) -> int:
    """Return the smallest number with the property that the test does not reject.

    Under it, `hits` or more of `drawn` are not too unlikely.
    """
    # SciPy's distributions take long to load.
    from scipy import stats

    def tail(having: int) -> float:
        """Return P(X >= hits) for X of `drawn` things, if `having` of `total` do."""
        return float(stats.hypergeom.sf(hits - 1, total, having, drawn))

    # The tail rises with the number, and is 1 at the one after the last.
    possible = range(hits, total - drawn + hits)
    level = 0.5 * alpha * (1.0 - TAIL_ERROR)
    return hits + bisect_left(possible, level, key=tail)


def assured_accuracy(
    correct_certified: ArrayLike, m: int, alpha: float, rho: float
) -> Floats:
    """Return the share of m images that are surely right and robust.

    The statement holds with probability at least 1 - rho over the noise.

    Each certificate claims too much with probability at most alpha, and independently
    of the others where their noises are independent: those of different images are,
    those of two copies of one image are not. So the number W of false certificates is
    stochastically at most Bin(m, alpha), whatever the images. At most W of the images
    counted are counted wrongly; the (1 - rho) quantile of W is subtracted. W does not
    depend on the radius at which images are counted, so the statement holds for a whole
    curve at once.

    Args:
        correct_certified: images that are right and certified at the radius asked for,
            0..m, any shape.
        m: all images, certified or not.
        alpha: failure probability of each certificate.
        rho: failure probability of this statement, in (0, 1).

    Raises:
        Problem: counts outside 0..m, m < 1, alpha or rho outside (0, 1).

    Source: Cohen et al. 2019, appendix B, with the exact quantile in place of
    Bernstein's inequality.

    Example:
        >>> # Four images fewer than 300 / 500.
        >>> float(assured_accuracy(300, 500, alpha=0.001, rho=0.001))
        0.592
    """
    check_alpha(alpha)
    check_counts(correct_certified, m)
    check_probability("rho", rho, "; Cohen et al. use 0.001")
    counted = np.asarray(correct_certified, np.float64)
    surely_right = np.maximum(0.0, counted - most_failures(m, alpha, rho))
    return np.asarray(surely_right / m)


def most_failures(m: int, alpha: float, rho: float) -> int:
    """Return the smallest w with P(Bin(m, alpha) > w) <= rho.

    No more of m certificates are false, at confidence 1 - rho.

    Example:
        >>> most_failures(10_000, alpha=0.001, rho=0.025)  # of which 10 are expected
        17
    """
    # At w = m the probability is 0.
    w = np.arange(m, dtype=np.float64)
    more_than_w = special.betainc(w + 1.0, m - w, alpha)
    return int(np.count_nonzero(more_than_w > rho))
