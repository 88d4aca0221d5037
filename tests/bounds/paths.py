"""What the tests of sequential procedures share: sample paths, and the rule that peeks without paying."""

import numpy as np
from scipy import stats

from randsmooth.bounds.binomial import Ints

PATHS = 20_000


def successes(looks: Ints, q: float, seed: int, paths: int = PATHS) -> Ints:
    """Successes so far at each look (paths, K), at failure probability q."""
    rng = np.random.default_rng(seed)
    drawn = np.diff(looks, prepend=0)
    return np.asarray(
        drawn.cumsum() - rng.binomial(drawn, q, size=(paths, looks.size)).cumsum(axis=1)
    )


def naive_claim(looks: Ints, q0: float, alpha: float) -> Ints:
    """Smallest successes at which plain Clopper-Pearson, at the full alpha at every look, claims p > 1 - q0 (K,)."""
    return np.asarray(stats.binom.isf(alpha, looks, 1.0 - q0).astype(np.int64) + 1)
