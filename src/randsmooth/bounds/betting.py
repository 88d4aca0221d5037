"""A lower bound on the mean of values in [0, 1] by betting: near the best that their spread allows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats
from randsmooth.bounds.limits import check_alpha
from randsmooth.errors import InputError

MOST_BET = (0.5, 0.75, 0.9, 1.0)  # shares of the capital that the players risk at most, each with a quarter of it
ROUNDING = 1e-6  # nats; far more than the sum of a million logarithms is off by
HALVINGS = 60  # of an interval no longer than 1: down to the last digit


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
        InputError: a value outside [0, 1], none at all, or alpha out of range.

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
        raise InputError(f"values of shape {x.shape} must hold at least one value, in the last axis")
    if not (x.min() >= 0.0 and x.max() <= 1.0):
        raise InputError(f"values from {x.min():g} to {x.max():g} must lie in [0, 1]")
    rows = x.reshape(-1, x.shape[-1])
    return np.array([_lower(row, alpha) for row in rows], np.float64).reshape(x.shape[:-1])


def _lower(x: Floats, alpha: float) -> float:
    bets, needed = _bets(x, alpha), ROUNDING - math.log(alpha)
    low, high = 0.0, float(x.mean())  # above the mean of the values nobody who bets on larger ones has won
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if _log_capital(x, bets, middle) >= needed else (low, middle)
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
        each = [np.log1p(np.minimum(bets, most / m) * (x - m)).sum() for most in MOST_BET]
    return float(special.logsumexp(each)) - math.log(len(MOST_BET))
