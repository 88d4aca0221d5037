"""The budget that a log was certified with, by its largest radii.

n of n successes certify sigma * Phi^-1(alpha^(1/n)) and no more: many images reach
that, so the largest radius of a log reveals its budget. 3.81 sigma is n = 100,000 at
alpha 0.001, and 3.91 sigma is the same n at alpha 0.01.
"""

from functools import cache
from itertools import product

import numpy as np

from randsmooth import bounds
from randsmooth.certificates.evidence import Floats
from randsmooth.noise import Gaussian, check_sigma

# The numbers of samples and the alphas among which the budget of a log is looked for.
USUAL_N = (
    *(100, 200, 500),
    *(1000, 2000, 5000),
    *(10_000, 20_000, 50_000),
    *(100_000, 200_000, 500_000),
    1_000_000,
)
USUAL_ALPHA = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1)

# How many of the largest radii that a budget gives are compared with those of a log:
# smaller ones lie too close together.
COMPARED_RADII = 64

# Share by which a radius or a sigma may be off: a log prints at least three significant
# digits, and half a unit of the last is 0.5% of 1.00, less of anything up to 9.99.
ROUNDED = 0.005

# The step to which `write_tsv` rounds radii down.
FINEST = 1e-6

# A radius that is printed with so many decimals or more may be off by FINEST.
FINE_DECIMALS = 7

Budget = tuple[int, float]


def possible_budgets(
    radius: Floats,
    sigma: float | Floats,
    n: int | None = None,
    alpha: float | None = None,
) -> list[Budget]:
    """Return the usual budgets (n, alpha) whose largest radii are those of a log.

    Args:
        radius: (N,) as the log prints them. If a single image has the largest, no
            budget is inferred.
        sigma: the sigma of the log, or (N,) the sigma of each image.
        n, alpha: if known, only budgets with these are tried.

    Example:
        >>> # 1.91 is 3.81 sigma.
        >>> possible_budgets(np.array([0.2, 1.91, 1.91]), sigma=0.5)
        [(100000, 0.001)]
    """
    for value in np.unique(sigma).tolist():
        check_sigma(value)
    budgets = list(product([n] if n else USUAL_N, [alpha] if alpha else USUAL_ALPHA))

    # Sigmas in a column of the log may be rounded, as its radii are. They are taken as
    # they stand first, and as rounded only if no budget explains that.
    ways = (False, True) if np.ndim(sigma) else (False,)
    for rounded in ways:
        scaled, tolerance = in_sigmas(radius, sigma, rounded=rounded)
        if len(scaled) == 0:
            continue
        # `scaled` has each radius once: the images with the largest are counted here.
        at_the_end = (radius / sigma >= scaled[0] - tolerance[0]).sum()
        if at_the_end < 2:
            continue
        explaining = [
            budget
            for budget in budgets
            # Few budgets are near, and only those are looked at more closely.
            if abs(largest_radii(*budget)[0] - scaled[0]) <= tolerance[0]
            and explains(largest_radii(*budget), scaled, tolerance)
        ]
        if explaining:
            return explaining
    return []


def in_sigmas(
    radius: Floats, sigma: float | Floats, *, rounded: bool = True
) -> tuple[Floats, Floats]:
    """Return the radii above 0 in units of sigma, each once, the largest first; and by
    how much each may be off.

    Args:
        radius: (N,) as a log prints them.
        sigma: the sigma of all images, or (N,) the sigma of each.
        rounded: whether the sigmas of images may be rounded, as the radii are.
    """
    above = radius > 0.0
    sigmas = np.broadcast_to(sigma, radius.shape)[above]
    scaled, rows = np.unique(radius[above] / sigmas, return_index=True)
    tolerance = rounding(radius[above])[rows] / sigmas[rows]
    if np.ndim(sigma) and rounded:
        # A sigma of few digits, such as 0.5, is exact rather than rounded to them. Half a
        # unit of its last digit would be a tenth of it, and many budgets lie so near.
        share = np.minimum(rounding(sigmas)[rows] / sigmas[rows], ROUNDED)
        tolerance += scaled * share
    return scaled[::-1], tolerance[::-1]


def explains(possible: Floats, radii: Floats, tolerance: Floats) -> bool:
    """Return whether the largest `radii` are among the `possible` ones.

    Radii below all possible ones are not compared. All are in units of sigma, the
    largest first. `tolerance` says by how much each of `radii` may be off.
    """
    near = radii >= possible[-1]
    # (near, possible) becomes (near,): the distance to the nearest possible radius.
    distance = np.abs(radii[near][:, None] - possible).min(axis=1)
    return bool(np.all(distance <= tolerance[near]))


@cache
def largest_radii(n: int, alpha: float) -> Floats:
    """Return the radii, in units of sigma, that n, n - 1, ... of n successes certify."""
    # Half of the samples or fewer certify nothing.
    successes = np.arange(n, max(n // 2, n - COMPARED_RADII), -1)
    return Gaussian(1.0).radius(bounds.q_upper(successes, n, alpha))


def rounding(values: Floats) -> Floats:
    """Return by how much each value may be off as printed.

    That is half a unit of the last digit that any value of its magnitude shows.
    """
    # (FINE_DECIMALS + 1, N): whether a value has no more than so many decimals.
    shown_by = [
        np.abs(np.round(values, decimals) - values) <= 1e-12 * values
        for decimals in range(FINE_DECIMALS)
    ]
    shown_by.append(values > 0.0)
    # The fewest decimals that show a value: `argmax` finds the first True.
    decimals = np.argmax(np.array(shown_by), axis=0)
    # 0.5 may be printed 0.500: other values of its magnitude say how many digits are.
    magnitudes, group = np.unique(np.floor(np.log10(values)), return_inverse=True)
    most_decimals = np.zeros(len(magnitudes), np.int64)
    np.maximum.at(most_decimals, group, decimals)
    printed = most_decimals[group]
    # A little more than half a unit, since the values are floats.
    return np.asarray(
        np.maximum(0.5 * 10.0 ** -printed.astype(np.float64), FINEST) * (1.0 + 1e-6)
    )
