"""Arithmetic of radii that never claims too much, and radii as they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.errors import BadValue

Floats = NDArray[np.float64]

# The share of a number that a few roundings may have added: four units in its last
# place.
ROUNDINGS = 2.0**-50

# Halvings of a bracket below 1000, to less than the spacing of doubles.
HALVINGS = 64


def both(q: ArrayLike, q_next: ArrayLike | None) -> Floats:
    """Return q + q_next, never rounded down.

    It is 2 q where q_next is None or exceeds q: no other class has more than what the
    class leaves.
    """
    q = np.asarray(q, np.float64)
    if q_next is None:
        return np.asarray(2.0 * q)
    other = np.minimum(np.asarray(q_next, np.float64), q)
    rounded_up = np.nextafter(q + other, 2.0)
    return np.asarray(np.where(other == q, 2.0 * q, rounded_up))


def below(r: ArrayLike) -> Floats:
    """Return `r`, never negative, less what a few roundings may have added to it."""
    less = np.asarray(r, np.float64) * (1.0 - ROUNDINGS)
    # The sum makes -0.0 0.0.
    return np.asarray(np.maximum(0.0, less) + 0.0)


def bisected(
    holds: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats
) -> Floats:
    """Return the largest numbers for which `holds`, approached from below.

    Args:
        holds: tells of numbers (...) for which of them something holds.
        low, high: (...) what the numbers lie between; it holds at `low`.
    """
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        kept = holds(middle)
        low = np.where(kept, middle, low)
        high = np.where(kept, high, middle)
    return low


def round_down(r: float, digits: int) -> Decimal:
    """Return `r` with `digits` decimals, never above it.

    A radius printed is a radius certified.

    Example:
        >>> round_down(0.98765, 2)
        Decimal('0.98')
    """
    return Decimal(float(r)).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN)


def printed_radius(r: float) -> str:
    """Return a radius as a person reads it: with two decimals, or four below 0.1.

    That is so in every answer and on every page. It is never more than is certified.

    Example:
        >>> printed_radius(0.6982), printed_radius(0.06982), printed_radius(0.62)
        ('0.69', '0.0698', '0.62')
    """
    digits = 2 if r >= 0.1 else 4
    # By its digits, as 0.62 is: the nearest float is a little less.
    exact = Decimal(repr(float(r)))
    return str(exact.quantize(Decimal(1).scaleb(-digits), ROUND_DOWN))


def linf_radius(r: ArrayLike, d: int) -> Floats:
    """Return the L-infinity radius r / sqrt(d) that follows from the L2 radius r.

    In d dimensions, the largest L-infinity ball in the L2 ball touches it at its
    corners, where
    |delta|_2 = sqrt(d) |delta|_inf. (In L1 the radius is r itself, as
    |delta|_2 <= |delta|_1.)

    Args:
        r: L2 radii, any shape.
        d: numbers that make up an input, 3 * 32 * 32 = 3072 for CIFAR-10.

    Raises:
        Problem: a radius that is negative or not finite, d < 1.

    Source: Salman et al. 2019, who certify 2/255 on CIFAR-10 by the L2 radius 0.435.

    Example:
        >>> round(float(linf_radius(0.435, d=3 * 32 * 32)) * 255, 2)  # 2/255 on CIFAR-10
        2.0
    """
    r = np.asarray(r, np.float64)
    if d < 1:
        raise BadValue(
            field="d",
            value=d,
            expected=(
                "must be the number of inputs, at least 1; CIFAR-10 has "
                "3 * 32 * 32 = 3072"
            ),
        )
    if not np.all((r >= 0.0) & np.isfinite(r)):
        raise BadValue(
            "radii must be finite and >= 0, in units of pixels in [0, 1]; "
            f"got {r.tolist()}"
        )
    return np.asarray(r / math.sqrt(d))
