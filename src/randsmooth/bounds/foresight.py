"""Whether further samples are worth their price, foreseen from those that were drawn."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, Ints
from randsmooth.bounds.boundaries import check_looks
from randsmooth.errors import BadValue

# What is expected of an image before any sample: q is Beta(PRIOR_FAILURES, PRIOR_SUCCESSES)
# distributed, so that many images are nearly certain, as of published models. A wrong
# expectation costs samples or certificates, never soundness.
PRIOR_FAILURES = 0.1
PRIOR_SUCCESSES = 1.0

# An expectation is a mean over these quantiles.
QUANTILES = (np.arange(16) + 0.5) / 16


def give_up_by_price(claim: ArrayLike, looks: ArrayLike, price: float) -> Ints:
    """Return the most successes at which a threshold is given up as too dear.

    Thresholds are claimed in order. An image goes on as long as there is a later look by
    which it is expected to claim at least `price` more thresholds a sample. What it is
    expected to do follows from its samples by Bayes' rule, where q is Beta(0.1, 1) before
    the first. Any giving up is sound if `claim` holds at all looks together, as of
    `claims_by_deadline`.

    Args:
        claim: (R, K) smallest successes that claim each threshold at each look.
        looks: (K,) samples so far.
        price: thresholds that one further sample must be expected to claim, above 0.

    Returns:
        (R, K) successes: an image that has claimed the thresholds before r stops at look k
        with as many as [r, k], or fewer.

    Raises:
        Problem: looks that do not increase, a row of claims that has not one a look, or no
            price.

    Example:
        >>> claim = [[24, 42, 57], [29, 54, 76]]
        >>> give_up_by_price(claim, [32, 64, 96], price=0.005).tolist()
        [[17, 35, 96], [24, 48, 96]]
    """
    looks = check_looks(looks)
    claim = np.asarray(claim)
    if claim.ndim != 2 or claim.shape[1] != len(looks):
        raise BadValue(
            f"claims need a row a threshold and a column a look; got the shape "
            f"{claim.shape} for {len(looks)} looks"
        )
    if not price > 0.0:
        raise BadValue(field="price", value=price, expected="must lie above 0")
    give_up = np.tile(looks, (len(claim), 1))
    for k in range(len(looks) - 1):
        later = _later_looks(k, len(looks))
        samples = looks[later] - looks[k]
        for r in range(len(claim)):
            image = Waiting(int(looks[k]), samples, claim[r:, later], price)
            give_up[r, k] = image.most_that_stop(int(claim[r, k]))
    return give_up


def _later_looks(k: int, number_of_looks: int) -> Ints:
    """Return the looks 1, 2, 4, 8, ... after look `k`, and the last one."""
    doubled = k + 2 ** np.arange(number_of_looks.bit_length())
    return np.append(doubled[doubled < number_of_looks - 1], number_of_looks - 1)


@dataclass(frozen=True)
class Waiting:
    """An image that has claimed some thresholds, and may go on to claim the next ones.

    Attributes:
        n: samples so far.
        samples: (L,) further samples up to each later look.
        claim: (R, L) successes that claim each threshold that is left, at these looks.
        price: thresholds that one further sample must be expected to claim.
    """

    n: int
    samples: Ints
    claim: Ints
    price: float

    def most_that_stop(self, claiming: int) -> int:
        """Return the most successes, below `claiming`, with which it stops; -1 if none."""
        # It goes on with `high` successes. Downwards by 1, 2, 4, ... until it stops.
        high = claiming
        step = 1
        while high >= step and self._goes_on(high - step):
            high -= step
            step *= 2
        low = max(high - step, -1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._goes_on(middle):
                high = middle
            else:
                low = middle
        return low

    def _goes_on(self, successes: int) -> bool:
        """Return whether some later look is worth its samples."""
        gain = self._expected_claims(successes)
        return bool(np.any(gain > self.price * self.samples))

    def _expected_claims(self, successes: int) -> Floats:
        """Return (L,) how many thresholds it is expected to claim by each later look."""
        # (16,) what q may be after these samples, by Bayes' rule
        q = special.betaincinv(
            self.n - successes + PRIOR_FAILURES,
            successes + PRIOR_SUCCESSES,
            QUANTILES,
        )
        # (R, L, 1) failures among the further samples with which it just claims
        failures = (self.samples - (self.claim - successes))[..., None]
        samples = self.samples[:, None]
        most = failures.clip(0, samples - 1)
        # P(Bin(samples, q) <= most)
        probability = special.bdtr(most, samples, q)
        probability = np.where(failures < 0, 0.0, probability)
        probability = np.where(failures >= samples, 1.0, probability)
        return np.asarray(probability.mean(axis=2).sum(axis=0))
