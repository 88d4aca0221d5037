"""A group-sequential boundary for whichever class crosses it, where no other samples were drawn to pick one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Ints
from randsmooth.bounds.boundaries import Boundary, check_question, crossing_probability
from randsmooth.bounds.boundary_cache import cached_boundary
from randsmooth.bounds.schedule import LATE, Spending
from randsmooth.errors import InputError

PREMIUM = 0.001  # share of alpha that may go to classes other than the most probable one


def any_class_boundary(q0: float, looks: ArrayLike, alpha: float, spending: Spending = LATE) -> Boundary:
    """The boundary that any of K classes may cross: a false claim, of any class at any look, has probability <= alpha.

    The boundary of `boundary` holds for one class that was picked without these samples. It holds for all classes at
    once if a little of alpha is kept back. Let f(p) be the probability that a class of probability p crosses at some
    look, and p0 = 1 - q0 > 1/2. Then, however many classes there are, some class with p <= p0 crosses with probability
    f(p0) + f(q0) at most, which two classes with probabilities p0 and q0 reach but for sequences in which both cross.
    The second term is what the choice costs. It may take a thousandth of alpha (`PREMIUM`); where it would take more,
    as near radius 0, where it takes half, other samples should pick the class.

    Proof. Whether a sequence of successes and failures crosses does not depend on p, so that f(p) is a sum, over the
    points (n, S) of a first crossing, of h(p) = p^S (1 - p)^(n - S), each with a weight that does not depend on p.
    There S >= c, the claim of its look. Two conditions on every claim are checked:

    1. c > n / 2. Then h(p) / p grows up to p = 1/2, since S - 1 >= (n - 1) / 2. So of classes that share a probability
       of t <= 1/2 some one crosses with probability at most the sum of f(p) <= (p / t) f(t), which is f(t). If no class
       exceeds 1/2, all of them together cross with probability 2 f(1/2) at most.
    2. c > n p0, and (c - n q0) / (c - n p0) <= (p0 / q0)^(2c - n). Then h(p) + h(1 - p) grows from p = 1/2 to p0:
       with p = 1/2 + x and S = n (1/2 + d), where d > x, its derivative is not negative where
       artanh(x / d) <= 2 n d artanh(2 x). The quotient
       artanh(x / d) / artanh(2 x) grows with x, as 2 d <= 1 (the coefficients of the two series have growing
       quotients), and falls as d grows, so that the condition at p0 and c covers all smaller p and larger S.

    Hence f(p) + f(1 - p) grows from 2 f(1/2) to f(p0) + f(q0). If one class has 1/2 < p <= p0, it and the others cross
    with probability f(p) + f(1 - p) at most; if it has p > p0, only the others would be false, with f(q0) at most.

    Args:
        q0: failure probability at the threshold, in (0, 1/2): the noise's `tail(r)` for a radius r.
        looks, alpha, spending: as for `boundary`. The most frequent class is judged by `claim` and `give_up`.

    Raises:
        InputError: an argument is out of its range, or the other classes would take more than a thousandth of alpha.

    Example:
        >>> table = any_class_boundary(0.3, [32, 64, 96], alpha=0.05)
        >>> table.claim.tolist()  # of the most frequent class
        [29, 54, 76]
    """
    looks = check_question(q0, looks, alpha, spending)
    return _made(float(q0), tuple(looks.tolist()), float(alpha), spending)


@lru_cache(maxsize=256)
def _made(q0: float, looks: tuple[int, ...], alpha: float, spending: Spending) -> Boundary:
    table = cached_boundary(q0, looks, (1.0 - PREMIUM) * alpha, spending)
    if not q0 < 0.5 or price(table) > PREMIUM * alpha or not _grows(table.claim, table.looks, q0):
        raise InputError(
            f"at q0={q0:.4g}, so near 1/2, classes other than the most probable one would take more than a thousandth "
            f"of alpha={alpha:g}: let other samples pick the class (n0=100 is usual), or ask for a larger radius"
        )
    return table


def price(table: Boundary) -> float:
    """f(q0): the probability that a class of probability q0, where another has p0 = 1 - q0, crosses at some look.

    Example:
        >>> from randsmooth.bounds.boundaries import boundary
        >>> price(boundary(0.3, [32, 64, 96], alpha=0.05)) < 1e-8
        True
    """
    return crossing_probability(table.claim, table.looks, 1.0 - table.q0)


def _grows(claim: Ints, looks: Ints, q0: float) -> bool:
    """Whether both conditions of the proof hold at every look that can claim."""
    can = claim <= looks
    c, n, p0 = claim[can].astype(np.float64), looks[can].astype(np.float64), 1.0 - q0
    if np.any(2.0 * c <= n) or np.any(c <= n * p0):
        return False
    odds = np.log1p((p0 - q0) / q0)
    return bool(np.all(np.log(c - n * q0) - np.log(c - n * p0) <= (2.0 * c - n) * odds))
