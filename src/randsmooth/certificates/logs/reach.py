"""Whether the radii of a log can come from the sigma, n and alpha that are said of it."""

import numpy as np

from randsmooth.certificates.evidence import Floats, name_images
from randsmooth.certificates.logs.budgets import (
    FINEST,
    ROUNDED,
    possible_budgets,
    rounding,
)
from randsmooth.certificates.table import Certificates
from randsmooth.errors import BadValue
from randsmooth.noise import Gaussian, round_down
from randsmooth.rules import MOST_SAMPLES

STANDARD = Gaussian(1.0)

# An alpha above any in use.
LARGEST_ALPHA = 0.5

# q in place of 0, which certifies everything.
SMALLEST_Q = 1e-300


def radii_and_sigma(table: Certificates) -> tuple[Floats, float | Floats] | None:
    """Return radii (N,) of a log, and the divisor that brings them to units of sigma.

    The divisor is the sigma of all images, or (N,) the sigma of each. If the log states
    no sigma but bounds on p_A, the radii follow from these in units of sigma, and the
    divisor is 1. If it states neither, the result is None.
    """
    if table.sigmas is not None:
        return table.radius, table.sigmas
    if table.header.sigma is not None:
        return table.radius, table.header.sigma
    return None if table.q is None else (STANDARD.radius(table.q), 1.0)


def sigma_of_each(table: Certificates) -> float | Floats | None:
    """Return the sigma of all images, or (N,) of each; None where it is unknown.

    A log that states no sigma may state bounds on p_A: sigma then follows from radius
    and bound. It is 0 where such a log certifies nothing.
    """
    if table.sigmas is not None:
        return table.sigmas
    if table.header.sigma is not None or table.q is None:
        return table.header.sigma
    scaled = STANDARD.radius(table.q)
    return np.divide(table.radius, scaled, out=np.zeros(len(table)), where=scaled > 0.0)


def require_reachable(table: Certificates) -> None:
    """Raise Problem for a log with radii that cannot come from its sigma, n and alpha.

    Radii cannot if one is above the largest that sigma, n and alpha certify; if just
    one usual budget explains the largest radii, and it is another; or if the log states
    bounds on p_A that give other radii. An unknown n or alpha is taken to be one that
    certifies the most: MOST_SAMPLES samples, LARGEST_ALPHA.

    A table of counts passes, and so does one with radii converted to another norm.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_reachable(from_radii([1.0], sigma=0.5, n=1000, alpha=0.001))
        >>> log = from_radii([4.0], sigma=0.5, n=1000, alpha=0.001, name="log")
        >>> require_reachable(log)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: log: the radius of image 0 is above 1.231, the most that n=1000 and ...
    """
    scaled = radii_and_sigma(table)
    if not table.is_log or scaled is None or table.converted is not None:
        return
    _check_stated_bounds(table)
    _check_budget(table, *scaled)
    _check_reach(table)


def _check_budget(table: Certificates, radius: Floats, sigma: float | Floats) -> None:
    """Raise Problem where just one usual budget explains the largest radii, and the
    log's is another.
    """
    budgets = possible_budgets(radius, sigma)
    if len(budgets) != 1:
        return
    header = table.header
    n, alpha = budgets[0]
    # An n or alpha that the log does not know contradicts nothing.
    if (header.n or n, header.alpha or alpha) != (n, alpha):
        raise BadValue(
            f"not made with n={header.n}, alpha={header.alpha}: its radii are "
            f"those of n={n} at alpha={alpha:g}; give these, or leave n and alpha out",
            field="n",
            value=header.n,
            where=table.name,
        )


def _check_reach(table: Certificates) -> None:
    """Raise Problem for a radius that no samples of the known sigma, n and alpha
    certify.
    """
    n = table.header.n
    alpha = table.header.alpha
    sigma = sigma_of_each(table)
    if sigma is None:
        return
    margin = 1.0 + ROUNDED
    if table.sigmas is not None:
        # Sigmas are rounded, too.
        margin += ROUNDED
    most = sigma * STANDARD.largest_radius(n or MOST_SAMPLES, alpha or LARGEST_ALPHA)
    wrong = np.flatnonzero(table.radius > most * margin)
    if len(wrong) == 0:
        return

    first = wrong[0]
    first_most = float(np.broadcast_to(most, len(table))[first])
    first_sigma = float(np.broadcast_to(sigma, len(table))[first])
    n_words = f"n={n}" if n else "any n"
    alpha_words = f"alpha={alpha}" if alpha else "any alpha"
    raise BadValue(
        f"the radius of {name_images(table.idx[wrong])} is above "
        f"{round_down(first_most, 3)}, the most that {n_words} and {alpha_words} "
        f"certify at sigma={first_sigma:g}; give those that the log was made with, or "
        "no n and alpha",
        field="radius",
        value=float(table.radius[first]),
        where=table.name,
    )


def _check_stated_bounds(table: Certificates) -> None:
    """Raise Problem where a column of bounds on p_A says other radii than the log's, at
    the sigma that is known.
    """
    sigma = table.header.sigma if table.sigmas is None else table.sigmas
    if table.q is None or sigma is None or len(table) == 0:
        return
    p_lower = 1.0 - table.q
    # `rounding` takes no 0.
    tolerance = rounding(np.maximum(p_lower, FINEST))
    largest_q = np.minimum(table.q + tolerance, 1.0)
    smallest_q = np.maximum(table.q - tolerance, SMALLEST_Q)
    low = sigma * STANDARD.radius(largest_q) * (1.0 - ROUNDED)
    high = sigma * STANDARD.radius(smallest_q) * (1.0 + ROUNDED)
    outside = (table.radius < low) | (table.radius > high)
    wrong = np.flatnonzero((table.radius > 0.0) & outside)
    if len(wrong) == 0:
        return

    row = wrong[0]
    sigma_of_row = float(np.broadcast_to(sigma, p_lower.shape)[row])
    stated = float(sigma_of_row * STANDARD.radius(table.q[row]))
    raise BadValue(
        f"image {table.idx[row]} has radius {table.radius[row]:g}, and at "
        f"sigma={sigma_of_row:g} its column pABar, {p_lower[row]:.6g}, "
        f"says {stated:.3f}, "
        f"so too for {len(wrong):,} of {len(table):,} images: "
        "give the sigma that the log "
        "was made with",
        field="radius",
        value=float(table.radius[row]),
        where=table.name,
    )
