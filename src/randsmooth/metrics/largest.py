"""The most that a certified radius can be: what bounds the mean of radii when few of them have been seen."""

from __future__ import annotations

import numpy as np

from randsmooth.bounds.binomial import CAP
from randsmooth.certificates import Certificates, Header, rule_of
from randsmooth.certificates.logs.inferred import LOOSEST
from randsmooth.certificates.logs.tsv import LARGEST
from randsmooth.noise import Gaussian
from randsmooth.rules import MOST_SAMPLES


def largest_possible(table: Certificates) -> float:
    """What no radius of the table can exceed, given its rule, sigma, n and alpha.

    An unknown n or alpha is taken to be one that certifies the most. Where sigma is unknown, it is the largest radius
    of a right image; if there is none, LARGEST, beyond which no log is read.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> uncertified = from_radii([0.0, 0.0], sigma=0.5, n=100_000, alpha=0.001)
        >>> round(largest_possible(uncertified), 2), largest_possible(from_radii([0.0, 0.3]))
        (1.91, 0.3)
    """
    seen = float(np.max(table.radius * table.correct, initial=0.0))  # a log may have rounded it up
    if table.header.sigma is None:
        return seen or LARGEST
    return max(seen, _largest(table.header, table.header.sigma))


def _largest(header: Header, sigma: float) -> float:
    if header.n is None or header.alpha is None:
        return Gaussian(sigma).largest_radius(header.n or MOST_SAMPLES, header.alpha or LOOSEST)
    beyond = CAP * sigma if header.bound == "randomised" else 0.0
    return rule_of(header).farthest + beyond
