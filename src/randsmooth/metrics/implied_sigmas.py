"""The sigma that the largest radii of a log tell."""

from __future__ import annotations

from randsmooth.certificates import Certificates
from randsmooth.certificates.logs.budgets import possible_budgets

# The sigmas that logs of the field are certified at.
USUAL_SIGMAS = (0.12, 0.125, 0.25, 0.5, 1.0)


def known_sigma(table: Certificates) -> float | None:
    """Return the sigma of a table, or the only one that its largest radii tell.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> known_sigma(from_radii([0.2, 1.91, 1.91])), known_sigma(from_radii([0.2]))
        (0.5, None)
    """
    if table.header.sigma is not None:
        return table.header.sigma
    implied = implied_sigmas(table)
    return implied[0] if len(implied) == 1 else None


def implied_sigmas(table: Certificates) -> list[float]:
    """Return the usual sigmas whose largest radii are those of a log; none of other tables.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> implied_sigmas(from_radii([0.2, 1.91, 1.91]))
        [0.5]
    """
    if not table.is_log or table.converted is not None or table.sigmas is not None:
        return []
    n = table.header.n
    alpha = table.header.alpha
    return [
        sigma
        for sigma in USUAL_SIGMAS
        if possible_budgets(table.radius, sigma, n, alpha)
    ]
