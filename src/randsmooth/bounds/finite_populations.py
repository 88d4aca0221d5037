"""Statements about finitely many images: how many have a property, and how many certificates may be false."""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.levels import check_alpha, check_probability
from randsmooth.errors import BadValue

NEAR_HALF = 400  # the most numbers of hits about half of those drawn at which the length is checked
ROUNDING = 1e-9  # relative: a tail this little below the level counts as above it, which widens the interval


def finite_share_interval(
    hits: int, drawn: int, total: int, alpha: float
) -> tuple[int, int]:
    """An interval for how many of `total` things have a property, if `hits` of `drawn` have it.

    P(the number lies outside) <= alpha, if the `drawn` were chosen by chance, without replacement, and their number
    without sight of what they show. The ends are the smallest and the largest number that the exact hypergeometric
    test at alpha / 2 does not reject, as Clopper and Pearson's are for the binomial distribution: a true number below
    the lower end would have been rejected, which happens with probability at most alpha / 2; likewise above the upper.

    Args:
        hits: 0..drawn.
        drawn: 0..total; from none nothing is known, from all the number itself.
        total: how many there are.
        alpha: probability of failure, in (0, 1).

    Raises:
        Problem: numbers that cannot be, or alpha out of range.

    Source: Buonaccorsi 1987, "A note on confidence intervals for proportions in finite populations".

    Example:
        >>> finite_share_interval(30, drawn=60, total=800, alpha=0.05)
        (299, 501)
        >>> finite_share_interval(30, drawn=60, total=60, alpha=0.05)
        (30, 30)
    """
    check_alpha(alpha)
    if not 0 <= hits <= drawn <= total:
        raise BadValue(
            f"hits={hits} of drawn={drawn} of total={total}: each must be at most the next, and none < 0"
        )
    return _lowest(hits, drawn, total, alpha), total - _lowest(
        drawn - hits, drawn, total, alpha
    )


def enough_drawn(total: int, width: float, alpha: float) -> int:
    """How many of `total` things to draw, so that the ends of `finite_share_interval` lie at most `width` apart.

    The interval is longest where about half of those drawn are hits, which is what the number is chosen for.

    Args:
        total: how many there are.
        width: in things, >= 0.
        alpha: probability that the interval fails, in (0, 1).

    Raises:
        Problem: a total or a width below 0, or alpha out of range.

    Example:
        >>> enough_drawn(800, width=200, alpha=0.05)
        62
        >>> enough_drawn(100, width=100, alpha=0.05), enough_drawn(100, width=0, alpha=0.05)
        (0, 100)
    """
    check_alpha(alpha)
    if not (total >= 0 and width >= 0.0):
        raise BadValue(f"total={total} and width={width} must not be below 0")
    many = bisect_left(
        range(total),
        True,
        key=lambda drawn: _apart(drawn // 2, drawn, total, alpha) <= width,
    )
    while any(
        _apart(hits, many, total, alpha) > width
        for hits in _near_half(many, total, alpha)
    ):
        many += 1
    return many


def _near_half(drawn: int, total: int, alpha: float) -> list[int]:
    """The numbers of hits at which the ends may lie farthest apart, down from half of the `drawn`.

    Their distance falls off like a parabola, to both sides alike. As both ends are whole numbers, it is less than two
    below the parabola: so it may be longest wherever that has fallen by less than two.
    """
    half = drawn // 2
    reach = drawn / math.sqrt(max(1, _apart(half, drawn, total, alpha))) + 1.0
    hits = np.linspace(half, max(0.0, half - reach), NEAR_HALF).round()
    return sorted({int(each) for each in hits}, reverse=True)


def _apart(hits: int, drawn: int, total: int, alpha: float) -> int:
    return int(np.ptp(finite_share_interval(hits, drawn, total, alpha)))


def _lowest(hits: int, drawn: int, total: int, alpha: float) -> int:
    """The smallest number of things with the property under which `hits` or more of `drawn` are not too unlikely."""
    from scipy import stats  # here, since it takes long to load

    def tail(having: int) -> float:
        """P(X >= hits) for X of `drawn` things with the property, if `having` of `total` have it."""
        return float(stats.hypergeom.sf(hits - 1, total, having, drawn))

    possible = range(
        hits, total - drawn + hits
    )  # the tail rises with the number, and is 1 at the next one
    return hits + bisect_left(possible, 0.5 * alpha * (1.0 - ROUNDING), key=tail)


def assured_accuracy(
    correct_certified: ArrayLike, m: int, alpha: float, rho: float
) -> Floats:
    """Share of m images that are truly right and robust, with probability at least 1 - rho over the noise.

    Each certificate claims too much with probability at most alpha, and independently of the others where their noises
    are independent: those of different images are, those of two copies of one image are not. So the number W of false
    certificates is stochastically at most Bin(m, alpha), whatever the images. At most W of the images counted are
    counted wrongly; the (1 - rho) quantile of W is subtracted. W does not depend on the radius at which images are
    counted, so the statement holds for a whole curve at once.

    Args:
        correct_certified: images that are right and certified at the radius asked for, 0..m, any shape.
        m: all images, certified or not.
        alpha: failure probability of each certificate.
        rho: failure probability of this statement, in (0, 1).

    Raises:
        Problem: counts outside 0..m, m < 1, alpha or rho outside (0, 1).

    Source: Cohen et al. 2019, appendix B, with the exact quantile in place of Bernstein's inequality.

    Example:
        >>> float(assured_accuracy(300, 500, alpha=0.001, rho=0.001))  # four images fewer than 300 / 500
        0.592
    """
    check_alpha(alpha)
    check_counts(correct_certified, m)
    check_probability("rho", rho, "; Cohen et al. use 0.001")
    return np.asarray(
        np.maximum(
            0.0,
            np.asarray(correct_certified, np.float64) - most_failures(m, alpha, rho),
        )
        / m
    )


def most_failures(m: int, alpha: float, rho: float) -> int:
    """The smallest w with P(Bin(m, alpha) > w) <= rho: no more of m certificates are false, at confidence 1 - rho.

    Example:
        >>> most_failures(10_000, alpha=0.001, rho=0.025)  # of which 10 are expected
        17
    """
    w = np.arange(m, dtype=np.float64)  # at w = m the probability is 0
    return int(np.count_nonzero(special.betainc(w + 1.0, m - w, alpha) > rho))
