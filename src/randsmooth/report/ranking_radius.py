"""The radius at which the tables of a setting are ranked.

A user names it, or it is one sigma of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.noise import NORMS, Gaussian
from randsmooth.rules.fixed import BOUNDS_OF_ALL_CLASSES

# P(Z > 1). Where no radius is named, tables are ranked at the radius that a p_A of 1
# minus this probability certifies. Under Gaussian noise that radius is sigma.
TAIL_BEYOND_ONE_SIGMA = float(Gaussian(1.0).tail(1.0))

# The p_A whose share of images has the column beside certified accuracy.
LEVEL_BESIDE = 0.9

# Significant digits of a radius that no user named. All are printed, so that a reader can
# name the same radius.
RADIUS_DIGITS = 6

# The fewest decimals of a printed p_A; a p_A that is nearly 1 has more.
P_A_DECIMALS = 2

# The sentence for a setting without a radius to rank at.
NOT_RANKED = (
    "Not ranked: no radius was named, and none follows from a noise that is not known."
)


@dataclass(frozen=True)
class RankingRadius:
    """The radius at which the tables of a setting are ranked.

    Attributes:
        radius: the radius, in the norm of the tables.
        norm: the norm of that radius, one of `noise.NORMS`.
        is_named: whether a user named it; otherwise it follows from the noise.
        is_sigma: whether it is one sigma of Gaussian noise.
        least_p_a: the p_A that certifies it; None where it depends on more than p_A, or
            where the p_A is not below 1 in float64.
        is_reached: whether any of the tables can certify that far.

    Example:
        >>> print(RankingRadius(0.5, "l2", False, True, 0.8413, True))
        Ranked by certified accuracy at L2 radius 0.5, one sigma: the share of ...
    """

    radius: float
    norm: str
    is_named: bool
    is_sigma: bool
    least_p_a: float | None
    is_reached: bool

    def __str__(self) -> str:
        words = f"Ranked by certified accuracy at {NORMS[self.norm].radius} "
        words += f"{self.radius:g}"
        if self.is_sigma:
            words += ", one sigma"
        if self.least_p_a is not None:
            least = p_a_words(self.least_p_a)
            words += f": the share of images shown to have p_A of at least {least}"
        words += "."
        if not self.is_reached:
            words += (
                " No table here can certify that far, whatever its classifier: "
                "the next columns decide."
            )
        return words


def figure_heads(radius: float | None, *, declined: bool = False) -> list[str]:
    """Return the heads of a table's figures, where tables are compared at one radius.

    Args:
        radius: the radius; None where none was named and none follows.
        declined: whether there is a column for the share of declined images.

    Example:
        >>> figure_heads(0.5)
        ['certified at 0.5', 'difference', 'p_A>=0.9', 'at 0', 'ACR']
    """
    at = "" if radius is None else f" at {radius:g}"
    heads = [f"certified{at}", "difference", f"p_A>={LEVEL_BESIDE:g}", "at 0"]
    if declined:
        heads.append("declined")
    return [*heads, "ACR"]


def p_a_words(p_a: float) -> str:
    """Return a p_A below 1 as text, with as many decimals as make it differ from 1.

    Example:
        >>> p_a_words(0.8413), p_a_words(0.9772), p_a_words(0.999928)
        ('0.84', '0.977', '0.999928')
    """
    decimals = max(P_A_DECIMALS, 1 - math.floor(math.log10(1.0 - p_a)))
    return f"{p_a:.{decimals}f}"


def ranking_radius(
    tables: Sequence[Certificates], named: float | None
) -> RankingRadius | None:
    """Return the radius at which tables of one setting are ranked.

    Args:
        tables: one or more, of one noise, n, alpha and norm.
        named: the radius that a user named; None: the one that follows from the noise.

    Returns:
        The radius. It is None where no user named one and the noise is not known, or
        certifies no radius at a p_A of 0.84.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> log = from_radii([0.3, 0.8], sigma=0.5, n=1000, alpha=0.001)
        >>> ranking_radius([log], None).radius, ranking_radius([log], 0.25).radius
        (0.5, 0.25)
        >>> ranking_radius([from_radii([0.3, 0.8])], None)
    """
    radius = named
    if radius is None:
        radius = _radius_of_one_sigma(tables[0])
    if radius is None:
        return None
    sigma = tables[0].header.sigma
    return RankingRadius(
        radius=radius,
        norm=tables[0].norm,
        is_named=named is not None,
        is_sigma=sigma is not None and math.isclose(radius, sigma),
        least_p_a=_least_p_a(tables, radius),
        is_reached=any(metrics.can_certify(table, radius) for table in tables),
    )


def _knows_noise(table: Certificates) -> bool:
    """Return whether the noise is known, and the same for all images."""
    return table.header.noise is not None and table.sigmas is None


def _radius_of_one_sigma(table: Certificates) -> float | None:
    """Return the radius that the noise certifies at a p_A of P(Z <= 1), as printed.

    Under Gaussian noise it is sigma. The answer is None where the noise is not known, or
    where the radius is 0.
    """
    if not _knows_noise(table):
        return None
    # Of texts, what half of them reach.
    radii = [float(noise.radius(TAIL_BEYOND_ONE_SIGMA)) for noise in table.noises]
    radius = sorted(radii)[len(radii) // 2]
    printed = float(f"{radius:.{RADIUS_DIGITS}g}")
    return printed or None


def _least_p_a(tables: Sequence[Certificates], radius: float) -> float | None:
    """Return the p_A that certifies a radius; None where no p_A by itself does.

    Args:
        tables: the tables of one setting, which share their noise.
    """
    if not all(_knows_noise(table) for table in tables):
        return None
    # These bounds make the radius depend on the second class, too.
    if any(table.header.bound in BOUNDS_OF_ALL_CLASSES for table in tables):
        return None
    # Of texts, each number of words has a p_A of its own.
    if any(table.words is not None for table in tables):
        return None
    least = 1.0 - float(tables[0].noise.tail(radius))
    # At so large a radius, float64 cannot tell p_A from 1, and no n certifies it.
    return least if least < 1.0 else None
