"""The part of the contract of noises about whether the radii that they claim hold.

Classifiers are tried whose class is easily lost: by one coordinate, by the sum of all, or
by whether a changed pixel is seen.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.noise import Noise
from randsmooth.testing.contract import require
from randsmooth.testing.noise_samples import (
    JUST_WITHIN,
    ball_around,
    draw_copies,
    probability_bounds,
    unit_of,
)

# The failure probabilities q about which the radii of half spaces are tried.
QS = (0.0, 0.02, 0.1)

# Of these, the ones about which a radius that is said to be tight must not hold so much
# farther out, as a factor.
TIGHT_QS = (0.02, 0.1)
BEYOND_TIGHT = 1.02

# Pairs of q and q_next about which the radii of three classes are tried.
QS_AND_NEXT = ((0.3, 0.05), (0.4, 0.1), (0.55, 0.3))


def check_half_spaces(noise: Noise, shape: tuple[int, ...]) -> None:
    """Check radii by half spaces: by one coordinate and by the sum of all."""
    size = math.prod(shape)
    first_coordinate = torch.eye(size)[0]
    _check_half_space(noise, shape, first_coordinate, tight_at=TIGHT_QS)
    _check_half_space(noise, shape, -first_coordinate)
    _check_half_space(noise, shape, torch.ones(size))


def _check_half_space(
    noise: Noise,
    shape: tuple[int, ...],
    weights: Tensor,
    tight_at: tuple[float, ...] = (),
) -> None:
    """Check the radii of a class that is lost where a weighted sum is above a threshold.

    Args:
        noise: for inputs of `shape`.
        shape: of an input.
        weights: (d,) of the coordinates.
        tight_at: the q at which the radius must be tight, if the noise says that it is.
    """
    sums_at = _sums_of_moved_copies(noise, shape, weights)
    sums_here = np.sort(sums_at(0.0))
    for q in QS:
        # With q = 0, nothing lies beyond the threshold.
        threshold = sums_here[-1 - int(q * len(sums_here))]
        q_low, q_high = probability_bounds(sums_here > threshold)
        radius = float(noise.radius(q_high))
        if radius <= 0.0:
            continue

        claim = f"claims radius {radius:.4g} in {noise.norm} at q={q_high:.4g}"
        lost, _ = probability_bounds(sums_at(radius * JUST_WITHIN) > threshold)
        require(
            lost <= 0.5,
            f"{claim}, where a half space has p={1.0 - lost:.4f} at most: the radius does "
            "not hold",
        )
        if noise.tight and q in tight_at:
            farther = BEYOND_TIGHT * float(noise.radius(q_low))
            # NaN counts as not beyond the threshold.
            kept, _ = probability_bounds(~(sums_at(farther) > threshold))
            require(
                kept <= 0.5,
                f"{claim}, is said to be tight, and {BEYOND_TIGHT:g} times as far away p "
                f"is {kept:.4f} yet",
            )


def check_three_classes(noise: Noise, shape: tuple[int, ...]) -> None:
    """Check radii that use q_next, by three classes.

    One coordinate is cut at two thresholds, and the lower one is moved towards the upper
    one. Then q_next, the share of the upper class, is less than q, that of both others.
    """
    first_coordinate = torch.eye(math.prod(shape))[0]
    sums_at = _sums_of_moved_copies(noise, shape, first_coordinate)
    sums_here = np.sort(sums_at(0.0))
    for q, q_next in QS_AND_NEXT:
        # The class itself lies below `low`, the upper class above `high`.
        low = sums_here[-1 - int(q * len(sums_here))]
        high = sums_here[-1 - int(q_next * len(sums_here))]
        _, q_high = probability_bounds(sums_here > low)
        _, q_next_high = probability_bounds(sums_here > high)
        radius = float(noise.radius(q_high, q_next_high))
        if radius <= 0.0 or low >= high:
            continue

        sums_there = sums_at(radius * JUST_WITHIN)
        upper_class, _ = probability_bounds(sums_there > high)
        _, own_class = probability_bounds(sums_there <= low)
        require(
            upper_class <= own_class,
            f"claims radius {radius:.4g} in {noise.norm} at q={q_high:.4g} and "
            f"q_next={q_next_high:.4g}, where the next class has p={upper_class:.4f} at "
            f"least and its own {own_class:.4f} at most",
        )


def _sums_of_moved_copies(
    noise: Noise, shape: tuple[int, ...], weights: Tensor
) -> Callable[[float], NDArray[np.float32]]:
    """Return r -> (n,) sums of copies' coordinates by `weights`.

    The copies are of a grey input that is moved by r where the sums change most. The first
    numbers of a copy are those of the coordinates.
    """
    steepest = unit_of(noise) ** 2 * weights.view(shape)
    (direction,) = ball_around(noise).along(steepest[None], 1.0)

    def sums_at(r: float) -> NDArray[np.float32]:
        x = 0.5 + r * direction
        sums = [copies[:, : len(weights)] @ weights for copies in draw_copies(noise, x)]
        return torch.cat(sums).numpy()

    return sums_at


def check_few_pixels(noise: Noise, shape: tuple[int, ...]) -> None:
    """Check radii in L0: whether a copy shows a pixel that is not 0.

    None, or one, is so before any is changed.
    """
    pixels = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
    for bright_before in (0, 1):
        _, q = _shows_a_bright_pixel(noise, shape, changed=0, before=bright_before)
        radius = int(noise.radius(q))
        require(radius + bright_before <= pixels, f"claims {radius} pixels of {pixels}")
        if radius > 0:
            lost, _ = _shows_a_bright_pixel(noise, shape, radius, bright_before)
            require(
                lost <= 0.5,
                f"claims {radius} pixels at q={q:.4g}, where {lost:.4f} of copies change",
            )
    if noise.tight:
        one_more = int(noise.radius(0.0)) + 1
        _, lost = _shows_a_bright_pixel(noise, shape, changed=one_more, before=0)
        require(
            lost >= 0.5,
            f"is said to be tight, and {lost:.4f} of copies change at {one_more} pixels",
        )


def _shows_a_bright_pixel(
    noise: Noise, shape: tuple[int, ...], changed: int, before: int
) -> tuple[float, float]:
    """Return bounds on the probability that a copy shows a pixel which is not 0.

    Args:
        noise: in L0.
        shape: of an input.
        changed: how many of the first pixels are changed from 0 to 1.
        before: how many of the last ones were 1 before.
    """
    pixels = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
    x = torch.zeros(shape).reshape(-1, pixels)
    x[:, :changed] = 1.0
    x[:, pixels - before :] = 1.0
    shown = [
        (copies[:, : x.numel()] != 0.0).any(dim=1)
        for copies in draw_copies(noise, x.view(shape))
    ]
    return probability_bounds(torch.cat(shown).numpy())
