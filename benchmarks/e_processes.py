"""Confidence sequences for p_A of several origins, as arrays of images by looks: what `frontier.py` compares.

A mixture e-process of a prior W, fixed before the samples, is for each q = 1 - p that it may reject

    M(q) = integral of p'^s q'^f W(dq') / (p^s q^f),    s successes and f failures so far.

At the true q it is a martingale of mean 1, so P(M >= 1/alpha at any look) <= alpha (Ville's inequality), whatever W is.
The bound on q is the largest q above f / n that is not rejected. Only ln of the numerator depends on the prior.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from randsmooth import bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# ln of a numerator, given failures (N, K) and samples (K,).
LogNumerator = Callable[[Ints, Ints], Floats]

# The steps of a bisection of ln q.
BISECTIONS = 45

# The quantity that stands for q = 0 in a prior.
NO_FAILURE = 1e-9

# A union bound over looks: the k-th one has UNION_SHARE * alpha / ((k + 4) (k + 5)).
UNION_SHARE = 5.0


def beta_numerator(successes: Floats | float, failures: Floats | float) -> LogNumerator:
    """Return ln of the numerator under Beta priors with these parameters, numbers or (N,)."""
    a = np.asarray(successes)[..., None]
    b = np.asarray(failures)[..., None]

    def log_numerator(f: Ints, n: Ints) -> Floats:
        return np.asarray(special.betaln(a + n - f, b + f) - special.betaln(a, b))

    return log_numerator


def known_numerator(q: Floats) -> LogNumerator:
    """Return ln of the numerator whose prior knows each image's q (N,): no prior does better at q."""

    def log_numerator(f: Ints, n: Ints) -> Floats:
        return np.asarray(
            special.xlogy(f, q[:, None]) + special.xlog1py(n - f, -q[:, None])
        )

    return log_numerator


def discrete_numerator(atoms: Floats, log_weights: Floats) -> LogNumerator:
    """Return ln of the numerator under priors on `atoms` (A,) of q, with weights (N, A) or (1, A)."""
    log_q = np.log(atoms)
    log_p = np.log1p(-atoms)

    def log_numerator(f: Ints, n: Ints) -> Floats:
        columns = []
        for failures, samples in zip(f.T, n, strict=True):
            likelihood = (
                failures[:, None] * log_q + (samples - failures)[:, None] * log_p
            )
            columns.append(special.logsumexp(likelihood + log_weights, axis=1))
        return np.stack(columns, axis=1)

    return log_numerator


def prior_of(q: Floats, atoms: Floats) -> Floats:
    """Return ln of the weights (1, A) of the `atoms` nearest to the images' `q`, each seen half a time more."""
    places = np.abs(np.log(atoms) - np.log(np.maximum(q, NO_FAILURE))[:, None])
    seen = np.bincount(places.argmin(axis=1), minlength=len(atoms)) + 0.5
    return np.log(seen / seen.sum())[None]


def q_of_mixture(f: Ints, n: Ints, log_numerator: LogNumerator, alpha: float) -> Floats:
    """Return (N, K) the bound on q of a mixture e-process, at each look by itself."""
    most = log_numerator(f, n) + np.log(alpha)
    s = n - f
    low = np.log(np.maximum(f / n, 1e-15))
    high = np.zeros(f.shape)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        # q is rejected where p^s q^f is at most alpha times the numerator.
        log_likelihood = f * middle + special.xlog1py(s, -np.exp(middle))
        rejected = log_likelihood <= most
        low = np.where(rejected, low, middle)
        high = np.where(rejected, middle, high)
    return np.exp(high)


def q_of_union(f: Ints, n: Ints, alpha: float) -> Floats:
    """Return (N, K) Clopper-Pearson's bound at each look, which has its part of alpha."""
    look = np.arange(len(n))
    levels = UNION_SHARE * alpha / ((look + 4) * (look + 5))
    columns = [
        bounds.q_upper(samples - failures, samples, level)
        for failures, samples, level in zip(f.T, n.tolist(), levels, strict=True)
    ]
    return np.stack(columns, axis=1)


def running(q: Floats) -> Floats:
    """Return the best bound so far: a confidence sequence holds at all looks together."""
    return np.minimum.accumulate(q, axis=1)


def claims_of(q_of: Callable[[Ints, Ints], Floats], looks: Ints, q0: float) -> Ints:
    """Return (K,) the smallest successes whose bound on q is at most `q0`; looks + 1 where none is.

    Args:
        q_of: bounds (N, K) of failures (N, K) and samples (K,), which grow with the failures.
        looks: (K,) samples so far.
        q0: the q that is true; such successes are errors.
    """
    low = np.full(len(looks), -1)
    high = looks.copy()
    while np.any(high - low > 1):
        middle = np.where(high - low > 1, (low + high) // 2, np.maximum(low, 0))
        errs = q_of(middle[None], looks)[0] <= q0
        moves = high - low > 1
        low = np.where(moves & errs, middle, low)
        high = np.where(moves & ~errs, middle, high)
    # Up to `low` failures are errors.
    return np.asarray(looks - low)
