"""An interval for the mean of finitely many bounded numbers, of which some were drawn by chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats
from randsmooth.bounds.limits import check_alpha
from randsmooth.errors import InputError

MEANS = 2001  # candidates that are tried, evenly spread over what the drawn numbers leave possible
MOST_BET = 0.75  # share of the capital that one number may take


def finite_mean_interval(drawn: ArrayLike, total: int, alpha: float, *, largest: float = 1.0) -> tuple[float, float]:
    """An interval for the mean of `total` numbers in [0, largest], of which some were drawn without replacement.

    P(the mean lies outside at any time of the drawing) <= alpha: one may look after every number and stop at any.

    Two players bet against every candidate mean, one on larger and one on smaller numbers. A candidate is left out
    once either has multiplied a capital of 1 by 2/alpha, which against the true mean happens with probability alpha/2.

    Args:
        drawn: the numbers (m,), in the order in which they were drawn; m from 0 to `total`.
        total: how many there are in all, N.
        alpha: probability of failure, in (0, 1).
        largest: what no number exceeds.

    Raises:
        InputError: a number outside [0, largest], more than `total` numbers, or alpha out of range.

    Source: Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting", section 5.

    Example:
        >>> low, high = finite_mean_interval([0.2, 0.4] * 50, total=1000, alpha=0.05)
        >>> round(low, 2), round(high, 2)
        (0.27, 0.34)
        >>> finite_mean_interval([2.0, 4.0], total=2, alpha=0.05, largest=8.0)
        (3.0, 3.0)
    """
    check_alpha(alpha)
    x = _checked(drawn, total, largest)
    low, high = x.sum() / total, (x.sum() + total - len(x)) / total  # what the numbers not drawn leave possible
    if len(x) == total:
        return float(low * largest), float(low * largest)
    means = np.linspace(low, high, MEANS)
    up, down = _log_capitals(x, total, means, alpha)
    kept = means[np.maximum(up, down) < math.log(2.0 / alpha)]
    step = means[1] - means[0]
    if not len(kept):  # narrower than the distance of two candidates
        kept = means[[int(np.argmin(np.maximum(up, down)))]]
    return float(max(low, kept[0] - step) * largest), float(min(high, kept[-1] + step) * largest)


def _checked(drawn: ArrayLike, total: int, largest: float) -> Floats:
    x = np.asarray(drawn, np.float64).ravel() / largest
    if not 0 <= len(x) <= total or total < 1:
        raise InputError(f"{len(x)} numbers cannot have been drawn of total={total}")
    if len(x) and not (x.min() >= 0.0 and x.max() <= 1.0):
        raise InputError(f"numbers from {x.min() * largest:g} to {x.max() * largest:g} must lie in [0, {largest:g}]")
    return x


def _log_capitals(x: Floats, total: int, means: Floats, alpha: float) -> tuple[Floats, Floats]:
    """The largest log capital (MEANS,) that each player has had against each candidate.

    Given the numbers so far, the next one has the mean of those that are left: `rest`. The bets are those of the
    source's empirical Bernstein kind: smaller, the more the numbers have varied.
    """
    capitals = np.zeros((2, len(means)))
    best = np.zeros((2, len(means)))
    seen, squares = 0.0, 0.25  # the sum so far, and that of squared distances from the mean before
    for t, value in enumerate(x, start=1):
        rest = np.clip((total * means - seen) / (total - t + 1), 0.0, 1.0)
        bet = math.sqrt(2.0 * math.log(2.0 / alpha) / (squares * math.log1p(t)))
        with np.errstate(divide="ignore"):
            larger, smaller = np.minimum(bet, MOST_BET / rest), np.minimum(bet, MOST_BET / (1.0 - rest))
        capitals += np.log([1.0 + larger * (value - rest), 1.0 - smaller * (value - rest)])
        np.maximum(best, capitals, out=best)
        seen += value
        squares += (value - (0.5 + seen) / (t + 1)) ** 2
    return best[0], best[1]
