"""Bounds on means of bounded values: of softmax scores (the soft smoothed classifier), and of finitely many numbers."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.levels import check_alpha
from randsmooth.errors import BadValue, TooFewSamples

ROUNDING = 1e-9  # what float64 sums of a million values in [0, 1] may be off by
MOST_BET = (
    0.5,
    0.75,
    0.9,
    1.0,
)  # shares of the capital that the players risk at most, each with a quarter of it
NATS = 1e-6  # far more than the sum of a million logarithms is off by
HALVINGS = 60  # of an interval no longer than 1: down to the last digit
MEANS = 2001  # candidates that are tried, evenly spread over what the drawn numbers leave possible
MOST_DRAWN = 0.75  # share of the capital that one number of finitely many may take


def hoeffding_lower(mean: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Lower bound z_A - sqrt(log(1 / alpha) / (2 n)) on an expectation, never below 0.

    P(bound > expectation) <= alpha for n independent values in [0, 1]. The soft certificate is the noise's
    radius of it: z_B is at most 1 - z_A, so all of alpha goes to the picked class, picked by other samples.

    Args:
        mean: of the picked class's softmax over the n samples, in [0, 1]; broadcasts with `n`.
        n: samples, >= 1.
        alpha: probability of failure, in (0, 1).

    Raises:
        Problem: a mean outside [0, 1], n < 1, alpha out of range.

    Source: Zhai et al. 2020 (MACER), eq. 23 and CERTIFYHOEFFDING of algorithm 2.

    Example:
        >>> float(hoeffding_lower(0.9, 1000, alpha=0.001).round(3))  # 0.9 - sqrt(log(1000) / 2000)
        0.841
    """
    check_alpha(alpha)
    check_counts(0, n)
    mean, n = _in_range("mean", mean), np.asarray(n, np.float64)
    return np.asarray(np.maximum(0.0, mean - np.sqrt(-math.log(alpha) / (2.0 * n))))


def bernstein_lower(
    mean: ArrayLike, variance: ArrayLike, n: ArrayLike, alpha: float
) -> Floats:
    """Lower bound z_A - sqrt(2 S^2 log(2 / alpha) / n) - 7 log(2 / alpha) / (3 (n - 1)), never below 0.

    P(bound > expectation) <= alpha for n independent values in [0, 1]. Use as `hoeffding_lower`; it is the better one
    where the variance S^2 is small.

    Args:
        mean, n, alpha: as `hoeffding_lower`, with n >= 2.
        variance: the sample variance S^2, with n - 1 in the denominator (see `sample_variance`).

    Raises:
        Problem: a variance that no values in [0, 1] with this mean have, n < 2; and as `hoeffding_lower`.

    Source: Maurer & Pontil 2009, theorem 4; Zhai et al. 2020 (MACER), eq. 26 and CERTIFYBERNSTEIN of algorithm 2.

    Example:
        >>> float(bernstein_lower(0.9, 0.01, 1000, alpha=0.001).round(3))
        0.87
    """
    check_alpha(alpha)
    mean, n = _in_range("mean", mean), _at_least_two(n)
    variance = _in_range(
        "variance", variance, mean * (1.0 - mean) * n / (n - 1.0) + ROUNDING
    )
    log = math.log(2.0 / alpha)
    return np.asarray(
        np.maximum(
            0.0,
            mean - np.sqrt(2.0 * variance * log / n) - 7.0 * log / (3.0 * (n - 1.0)),
        )
    )


def sample_variance(total: ArrayLike, squares: ArrayLike, n: ArrayLike) -> Floats:
    """S^2 of n values from their sum and their sum of squares, never below 0 (Zhai et al. 2020, eq. 25).

    Raises:
        Problem: n < 2.

    Example:
        >>> values = np.array([0.1, 0.5, 0.9])
        >>> float(sample_variance(values.sum(), (values**2).sum(), 3).round(4)), float(values.var(ddof=1).round(4))
        (0.16, 0.16)
    """
    n = _at_least_two(n)
    total = np.asarray(total, np.float64)
    return np.asarray(
        np.maximum(
            0.0, (np.asarray(squares, np.float64) - total * total / n) / (n - 1.0)
        )
    )


def betting_lower(values: ArrayLike, alpha: float) -> Floats:
    """Lower bound on the expectation of independent values in [0, 1], from all of them in the order they were drawn.

    P(bound > expectation) <= alpha. For a candidate mean m, players who think it too small begin with a capital of 1
    and bet a part lambda_t of it on each value x_t, which multiplies it by 1 + lambda_t (x_t - m), never below 0. As
    lambda_t depends on the values before x_t only, at the true mean no bet gains or loses in expectation: the capital
    has the mean 1, and exceeds 1/alpha with probability at most alpha (Markov). The bound is the largest m at which it
    does; at every smaller m it is larger still, since each factor falls as m grows. Four players, who differ in the
    most that they risk, have a quarter of the capital each.

    The order must not be chosen after the values were seen: give them as they were drawn. The bets are those that are
    best if the values go on to vary as they did: sqrt(2 log(1/alpha) / (n variance so far)).

    Args:
        values: (..., n) in [0, 1].
        alpha: probability of failure, in (0, 1).

    Returns:
        (...) bounds.

    Raises:
        Problem: a value outside [0, 1], none at all, or alpha out of range.

    Source: Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting": the capital process
        of section 4, one-sided, with the bets of their equation for a fixed n.

    Example:
        >>> values = np.tile([0.9, 1.0, 0.8, 0.9], 250)
        >>> float(betting_lower(values, alpha=0.001).round(3))  # of a mean of 0.9; Bernstein's bound is 0.873
        0.89
    """
    check_alpha(alpha)
    x = np.asarray(values, np.float64)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise BadValue(
            f"values of shape {x.shape} must hold at least one value, in the last axis"
        )
    rows = _in_range("value", x).reshape(-1, x.shape[-1])
    return np.array([_betting_lower(row, alpha) for row in rows], np.float64).reshape(
        x.shape[:-1]
    )


