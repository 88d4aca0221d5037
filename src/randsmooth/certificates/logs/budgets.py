"""Which n and alpha a log was made with, as far as its radii show.

n of n successes certify sigma * Phi^-1(alpha^(1/n)) and no more. Many images reach that, so the largest radius of a log
reveals its budget: 3.81 sigma is n = 100,000 at alpha 0.001, and 3.91 sigma is the same n at alpha 0.01.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import Certificates, Floats, Ints
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian, check_sigma, round_down
from randsmooth.rules import MOST_SAMPLES

USUAL_N = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
USUAL_ALPHA = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1)
TOP = 64  # how many of the largest radii are compared with a budget's: smaller ones lie too close together
ROUNDED = 0.005  # a log prints three significant digits, perhaps rounded up
FINEST = 1e-6  # what `write_tsv` rounds down to
FINE = 7  # decimals: with as many or more, a radius may be off by FINEST
LOOSEST = 0.5  # an alpha above any in use
NAMED = 5  # images that an error lists

Budget = tuple[int, float]


def possible_budgets(radius: Floats, sigma: float, n: int | None = None, alpha: float | None = None) -> list[Budget]:
    """The usual budgets (n, alpha) whose largest radii are those of a log.

    Args:
        radius: (N,) as the log prints them. If a single image has the largest, no budget is inferred.
        sigma: of the log.
        n, alpha: if known, only budgets with these are tried.

    Example:
        >>> possible_budgets(np.array([0.2, 1.91, 1.91]), sigma=0.5)  # 1.91 is 3.81 sigma
        [(100000, 0.001)]
    """
    check_sigma(sigma)
    return list(_possible(np.ascontiguousarray(radius, np.float64).tobytes(), sigma, n, alpha))


@lru_cache(maxsize=16)  # the budget of a log is asked for several times while it is read
def _possible(radii: bytes, sigma: float, n: int | None, alpha: float | None) -> list[Budget]:
    radius = np.frombuffer(radii)
    if len(radius) == 0 or radius.max() <= 0.0 or (radius == radius.max()).sum() < 2:
        return []
    printed = np.unique(radius[radius > 0.0])[::-1]
    scaled, off = printed / sigma, _rounding(printed) / sigma
    budgets, tops = _tried(n, alpha)
    near = np.flatnonzero(np.abs(tops - scaled[0]) <= off[0])  # few of the many: only these are looked at closely
    return [budgets[i] for i in near if _explains(_largest(*budgets[i]), scaled, off)]


@lru_cache(maxsize=64)
def _tried(n: int | None, alpha: float | None) -> tuple[list[Budget], Floats]:
    """The usual budgets with this n and alpha, as far as they are known, and the largest radius of each, in sigmas."""
    every = [(m, a) for m in ([n] if n else USUAL_N) for a in ([alpha] if alpha else USUAL_ALPHA)]
    budgets = [(m, a) for m, a in every if m >= bounds.smallest_n(a)]
    return budgets, np.array([Gaussian(1.0).largest_radius(m, a) for m, a in budgets], np.float64)


def _explains(there: Floats, radii: Floats, off: Floats) -> bool:
    """Whether those of `radii` that lie near the largest of `there` equal one of these, to within `off`."""
    near = radii >= there[-1]
    gap = np.abs(radii[near][:, None] - there).min(axis=1)
    return bool(np.all(gap <= off[near]))


@cache
def _largest(n: int, alpha: float) -> Floats:
    """The radii, in units of sigma, that n, n - 1, ... of n successes certify."""
    k = np.arange(n, max(n // 2, n - TOP), -1)
    return Gaussian(1.0).radius(bounds.q_upper(k, n, alpha))


def _rounding(radii: Floats) -> Floats:
    """By how much each radius may be off as printed: half a unit of the last digit that any of its magnitude shows."""
    rounded = np.array([np.abs(np.round(radii, d) - radii) <= 1e-12 * radii for d in range(FINE)] + [radii > 0.0])
    decimals = np.argmax(rounded, axis=0)
    magnitude = np.floor(np.log10(radii))
    shown = np.array([decimals[magnitude == m].max() for m in magnitude])
    return np.asarray(np.maximum(0.5 * 10.0**-shown, FINEST) * (1.0 + 1e-6))


def least_alpha(radius: float, sigma: float, n: int) -> float | None:
    """The smallest usual alpha at which n samples certify `radius`; None if there is none."""
    return next((a for a in USUAL_ALPHA if not beyond(np.array([radius]), sigma, n, a).any()), None)


def beyond(radius: Floats, sigma: float, n: int, alpha: float) -> NDArray[np.bool_]:
    """(N,) radii above what n samples at alpha certify at sigma, by more than rounding."""
    return np.asarray(radius > Gaussian(sigma).largest_radius(n, alpha) * (1.0 + ROUNDED))


def require_reachable(table: Certificates) -> None:
    """Raise InputError for a log whose radii cannot come from its sigma, n and alpha. A table of counts passes.

    Either a radius is above the largest that they certify, or another usual budget explains the largest radii and this
    one does not. An unknown n or alpha is taken to be one that certifies the most: MOST_SAMPLES samples, alpha LOOSEST.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_reachable(from_radii([1.0], sigma=0.5, n=1000, alpha=0.001))
        >>> require_reachable(from_radii([4.0], sigma=0.5, n=1000, alpha=0.001, name="log"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: log: the radius of image 0 is above 1.231, the most that n=1000 samples ...
    """
    header = table.header
    if not table.is_log or header.sigma is None:
        return
    known = None not in (header.n, header.alpha)
    if known:
        _require_below(table, header.sigma, header.n or MOST_SAMPLES, header.alpha or LOOSEST)
    radii = possible_budgets(table.radius, header.sigma)
    if len(radii) == 1 and (header.n or radii[0][0], header.alpha or radii[0][1]) != radii[0]:
        said = " and ".join(f"{key}={value}" for key, value in (("n", header.n), ("alpha", header.alpha)) if value)
        raise InputError(f"{table.name} was not made with {said}{_way_out(table.radius, header)}")
    if not known:
        _require_below(table, header.sigma, header.n or MOST_SAMPLES, header.alpha or LOOSEST)


def _require_below(table: Certificates, sigma: float, n: int, alpha: float) -> None:
    wrong = table.idx[beyond(table.radius, sigma, n, alpha)]
    if len(wrong):
        even = "even " if None in (table.header.n, table.header.alpha) else ""
        raise InputError(
            f"{table.name}: the radius of {name_images(wrong)} is above "
            f"{round_down(Gaussian(sigma).largest_radius(n, alpha), 3)}, the most that {even}n={n} samples at "
            f"alpha={alpha:g} certify at sigma={sigma:g}; give the sigma, n and alpha that the log was made with"
            f"{_way_out(table.radius, table.header)}"
        )


def _way_out(radius: Floats, header: Header) -> str:
    found = possible_budgets(radius, header.sigma or 1.0)
    if len(found) != 1:
        return ""
    n, alpha = found[0]
    return f": its radii are those of n={n} at alpha={alpha:g}, which are found where neither is given"


def name_images(idx: Ints) -> str:
    """The images in words, for an error: `image 3`, or `images 3, 17 and 40 more`.

    Example:
        >>> name_images(np.arange(3)), name_images(np.arange(100))
        ('images 0, 1, 2', 'images 0, 1, 2, 3, 4 and 95 more')
    """
    shown, more = ", ".join(map(str, idx[:NAMED])), len(idx) - NAMED
    return f"image{'s' if len(idx) > 1 else ''} {shown}{f' and {more:,} more' if more > 0 else ''}"
