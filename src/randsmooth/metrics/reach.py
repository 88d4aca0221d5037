"""The radii at which two tables can be compared, and what restricts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsmooth.certificates import Certificates
from randsmooth.metrics.intervals import Floats
from randsmooth.metrics.radii import asked_radii, check_radius, farthest, round_step

# The most steps of the grid of radii: 0.005 at sigma 0.5 and 1.
MOST_STEPS = 800

# Radii that agree in so many decimals are one: 3 * 0.1 is not 0.3 in floating point.
RADIUS_DECIMALS = 9

# The significant digits of a radius that is printed.
PRINTED_DIGITS = 4


@dataclass(frozen=True)
class NearerEnd:
    """One table reaches less far than the other.

    Attributes:
        table: the name of the table that reaches less far.
        end: the farthest radius that it can certify, rounded down.
        missing: which of sigma, n and alpha it does not say; then `end` is its largest
            radius.

    Example:
        >>> print(NearerEnd("a", 0.9, missing=("alpha",)))
        through r = 0.9, the largest radius of a, its alpha unknown
    """

    table: str
    end: float
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.missing:
            unknown = ", ".join(self.missing)
            which = f"the largest radius of {self.table}, its {unknown} unknown"
        else:
            which = f"the farthest that {self.table} can certify"
        return f"through r = {self.end:g}, {which}"


@dataclass(frozen=True)
class ParticularRadii:
    """The samples of some tables answer particular radii only.

    Attributes:
        tables: the names of these tables.
        radii: ascending, those at which both tables were asked; maybe none.

    Example:
        >>> print(ParticularRadii(("a",), radii=(0.5,)))
        at r = 0.5 only, all that the samples of a answer
    """

    tables: tuple[str, ...]
    radii: tuple[float, ...]

    def __str__(self) -> str:
        names = " and ".join(self.tables)
        if not self.radii:
            return (
                f"at no radius: the samples of {names} answer none that the other can be "
                "asked for"
            )
        if len(self.radii) == 1:
            where = f"r = {self.radii[0]:g}"
        else:
            first = self.radii[0]
            last = self.radii[-1]
            where = f"{len(self.radii)} radii from {first:g} to {last:g}"
        return f"at {where} only, all that the samples of {names} answer"


Limit = NearerEnd | ParticularRadii
"""What restricts the radii of a comparison; `str` says it in words."""


@dataclass(frozen=True)
class Reach:
    """The radii at which two tables are compared.

    Attributes:
        radii: (M,) ascending.
        whole: whether both were asked about every radius from 0 to the last, so that a
            curve can be drawn through them.
        limit: the reason why the radii are restricted; None if both tables reach
            equally far.
    """

    radii: Floats
    whole: bool
    limit: Limit | None


def reach(a: Certificates, b: Certificates, asked: Sequence[float] = ()) -> Reach:
    """Return the radii from 0 through the farthest that the n of both tables allow.

    All radii of both tables are among them: certified accuracies change nowhere else,
    so that what holds at all of these radii holds at every radius in between.

    Beyond the nearer of the two ends one table can certify nothing, whatever its
    classifier: a smaller n or less noise would be called worse there for what it was
    not asked. A table whose samples answered particular radii only (--rule radius or
    grid) is compared at those; between them its radii are lower bounds.

    Args:
        a: one table.
        b: the other table.
        asked: radii to be included, as far as both tables reach.

    Raises:
        Problem: a radius that is negative or not finite.
    """
    check_radius(*asked)
    end = min(farthest(a), farthest(b))

    particular = []
    for table in (a, b):
        radii_of_table = asked_radii(table)
        if radii_of_table is not None:
            particular.append((table.name, np.round(radii_of_table, RADIUS_DECIMALS)))
    if particular:
        return _reach_of_particular_radii(particular, end)

    asked_in_reach = [r for r in asked if r <= end]
    grid_and_asked = [*grid(end), *asked_in_reach]
    steps = np.round(grid_and_asked, RADIUS_DECIMALS)
    radii_of_tables = [
        table.radius[table.correct & (table.radius <= end)] for table in (a, b)
    ]
    radii = np.unique(np.concatenate([steps, *radii_of_tables]))
    return Reach(radii, whole=True, limit=_nearer_end(a, b))


def _nearer_end(a: Certificates, b: Certificates) -> NearerEnd | None:
    """Return which table reaches less far; None if both reach equally far."""
    end_a = farthest(a)
    end_b = farthest(b)
    if end_a == end_b:
        return None

    nearer = a if end_a < end_b else b
    missing: tuple[str, ...] = ()
    if not nearer.header.settled:
        facts = ("sigma", "n", "alpha")
        missing = tuple(fact for fact in facts if getattr(nearer.header, fact) is None)
    return NearerEnd(nearer.name, rounded_down(min(end_a, end_b)), missing)


def _reach_of_particular_radii(
    particular: Sequence[tuple[str, Floats]], end: float
) -> Reach:
    """Return the radii up to `end` that all tables with particular radii answer.

    Args:
        particular: one table or both, each as its name and the radii that it answers.
        end: the last radius that both tables can certify.
    """
    common = np.unique(particular[0][1])
    for _, radii in particular[1:]:
        common = np.intersect1d(common, radii)
    common = common[common <= end]

    names = tuple(name for name, _ in particular)
    limit = ParticularRadii(names, tuple(common.tolist()))
    return Reach(common, whole=False, limit=limit)


def grid(end: float) -> Floats:
    """Return radii from 0 to `end` on a round step, and `end` itself, rounded down.

    There are at most MOST_STEPS steps.
    """
    if end == 0.0:
        return np.zeros(1)
    step = round_step(end, MOST_STEPS)
    last = rounded_down(end)
    steps = np.arange(int(last / step) + 1) * step
    return np.unique(np.round([*steps, last], RADIUS_DECIMALS))


def rounded_down(r: float) -> float:
    """Return `r` to PRINTED_DIGITS significant digits, never above it."""
    first_digit = int(np.floor(np.log10(r))) if r > 0.0 else 0
    scale = 10.0 ** (PRINTED_DIGITS - 1 - first_digit)
    return float(np.floor(round(r * scale, RADIUS_DECIMALS)) / scale)
