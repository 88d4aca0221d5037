"""Bounds on means of bounded values by betting.

The values are independent, or finitely many numbers that are drawn without replacement.

Source: Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by
    betting".
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats
from randsmooth.bounds.levels import check_alpha
from randsmooth.bounds.means import require_in_range
from randsmooth.errors import BadValue

# The shares of their capital that the players who bet on independent values risk at
# most; each player has a quarter of the whole.
MOST_AT_RISK = (0.5, 0.75, 0.9, 1.0)

# How much more than log(1/alpha) a player must have won, in nats: far more than the sum
# of a million logarithms is off by.
LOG_CAPITAL_ERROR = 1e-6

# How often an interval no longer than 1 is halved: down to the last digit.
HALVINGS = 60

# The mean and variance that the players expect before the first value, which count as
# much as one value.
EXPECTED_MEAN = 0.5
EXPECTED_VARIANCE = 0.25

# Of finitely many numbers: how many candidates for their mean are tried, evenly spread
# over what the drawn numbers leave possible, and the share of the capital that one
# number may take.
CANDIDATES = 2001
MOST_AT_RISK_OF_FINITE = 0.75


def betting_lower(values: ArrayLike, alpha: float) -> Floats:
    """Return a lower bound on the expectation of independent values in [0, 1].

    P(bound > expectation) <= alpha. For a candidate mean m, players who think it too
    small begin with a capital of 1 and bet a part lambda_t of it on each value x_t,
    which multiplies it by 1 + lambda_t (x_t - m), never below 0. As lambda_t depends on
    the values before x_t only, at the true mean no bet gains or loses in expectation:
    the capital has the mean 1, and exceeds 1/alpha with probability at most alpha
    (Markov). The bound is the largest m at which it does; at every smaller m it is
    larger still, since each factor falls as m grows. Four players, who differ in the
    most that they risk, have a quarter of the capital each.

    The order must not be chosen after the values were seen: give them as they were
    drawn. The bets are those that are best if the values go on to vary as they did:
    sqrt(2 log(1/alpha) / (n variance so far)).

    Args:
        values: (..., n) in [0, 1], in the order in which they were drawn.
        alpha: probability of failure, in (0, 1).

    Returns:
        (...) bounds.

    Raises:
        Problem: a value outside [0, 1], none at all, or alpha out of range.

    Source: Waudby-Smith & Ramdas 2024: the capital process of section 4, one-sided,
    with the bets of their equation for a fixed n.

    Example:
        >>> values = np.tile([0.9, 1.0, 0.8, 0.9], 250)
        >>> # Of a mean of 0.9; Bernstein's bound is 0.873.
        >>> float(betting_lower(values, alpha=0.001).round(3))
        0.89
    """
    check_alpha(alpha)
    x = np.asarray(values, np.float64)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise BadValue(
            f"values of shape {x.shape} must hold at least one value, in the last axis"
        )
    rows = require_in_range("value", x).reshape(-1, x.shape[-1])
    bounds_of_rows = [_betting_lower(row, alpha) for row in rows]
    return np.array(bounds_of_rows, np.float64).reshape(x.shape[:-1])


def _betting_lower(x: Floats, alpha: float) -> float:
    """Return the largest m, by bisection, at which the capital exceeds 1/alpha."""
    bets = _bets(x, alpha)
    enough = LOG_CAPITAL_ERROR - math.log(alpha)
    low = 0.0
    # Above the mean of the values nobody who bets on larger ones has won.
    high = float(x.mean())
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if _log_capital(x, bets, middle) >= enough:
            low = middle
        else:
            high = middle
    return low


def _bets(x: Floats, alpha: float) -> Floats:
    """Return (n,) lambda_t, each from the values before x_t."""
    n = len(x)
    t = np.arange(1.0, n + 1.0)
    means = (EXPECTED_MEAN + np.cumsum(x)) / (t + 1.0)
    squares = np.cumsum((x - means) ** 2)
    squares_before = EXPECTED_VARIANCE + np.concatenate([[0.0], squares[:-1]])
    # The variance so far is squares_before / t.
    return np.asarray(np.sqrt(-2.0 * math.log(alpha) * t / (n * squares_before)))


def _log_capital(x: Floats, bets: Floats, m: float) -> float:
    """Return the logarithm of the players' whole capital, once all values are known."""
    with np.errstate(divide="ignore"):
        log_capitals = [
            np.log1p(np.minimum(bets, at_risk / m) * (x - m)).sum()
            for at_risk in MOST_AT_RISK
        ]
    return float(special.logsumexp(log_capitals)) - math.log(len(MOST_AT_RISK))


