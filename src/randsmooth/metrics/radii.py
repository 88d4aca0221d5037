"""Radii of a table: how far its samples can certify, which they were asked about, and
at which radii a report usually prints its certified accuracy.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.bounds.binomial import CAP
from randsmooth.certificates import (
    Certificates,
    CertificatesLike,
    as_certificates,
    rule_of,
)
from randsmooth.certificates.logs.reach import LARGEST_ALPHA
from randsmooth.certificates.logs.released import AT_THE_END
from randsmooth.certificates.logs.tsv import LARGEST_RADIUS
from randsmooth.errors import BadValue
from randsmooth.noise import NORMS, Gaussian
from randsmooth.rules import MOST_SAMPLES

# Gaussian noise of sigma 1; its tail is that of the standard normal distribution.
STANDARD_NORMAL = Gaussian(1.0)

# The distance between two columns of L2 radii, as the literature has it, in units of
# pixels in [0, 1].
USUAL_STEP = 0.25

# The most columns above radius 0 in other norms.
MOST_COLUMNS = 8

# The relative error that rounding may leave in a radius.
ROUNDING = 1e-12


def check_radius(*radii: float) -> None:
    """Raise Problem unless all `radii` are finite and >= 0.

    Example:
        >>> check_radius(0.5)
        >>> check_radius(-0.5)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: radius -0.5 must be a finite number >= 0, in the unit of the certificates
    """
    for r in radii:
        if not (math.isfinite(r) and r >= 0.0):
            raise BadValue(
                f"radius {r} must be a finite number >= 0, in the unit of the "
                "certificates",
                field="radius",
                value=r,
            )


def largest_certified(table: Certificates) -> float:
    """Return the largest radius of a right image; 0 if no image is right."""
    return float(np.max(table.radius * table.correct, initial=0.0))


def largest_possible(table: Certificates) -> float:
    """Return the largest radius that the rule, noise, n and alpha of a table allow.

    An unknown n or alpha is taken to be one that certifies the most. Where the noise is
    unknown, the result is the largest radius of a right image; if there is none, it is
    LARGEST_RADIUS, beyond which no log is read.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> uncertified = from_radii([0.0, 0.0], sigma=0.5, n=100_000, alpha=0.001)
        >>> round(largest_possible(uncertified), 2), largest_possible(from_radii([0.0, 0.3]))
        (1.91, 0.3)
    """
    header = table.header
    certified = largest_certified(table)

    if header.noise is None:
        return certified or LARGEST_RADIUS

    # A log may have rounded a radius up, beyond what its budget can certify: hence the
    # largest of both.
    if not header.settled:
        n = header.n or MOST_SAMPLES
        alpha = header.alpha or LARGEST_ALPHA
        largest = max(noise.largest_radius(n, alpha) for noise in table.noises)
        return max(certified, largest)

    if header.bound != "randomised":
        return max(certified, farthest(table))

    # The randomised bound exceeds the plain one by up to CAP standard deviations.
    plain_quantile = STANDARD_NORMAL.largest_radius(header.n or 0, header.alpha or 0.0)
    smallest_q = STANDARD_NORMAL.tail(plain_quantile + CAP)
    return max(certified, *(float(noise.radius(smallest_q)) for noise in table.noises))


def farthest(table: CertificatesLike) -> float:
    """Return the largest radius that the table's rule asks about.

    It is proved if all samples of an image agree. Samples that stop once a target is
    proved are asked about the target only. For a log without n, the result is the
    largest radius that occurs.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> round(farthest(table), 3)  # n of n successes
        1.232
    """
    table = as_certificates(table)
    if not table.header.settled:
        return float(table.radius.max(initial=0.0))
    rule = rule_of(table.header)
    if table.words is not None:
        # No text of so many words gets farther, whatever its number of words.
        farthest_of_texts = (rule.under(noise).farthest for noise in table.noises)
        return max(farthest_of_texts, default=0.0)
    return float(_in_norm_of(table, rule.farthest))


def can_certify(table: CertificatesLike, r: float) -> bool:
    """Return whether any image can be certified at radius `r` with the table's budget.

    The budget is the noise, n and alpha; the result is True if they are unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> can_certify(table, 1.0), can_certify(table, 2.0)
        (True, False)
    """
    table = as_certificates(table)
    return not table.header.settled or r <= largest_possible(table)


def asked_radii(table: Certificates) -> NDArray[np.float64] | None:
    """Return (K,) the only radii that the table's samples were asked about.

    None means that the samples answer every radius.
    """
    if not table.header.settled:
        return None
    asked = rule_of(table.header).asked_radii
    if asked is None:
        return None
    return _in_norm_of(table, asked)


def _in_norm_of(table: Certificates, r: ArrayLike) -> NDArray[np.float64]:
    """Convert radii from the noise's own norm to that of the table."""
    if table.converted is None:
        return np.asarray(r, np.float64)
    return table.converted.from_own(r)


def usual_radii(tables: Sequence[CertificatesLike]) -> list[float]:
    """Return the radii at which a table of results usually has its columns.

    They are 0, 0.25, 0.5, ... as far as any table certifies a right image. In other
    norms than L2 the step is 1, 2 or 5 times a power of ten, so that at most
    MOST_COLUMNS of them lie above 0; where radii are whole numbers, so is the step.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> usual_radii([table])
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    given = [as_certificates(table) for table in tables]
    norm = given[0].norm if given else "l2"
    end = max((largest_certified(table) for table in given), default=0.0)

    step = NORMS[norm].usual_step
    if step is None:
        step = round_step(end, MOST_COLUMNS) if end > 0.0 else USUAL_STEP
    if NORMS[norm].whole:
        step = max(1.0, step)

    steps_to_end = math.floor(end / step * (1.0 + ROUNDING))
    return [round(step * i, 12) for i in range(steps_to_end + 1)]


def round_step(end: float, most: int) -> float:
    """Return the smallest round step that goes into `end` at most `most` times.

    Round steps are 1, 2 and 5 times the powers of ten.

    Args:
        end: the end of the range that begins at 0; it is above 0.
        most: the largest number of steps from 0 to `end`.

    Example:
        >>> round_step(1.9, 8), round_step(9.0, 8)
        (0.5, 2.0)
    """
    exponent = math.floor(math.log10(end / most))
    candidates = [
        digit * 10.0**power
        for power in (exponent, exponent + 1)
        for digit in (1.0, 2.0, 5.0)
    ]
    return next(step for step in candidates if end <= step * most * (1.0 + ROUNDING))


def is_telling(
    radius: NDArray[np.float64], largest: float | None = None
) -> NDArray[np.bool_]:
    """Return (N,) whether each radius is above 0, and not at the end.

    Args:
        radius: the radii (N,).
        largest: the largest radius of their table; None for the largest of these.
    """
    if largest is None:
        largest = radius.max(initial=0.0)
    return np.asarray((radius > 0.0) & (radius < AT_THE_END * largest))
