"""A number measured on a sample of images, with the interval that the sample allows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.errors import BadValue, WrongTable
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.intervals import CRITICAL, mean_interval, share_interval
from randsmooth.notebooks import ShownInNotebooks


@dataclass(frozen=True)
class Estimate(ShownInNotebooks):
    """A value measured on a sample of images, with a 95% confidence interval.

    The interval is for a fresh sample of that size.

    Attributes:
        value: the measured value.
        low, high: the ends of the interval.
        images: the number of images that were measured.

    Example:
        >>> from randsmooth.metrics import share
        >>> share([True, True, False, True])
        Estimate(value=0.75, low=0.194..., high=0.993..., images=4)
        >>> print(share([True, True, False, True]))
        0.750 (0.194 to 0.994, 4 images)
    """

    value: float
    low: float
    high: float
    images: int

    def __str__(self) -> str:
        images = "1 image" if self.images == 1 else f"{self.images:,} images"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}, {images})"


def share(hits: ArrayLike) -> Estimate:
    """Return the share of True among N images, with Clopper and Pearson's interval.

    Args:
        hits: (N,) truth values.

    Raises:
        Problem: there is no image.

    Source: see `share_interval`.

    Example:
        >>> share([True, True, False, True]).value
        0.75
    """
    hits = np.asarray(hits, np.bool_)
    n = len(hits)
    require_images(n)
    successes = int(hits.sum())
    low, high = share_interval(successes, n)
    return Estimate(successes / n, float(low), float(high), n)


def share_if_chosen(share: Estimate, tables: int) -> Estimate:
    """Return the share of a table that was chosen among several by these images.

    The best of several equal tables owes its place to chance, so that its figure is too
    high on average, and its own interval misses the truth more often than 5%. The
    interval of the result holds for all tables at once, and so for any that is chosen.

    Args:
        share: the share of the chosen table, as `share` gives it.
        tables: the number of tables among which it was chosen.

    Raises:
        Problem: there is no table.

    Example:
        >>> best = share([True] * 430 + [False] * 70)
        >>> print(best)
        0.860 (0.826 to 0.889, 500 images)
        >>> print(share_if_chosen(best, 20))
        0.860 (0.807 to 0.903, 500 images)
    """
    if tables < 1:
        raise BadValue(
            field="tables", value=tables, fix="the table was chosen among one or more"
        )
    # Bonferroni: the intervals of all tables hold at once.
    level = 1.0 - (1.0 - LEVEL) / tables
    successes = round(share.value * share.images)
    low, high = share_interval(successes, share.images, level=level)
    return Estimate(share.value, float(low), float(high), share.images)


def mean(values: ArrayLike, bounds: tuple[float, float]) -> Estimate:
    """Return the mean over N images of a value that lies between two bounds.

    Its interval is that of `mean_interval`.

    Args:
        values: (N,) one number an image.
        bounds: the least and the most that it can be for any image; few images, or few
            that differ, tell nothing else.

    Raises:
        Problem: there is no image, or a value lies outside the bounds.

    Source: see `mean_interval`.

    Example:
        >>> print(mean([0.0, 0.5, 1.0, 1.5], (0.0, 2.0)))
        0.750 (0.178 to 1.560, 4 images)
        >>> print(mean([0.0] * 300, (0.0, 2.0)))
        0.000 (0.000 to 0.024, 300 images)
    """
    values = np.asarray(values, np.float64)
    require_images(len(values))
    least, most = bounds
    if not (least <= values.min() and values.max() <= most):
        raise BadValue(
            f"values from {values.min():g} to {values.max():g} must lie between "
            f"{least:g} and {most:g}",
            field="values",
        )
    low, high = mean_interval(values, bounds, CRITICAL)
    return Estimate(float(values.mean()), float(low), float(high), len(values))


def require_images(n: int) -> None:
    """Raise Problem for an empty table: no metric is defined on no image."""
    if n == 0:
        raise WrongTable("the table holds no image; a metric needs at least one")