def _betting_lower(x: Floats, alpha: float) -> float:
    bets, needed = _bets(x, alpha), NATS - math.log(alpha)
    low, high = (
        0.0,
        float(x.mean()),
    )  # above the mean of the values nobody who bets on larger ones has won
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (
            (middle, high) if _log_capital(x, bets, middle) >= needed else (low, middle)
        )
    return low


def _bets(x: Floats, alpha: float) -> Floats:
    """(n,) lambda_t, each from the values before x_t, to which one of 1/2 with a variance of 1/4 is added."""
    n = len(x)
    t = np.arange(1.0, n + 1.0)
    means = (0.5 + np.cumsum(x)) / (t + 1.0)
    spread = 0.25 + np.concatenate([[0.0], np.cumsum((x - means) ** 2)[:-1]])
    return np.asarray(np.sqrt(-2.0 * math.log(alpha) * t / (n * spread)))


def _log_capital(x: Floats, bets: Floats, m: float) -> float:
    """The logarithm of the players' capital together, once all values are known."""
    with np.errstate(divide="ignore"):
        each = [
            np.log1p(np.minimum(bets, most / m) * (x - m)).sum() for most in MOST_BET
        ]
    return float(special.logsumexp(each)) - math.log(len(MOST_BET))


def finite_mean_interval(
    drawn: ArrayLike, total: int, alpha: float, *, largest: float = 1.0
) -> tuple[float, float]:
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
        Problem: a number outside [0, largest], more than `total` numbers, or alpha out of range.

    Source: Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting", section 5.

    Example:
        >>> low, high = finite_mean_interval([0.2, 0.4] * 50, total=1000, alpha=0.05)
        >>> round(low, 2), round(high, 2)
        (0.27, 0.34)
        >>> finite_mean_interval([2.0, 4.0], total=2, alpha=0.05, largest=8.0)
        (3.0, 3.0)
    """
    check_alpha(alpha)
    x = _in_range("number", np.ravel(drawn), largest) / largest
    if len(x) > total or total < 1:
        raise BadValue(f"{len(x)} numbers cannot have been drawn of total={total}")
    low = x.sum() / total
    high = low + (total - len(x)) / total  # what the numbers not drawn leave possible
    means = np.linspace(low, high, MEANS)
    up, down = _log_capitals(x, total, means, alpha)
    kept = means[np.maximum(up, down) < math.log(2.0 / alpha)]
    step = means[1] - means[0]
    if not len(kept):  # narrower than the distance of two candidates
        kept = means[[int(np.argmin(np.maximum(up, down)))]]
    return float(max(low, kept[0] - step) * largest), float(
        min(high, kept[-1] + step) * largest
    )


def _log_capitals(
    x: Floats, total: int, means: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """The largest log capital (MEANS,) that each player has had against each candidate.

    Given the numbers so far, the next one has the mean of those that are left: `rest`. The bets are those of the
    source's empirical Bernstein kind: smaller, the more the numbers have varied.
    """
    capitals = np.zeros((2, len(means)))
    best = np.zeros((2, len(means)))
    seen, squares = (
        0.0,
        0.25,
    )  # the sum so far, and that of squared distances from the mean before
    for t, value in enumerate(x, start=1):
        rest = np.clip((total * means - seen) / (total - t + 1), 0.0, 1.0)
        bet = math.sqrt(2.0 * math.log(2.0 / alpha) / (squares * math.log1p(t)))
        with np.errstate(divide="ignore"):
            larger, smaller = (
                np.minimum(bet, MOST_DRAWN / rest),
                np.minimum(bet, MOST_DRAWN / (1.0 - rest)),
            )
        capitals += np.log(
            [1.0 + larger * (value - rest), 1.0 - smaller * (value - rest)]
        )
        np.maximum(best, capitals, out=best)
        seen += value
        squares += (value - (0.5 + seen) / (t + 1)) ** 2
    return best[0], best[1]


def _in_range(name: str, values: ArrayLike, most: ArrayLike = 1.0) -> Floats:
    """The `values` as float64; raise Problem unless all lie in [0, most]."""
    values = np.asarray(values, np.float64)
    if np.any(outside := ~((values >= 0.0) & (values <= most))):
        found, limit = (
            np.broadcast_to(v, outside.shape)[outside][0] for v in (values, most)
        )
        raise BadValue(
            f"{name}={found:.4g} must lie in [0, {limit:.4g}]; divide a sum by n"
        )
    return values


def _at_least_two(n: ArrayLike) -> Floats:
    """n as float64; raise Problem below 2, where no sample variance exists."""
    n = np.asarray(n, np.float64)
    if np.any(n < 2):
        raise TooFewSamples(
            f"a sample variance needs n >= 2 samples; got n={np.min(n):g}"
        )
    return n
