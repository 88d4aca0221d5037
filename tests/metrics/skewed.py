"""Populations in which most images differ a little and a few a lot, and an interval that fails on them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.metrics.intervals import mean_interval

Floats = NDArray[np.float64]
FEW = 20  # values that differ, up to which `near_unseen` takes the bounds


@dataclass(frozen=True)
class Population:
    """Differences of which most are small gains and some lose everything, in largest radii.

    Attributes:
        gain: the mean of the gains, which are uniform between 0 and twice as much.
        lost: the share of images that lose `loss`.
        loss: how much these lose.
        fails_near: numbers of images at which `near_unseen` misses the truth far too often.
    """

    gain: float
    lost: float
    loss: float
    fails_near: tuple[int, ...]

    @property
    def truth(self) -> float:
        """The mean difference, a little below 0."""
        return (1.0 - self.lost) * self.gain - self.lost * self.loss


POPULATIONS = {
    "0.8% lose all": Population(0.0022, 0.008, 0.3, (100,)),
    "0.3% lose all": Population(0.0008, 0.003, 0.3, (500,)),
    "0.01% lose all": Population(0.00002, 0.0001, 0.3, (500, 10_000)),
}


def small_gains(
    population: Population, images: int, rng: np.random.Generator
) -> Floats:
    """(images,) differences drawn from the population."""
    gains = 2.0 * population.gain * rng.random(images)
    return np.where(rng.random(images) < population.lost, -population.loss, gains)


def near_unseen(
    values: Floats, bounds: tuple[float, float], z: float
) -> tuple[float, float]:
    """The control: `mean_interval`, but the unseen value nears those seen once more than FEW differ.

    Of k that differ from the median, it lies (FEW / k)^2 of the way to the bound from the mean of those beyond the
    median.
    """
    median = np.median(values)
    differing = max(1, int(np.count_nonzero(values != median)))
    way = min(1.0, (FEW / differing) ** 2)
    below, above = values[values < median], values[values > median]
    low_from, high_from = (
        part.mean() if len(part) else median for part in (below, above)
    )
    nearer = (
        low_from + way * (bounds[0] - low_from),
        high_from + way * (bounds[1] - high_from),
    )
    low, high = mean_interval(values, (float(nearer[0]), float(nearer[1])), z)
    return float(low), float(high)
