"""Limits of alpha, the smallest n and the grain of looks.

They are known without SciPy, so that an error comes at once.
"""

import math
from numbers import Real
from typing import Any

from randsmooth.errors import BadValue

# Samples in a batch, and at the first look.
GRAIN = 32

# The smallest alpha that a user may ask for: below it, exact boundaries lose their
# digits.
SMALLEST_ALPHA = 1e-15


def check_alpha(alpha: float) -> None:
    """Raise Problem unless `alpha`, the probability of failure, lies inside (0, 1).

    Example:
        >>> check_alpha(0.001)
        >>> check_alpha(0.0)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: alpha=0.0 must lie strictly between 0 and 1; the literature uses 0.001
    """
    check_probability("alpha", alpha, "; the literature uses 0.001")


def check_level(alpha: float) -> None:
    """Raise Problem unless `alpha` is a level that a user may ask for: in [1e-15, 1).

    Bounds that divide a level among several looks or classes may themselves use smaller
    ones.

    Example:
        >>> check_level(0.001)
        >>> check_level(1e-16)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: alpha=1e-16 is below 1e-15, where exact boundaries end; 0.001 is usual
    """
    check_alpha(alpha)
    if alpha < SMALLEST_ALPHA:
        raise BadValue(
            field="alpha",
            value=alpha,
            expected=f"is below {SMALLEST_ALPHA}, where exact boundaries end; 0.001 is usual",
        )


def check_probability(name: str, value: Any, hint: str = "") -> None:
    """Raise Problem unless `value` lies strictly inside (0, 1)."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise BadValue(
            field=name, value=value, expected=f"must lie strictly between 0 and 1{hint}"
        )


def smallest_n(alpha: float) -> int:
    """Return the smallest n at which n of n successes certify a radius above 0.

    That is alpha^(1/n) > 1/2.

    Example:
        >>> smallest_n(0.001)  # 0.001^(1/10) = 0.5012
        10
    """
    check_alpha(alpha)
    return math.floor(-math.log2(alpha)) + 1