def finite_mean_interval(
    drawn: ArrayLike, total: int, alpha: float, *, largest: float = 1.0
) -> tuple[float, float]:
    """Return an interval for the mean of `total` numbers, of which some were drawn.

    P(the mean lies outside at any time of the drawing) <= alpha: one may look after
    every number and stop at any.

    Two players bet against every candidate mean, one on larger and one on smaller
    numbers. A candidate is left out once either has multiplied a capital of 1 by
    2/alpha, which against the true mean happens with probability alpha/2.

    Args:
        drawn: the numbers (m,) in [0, largest], drawn without replacement, in the order
            in which they were drawn; m from 0 to `total`.
        total: how many there are in all, N.
        alpha: probability of failure, in (0, 1).
        largest: what no number exceeds.

    Raises:
        Problem: a number outside [0, largest], more than `total` numbers, or alpha out
            of range.

    Source: Waudby-Smith & Ramdas 2024, section 5.

    Example:
        >>> low, high = finite_mean_interval([0.2, 0.4] * 50, total=1000, alpha=0.05)
        >>> round(low, 2), round(high, 2)
        (0.27, 0.34)
        >>> finite_mean_interval([2.0, 4.0], total=2, alpha=0.05, largest=8.0)
        (3.0, 3.0)
    """
    check_alpha(alpha)
    x = require_in_range("number", np.ravel(drawn), largest) / largest
    if len(x) > total or total < 1:
        raise BadValue(f"{len(x)} numbers cannot have been drawn of total={total}")

    # What the numbers that were not drawn leave possible: all of them 0, or all 1.
    low = x.sum() / total
    high = low + (total - len(x)) / total
    means = np.linspace(low, high, CANDIDATES)

    log_capital = np.maximum(*_largest_log_capitals(x, total, means, alpha))
    kept = means[log_capital < math.log(2.0 / alpha)]
    if len(kept) == 0:
        # The interval is narrower than the distance of two candidates.
        kept = means[[int(np.argmin(log_capital))]]
    step = means[1] - means[0]
    interval_low = max(low, kept[0] - step)
    interval_high = min(high, kept[-1] + step)
    return float(interval_low * largest), float(interval_high * largest)


def _largest_log_capitals(
    x: Floats, total: int, means: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Return the largest log capital that each player has had against each candidate.

    The bets are those of the source's empirical Bernstein kind: smaller, the more the
    numbers have varied.

    Args:
        x: (m,) numbers in [0, 1].
        total: N.
        means: (M,) candidates.
        alpha: probability of failure.

    Returns:
        on_larger, on_smaller: (M,) of the two players.
    """
    capitals = np.zeros((2, len(means)))
    largest_capitals = np.zeros((2, len(means)))
    sum_before = 0.0
    squares_before = EXPECTED_VARIANCE
    for t, value in enumerate(x, start=1):
        # Given the numbers so far, the next one has the mean of those that are left.
        mean_of_rest = (total * means - sum_before) / (total - t + 1)
        mean_of_rest = np.clip(mean_of_rest, 0.0, 1.0)

        bet = math.sqrt(2.0 * math.log(2.0 / alpha) / (squares_before * math.log1p(t)))
        with np.errstate(divide="ignore"):
            on_larger = np.minimum(bet, MOST_AT_RISK_OF_FINITE / mean_of_rest)
            on_smaller = np.minimum(bet, MOST_AT_RISK_OF_FINITE / (1.0 - mean_of_rest))
        gain = value - mean_of_rest
        capitals += np.log([1.0 + on_larger * gain, 1.0 - on_smaller * gain])
        np.maximum(largest_capitals, capitals, out=largest_capitals)

        sum_before += value
        mean = (EXPECTED_MEAN + sum_before) / (t + 1)
        squares_before += (value - mean) ** 2
    return largest_capitals[0], largest_capitals[1]
