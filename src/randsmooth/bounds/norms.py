"""What an L2 certificate says about perturbations measured in other norms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats
from randsmooth.errors import InputError


def linf_radius(r: ArrayLike, d: int) -> Floats:
    """L-infinity radius r / sqrt(d) that follows from the L2 radius r in d dimensions.

    The largest L-infinity ball in the L2 ball touches it at its corners, where |delta|_2 = sqrt(d) |delta|_inf.

    Args:
        r: L2 radii, any shape.
        d: numbers that make up an input, 3 * 32 * 32 = 3072 for CIFAR-10.

    Raises:
        InputError: a radius that is negative or not finite, d < 1.

    Source: Salman et al. 2019, who certify 2/255 on CIFAR-10 by the L2 radius 0.435.

    Example:
        >>> round(float(linf_radius(0.435, d=3 * 32 * 32)) * 255, 2)  # 2/255 on CIFAR-10
        2.0
    """
    if d < 1:
        raise InputError(f"d={d} must be the number of inputs, at least 1; CIFAR-10 has 3 * 32 * 32 = 3072")
    return np.asarray(check_radii(r) / np.sqrt(float(d)))


def l1_radius(r: ArrayLike) -> Floats:
    """L1 radius that follows from the L2 radius r: r itself, whatever the dimension.

    |delta|_2 <= |delta|_1, with equality where one coordinate alone is changed.

    Raises:
        InputError: a radius that is negative or not finite.

    Example:
        >>> l1_radius([0.25, 0.5]).tolist()
        [0.25, 0.5]
    """
    return check_radii(r)


def check_radii(r: ArrayLike) -> Floats:
    """As float64; raise InputError unless every radius is finite and >= 0."""
    r = np.asarray(r, np.float64)
    outside = ~((r >= 0.0) & np.isfinite(r))
    if np.any(outside):
        raise InputError(f"radius {r[outside].flat[0]} must be a finite number >= 0, in units of pixels in [0, 1]")
    return r
