"""How the levels of a sequential test are spent over its looks. Loads no SciPy, so that rules can name theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from randsmooth.bounds.binomial import Floats, Ints


@dataclass(frozen=True)
class Spending:
    """How much of alpha, and of beta, may be spent up to a look at n of N samples: a share of it times (n / N)^power.

    What is left of either may be spent at the cap N. Any spending is sound; it decides which images stop when.

    Attributes:
        share, power: of alpha.
        beta: probability of giving up, at any look, when p is at least c_K / N, the proportion that still claims at
            the cap N; in (0, 1). It costs certificates, not soundness.
        beta_share, beta_power: of beta.

    Example:
        >>> SQUARE_ROOT.of_alpha(np.array([25, 100]), 0.01).tolist()
        [0.0025, 0.01]
    """

    share: float
    power: float
    beta: float
    beta_share: float
    beta_power: float

    def of_alpha(self, looks: Ints, alpha: float) -> Floats:
        """How much of `alpha` may be spent up to each look (K,)."""
        return _spent(looks, alpha, self.share, self.power)

    def of_beta(self, looks: Ints, beta: float) -> Floats:
        """How much of `beta` may be spent up to each look (K,)."""
        return _spent(looks, beta, self.beta_share, self.beta_power)


def _spent(looks: Ints, level: float, share: float, power: float) -> Floats:
    passed = looks / looks[-1]
    spent = share * level * (np.sqrt(passed) if power == 0.5 else passed**power)  # no power is a root to the last bit
    spent[-1] = level
    return np.asarray(spent)


# Replayed on published logs, sqrt(n) saves more samples than ln(n) and loses fewer certificates: it leaves more for the
# late looks, where images near their threshold are decided, and easy images need little at the early ones.
SQUARE_ROOT = Spending(share=0.5, power=0.5, beta=0.01, beta_share=0.5, beta_power=0.5)
# This comes within a tenth of the fewest samples that any test with these errors takes (benchmarks/fewest_samples.py).
# What runs long lies near its threshold, and most of that is better given up before the cap: an image whose p is
# c_K / N, which the cap itself would certify every other time, is given up every fifth time.
LATE = Spending(share=0.4, power=0.7, beta=0.2, beta_share=1.0, beta_power=1.0)
