"""At which radii two tables can be compared: those about which the samples of both were asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates, rule_of
from randsmooth.metrics.accuracy import check_radius

Floats = NDArray[np.float64]

POINTS = 800  # at most, on the smallest round step that keeps to it: 0.005 at sigma 0.5 and 1
DIGITS = 9  # radii that agree in them are one: 3 * 0.1 is not 0.3 in floating point


@dataclass(frozen=True)
class Reach:
    """The radii (M,), ascending, at which two tables are compared.

    Attributes:
        whole: whether both were asked about every radius from 0 to the last, so that a curve can be drawn through them.
        limit: in words, what restricts the radii; empty if both tables reach equally far.
    """

    radii: Floats
    whole: bool
    limit: str


def reach(a: Certificates, b: Certificates, asked: Sequence[float] = ()) -> Reach:
    """Radii from 0 through the farthest that the n of both allow, the radii `asked` for up to there among them.

    All radii of both tables are among them, too: certified accuracies change nowhere else, so that what is said of all
    these radii holds at every radius in between.

    Beyond the nearer of the two ends one table can certify nothing, whatever its classifier: a smaller n or less noise
    would be called worse there for what it was not asked. A table whose samples answered particular radii only
    (--rule radius or grid) is compared at those; between them its radii are lower bounds.

    Raises:
        InputError: a radius that makes no sense.
    """
    for r in asked:
        check_radius(r)
    ends = farthest(a), farthest(b)
    end, nearer = min(ends), a if ends[0] < ends[1] else b
    limit = "" if ends[0] == ends[1] else f"through r = {_down(end):g}, the farthest that {_allows(nearer)}"
    few = [asked_radii(table) for table in (a, b)]
    shared = [np.round(radii, DIGITS) for radii in few if radii is not None]
    if not shared:
        steps = np.round([*grid(end), *(r for r in asked if r <= end)], DIGITS)
        radii = np.unique(np.concatenate([steps, *(_own(table, end) for table in (a, b))]))
        return Reach(radii, True, limit)
    common = np.intersect1d(shared[0], shared[-1])
    common = common[common <= end]
    return Reach(common, False, _particular(common, a, b, few))


def farthest(table: CertificatesLike) -> float:
    """The largest radius that the table's rule asks about; for a log without n, the largest that occurs.

    It is proved if all samples of an image agree. Samples that stop once a target is proved are asked about the target
    only.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> round(farthest(table), 3)  # n of n successes
        1.232
    """
    table = as_certificates(table)
    if None in (table.header.sigma, table.header.n, table.header.alpha):
        return float(max([table.radius.max(initial=0.0), *_one_radius(table)]))
    return rule_of(table.header).farthest


def can_certify(table: CertificatesLike, r: float) -> bool:
    """Whether any image can be certified at radius `r` with the table's sigma, n and alpha; True if they are unknown.

    True under the randomised bound too, as there an image may by chance reach farther than others.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> can_certify(table, 1.0), can_certify(table, 2.0)
        (True, False)
    """
    table = as_certificates(table)
    unknown = None in (table.header.sigma, table.header.n, table.header.alpha)
    if unknown or table.header.bound == "randomised":
        return True
    seen = bool(np.any(table.radius >= r))  # a log may have rounded its largest radius up
    return seen or r <= farthest(table)


def asked_radii(table: Certificates) -> Floats | None:
    """(K,) the only radii that the table's samples were asked about; None if they were asked about all."""
    if None in (table.header.sigma, table.header.n, table.header.alpha):
        return np.array(_one_radius(table), np.float64) if _one_radius(table) else None
    radii = rule_of(table.header).asked_radii
    return None if radii is None else np.array(radii, np.float64)


def _one_radius(table: Certificates) -> list[float]:
    """The radius of a log of a single one, which its rule names though its n and alpha are unknown; else none."""
    rule, _, radius = table.header.rule.partition("=")
    return [float(radius)] if rule == "radius" else []


def grid(end: float) -> Floats:
    """Radii from 0 to `end` on a round step, at most POINTS of them and then `end` itself, rounded down."""
    if end == 0.0:
        return np.zeros(1)
    exponent = int(np.floor(np.log10(end / POINTS)))
    step = next(s for e in (exponent, exponent + 1) for s in (10.0**e, 2 * 10.0**e, 5 * 10.0**e) if end <= s * POINTS)
    return np.unique(np.round([*(np.arange(int(_down(end) / step) + 1) * step), _down(end)], DIGITS))


def _own(table: Certificates, end: float) -> Floats:
    """The radii up to `end` at which the table's certified accuracy drops, each once."""
    radii = np.unique(table.radius[table.correct])
    return np.asarray(radii[radii <= end])


def _down(r: float) -> float:
    """`r` to four significant digits, never above it."""
    scale = 10.0 ** (3 - int(np.floor(np.log10(r)))) if r > 0.0 else 1.0
    return float(np.floor(r * scale) / scale)


def _allows(table: Certificates) -> str:
    if table.header.n is None:
        return f"{table.name} certifies"
    return f"n = {table.header.n:,} allows at the sigma of {table.name}"


def _particular(common: Floats, a: Certificates, b: Certificates, few: Sequence[Floats | None]) -> str:
    """Which tables limit the comparison to the radii `common`."""
    names = " and ".join(table.name for table, radii in zip((a, b), few, strict=True) if radii is not None)
    verb = "answers" if sum(radii is not None for radii in few) == 1 else "answer"
    if len(common) == 0:
        return f"no radius that {names} {verb} is one that the other can be asked for"
    where = f"r = {common[0]:g}" if len(common) == 1 else f"{len(common)} radii from {common[0]:g} to {common[-1]:g}"
    return f"at {where} only, which is all that {names} {verb}"
