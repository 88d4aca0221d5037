"""What became of the radii and images of a released log in a table that was made from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from randsmooth.certificates.logs.released import (
    AT_THE_END,
    LARGEST_LEVEL,
    ReleasedLog,
)
from randsmooth.metrics.intervals import Floats

# A log prints its radii with so many significant digits.
PRINTED_DIGITS = 3

# The fewest changed radii that tell what was done to them. Fresh noise moves radii to and
# fro: it fits one factor on so many, or has one sign on so many, about never.
FEWEST_OF_ONE_CHANGE = 8
FEWEST_OF_ONE_SIGN = 16

# Fresh noise of 100,000 samples moves a radius by at least this share of the largest one,
# as a standard deviation: least at p_A = 1/2. Of radii printed coarsely it leaves at most
# this share as they were, as those of released logs certified anew show.
LEAST_NOISE = 0.00147
LARGEST_SHARE_KEPT = 0.6

# Where fresh noise leaves so many radii equal with less than this probability, the rows
# of the table are those of the log.
LEAST_CHANCE = 1e-4


@dataclass(frozen=True)
class RadiiChange:
    """How the radii of a table differ from those of a released log.

    Images that either misses or certifies to the end are left out.

    Attributes:
        compared: how many radii of right images were compared.
        changed: how many of these differ by more than the last printed digit.
        factor: what all changed radii were multiplied by; None for no such number.
        added: what was added to all changed radii; None for no such number.
        one_sign: whether all changed radii, of which there are many, are larger; or all
            are smaller.
        chance: the most that the probability is with which a new certification of the
            model has as many equal radii.
    """

    compared: int
    changed: int
    factor: float | None
    added: float | None
    one_sign: bool
    chance: float

    @property
    def has_rows_of_log(self) -> bool:
        """Return whether more radii are equal than a new certification would have."""
        return self.chance < LEAST_CHANCE

    @property
    def is_explained(self) -> bool:
        """Return whether one operation turned the radii of the log into the table's."""
        return self.factor is not None or self.added is not None


def change_of_radii(log: ReleasedLog) -> RadiiChange:
    """Return how the radii of the table that agrees with a log differ from its radii."""
    end_of_log = AT_THE_END * log.largest
    end_of_table = AT_THE_END * log.radii_of_table.max(initial=0.0)
    tells = (log.radii > 0.0) & (log.radii < end_of_log)
    tells &= (log.radii_of_table > 0.0) & (log.radii_of_table < end_of_table)
    before = log.radii[tells]
    after = log.radii_of_table[tells]

    # The radii of the log are known to a level.
    error = _printed_error(after) + log.largest / LARGEST_LEVEL
    changed = np.abs(after - before) > error
    chance = _chance_of_equal(before, int((~changed).sum()), log.largest)
    before = before[changed]
    after = after[changed]
    error = error[changed]
    factor = None
    added = None
    one_sign = False
    if len(before) >= FEWEST_OF_ONE_CHANGE:
        factor = _factor(before, after, error)
        added = _addition(before, after, error) if factor is None else None
        is_larger = after > before
        is_uniform = bool(is_larger.all() or not is_larger.any())
        one_sign = is_uniform and len(before) >= FEWEST_OF_ONE_SIGN
    return RadiiChange(
        compared=int(tells.sum()),
        changed=len(before),
        factor=factor,
        added=added,
        one_sign=one_sign,
        chance=chance,
    )


def _chance_of_equal(radii: Floats, equal: int, largest: float) -> float:
    """Return the most that the probability is of so many equal radii under fresh noise.

    Args:
        radii: (N,) the radii of the log.
        equal: how many of these the table has, too.
        largest: the largest radius of the log.
    """
    digit = 2.0 * _printed_error(radii)
    # The density of a normal difference is highest at 0.
    density = 1.0 / (np.sqrt(2.0 * np.pi) * LEAST_NOISE * largest)
    shares_kept = np.minimum(digit * density, LARGEST_SHARE_KEPT)
    # The probabilities of 0, 1, ... equal radii, one radius after the other.
    probabilities = np.ones(1)
    for share in shares_kept:
        probabilities = np.convolve(probabilities, [1.0 - share, share])
    return float(probabilities[equal:].sum())


def _factor(before: Floats, after: Floats, error: Floats) -> float | None:
    """Return the factor between radii (N,) and later ones; None where none fits all.

    Args:
        before, after: the radii.
        error: how far the product may be from each later radius.
    """
    low = float(((after - error) / before).max())
    high = float(((after + error) / before).min())
    return _roundest(low, high)


def _addition(before: Floats, after: Floats, error: Floats) -> float | None:
    """Return what was added to radii; None where nothing fits all. See `_factor`."""
    low = float((after - error - before).max())
    high = float((after + error - before).min())
    return _roundest(low, high)


def _roundest(low: float, high: float) -> float | None:
    """Return the number of the fewest decimals between two; None where low > high.

    Example:
        >>> _roundest(1.0189, 1.0204), _roundest(0.3, 0.2)
        (1.02, None)
    """
    if low > high:
        return None
    middle = (low + high) / 2.0
    for decimals in range(1, 7):
        rounded = round(middle, decimals)
        if low <= rounded <= high:
            return rounded
    return middle


def _printed_error(radii: Floats) -> Floats:
    """Return half of the last digit that a log prints of each radius above 0."""
    magnitude = np.floor(np.log10(radii))
    return np.asarray(0.5 * 10.0 ** (magnitude - PRINTED_DIGITS + 1))
