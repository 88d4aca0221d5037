"""Estimates as reports print them: shares in percent, and differences of shares in points."""

import numpy as np
from numpy.typing import NDArray

from randsmooth.metrics import Estimate
from randsmooth.noise import NORMS
from randsmooth.number_text import ROUNDING, half_up, signed

# Printed in place of a figure that a table does not give.
UNKNOWN_FIGURE = "–"

# Decimals of a printed ACR.
ACR_DECIMALS = 3
# More decimals in a norm whose radii depend on the shape of an input, as L-infinity ones
# do: they are smaller by the root of its dimension.
ACR_DECIMALS_BY_SHAPE = 5


def acr_decimals(norm: str) -> int:
    """Return the decimals of an average certified radius in a norm.

    Example:
        >>> acr_decimals("l2"), acr_decimals("linf")
        (3, 5)
    """
    return ACR_DECIMALS_BY_SHAPE if NORMS[norm].needs_shape else ACR_DECIMALS


def average_radius(acr: Estimate | None, norm: str) -> str:
    """Print an average certified radius; a dash where it is not known.

    Args:
        acr: the average.
        norm: the norm of the radii, one of `noise.NORMS`.
    """
    if acr is None:
        return UNKNOWN_FIGURE
    return half_up(acr.value, acr_decimals(norm))


def percent(share: Estimate | None) -> str:
    """Print a share in percent; a dash where it is not known.

    Example:
        >>> percent(Estimate(6_465 / 10_000, 0.637, 0.656, 10_000)), percent(None)
        ('64.7', '–')
    """
    if share is None:
        return UNKNOWN_FIGURE
    return half_up(100.0 * share.value, decimals=1)


def percent_ends(share: Estimate) -> tuple[str, str]:
    """Print both ends of the interval of a share in percent."""
    low = half_up(100.0 * share.low, decimals=1)
    high = half_up(100.0 * share.high, decimals=1)
    return low, high


def percent_with_ends(share: Estimate | None) -> str:
    """Print a share in percent with its interval; a dash where it is not known.

    Example:
        >>> percent_with_ends(Estimate(0.5, 0.4, 0.6, 100))
        '50.0 (40.0-60.0)'
    """
    if share is None:
        return UNKNOWN_FIGURE
    return f"{percent(share)} ({'-'.join(percent_ends(share))})"


def tenths_of_percent(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return shares as whole tenths of a percent, halves rounded up as in print.

    Example:
        >>> tenths_of_percent(np.array([0.6465, 0.5])).tolist()
        [647, 500]
    """
    return np.floor(1000.0 * shares + 0.5 + ROUNDING).astype(np.int64)


def points(difference: Estimate) -> str:
    """Print a difference of shares in percentage points, with its sign.

    Example:
        >>> points(Estimate(0.034, 0.02, 0.048, 100)), points(Estimate(-0.0001, -0.1, 0.1, 9))
        ('+3.4', '0.0')
    """
    return signed(100.0 * difference.value, decimals=1)


def points_ends(difference: Estimate) -> tuple[str, str]:
    """Print both ends of the interval of a difference in percentage points."""
    low = signed(100.0 * difference.low, decimals=1)
    high = signed(100.0 * difference.high, decimals=1)
    return low, high


def points_with_ends(difference: Estimate | None) -> str:
    """Print a difference in percentage points with its interval; a dash where not known.

    Example:
        >>> points_with_ends(Estimate(0.034, 0.02, 0.048, 100))
        '+3.4 (+2.0 to +4.8)'
    """
    if difference is None:
        return UNKNOWN_FIGURE
    return f"{points(difference)} ({' to '.join(points_ends(difference))})"
