"""What ACR hides about two tables, as one sentence that the numbers alone decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import CurveDifference
from randsmooth.report.naming import printable


@dataclass(frozen=True)
class Contrast:
    """Two tables over the same images. `acr` and the curve are first minus second.

    Attributes:
        first, second: their names, printable.
        figures: ACR of each.
        acr: -1, 0 or 1: the first's ACR is lower, not told apart, higher, at 95% over the images.
        curve: the p_A curves' difference with its simultaneous 95% band.
        shares: p_A curve of each on the grid of `curve`.
    """

    first: str
    second: str
    figures: tuple[float, float]
    acr: int
    curve: CurveDifference
    shares: tuple[NDArray[np.float64], NDArray[np.float64]]


def what_acr_hides(first: Certificates, second: Certificates) -> str:
    """One plain sentence: whose ACR is higher, where the p_A curves part, and what ACR therefore hides.

    Only differences beyond chance are called differences: a paired bootstrap interval for ACR, a
    simultaneous band for the curves, both at 95%.

    Raises:
        InputError: the tables are not about the same images, hold none, or p_A is unknown (a log whose
            sigma, n or alpha is not given).
    """
    contrast = contrast_of(first, second)
    joint = ", yet " if _surprising(contrast) else ", and "
    said = f"{_acr_clause(contrast)}{joint}{_curve_clause(contrast)}: {_verdict(contrast)}"
    return f"{said[0].upper() if contrast.acr == 0 else said[0]}{said[1:]}{_scope(contrast.curve)}."


def contrast_of(first: Certificates, second: Certificates) -> Contrast:
    """The numbers behind the sentence. Errors as `what_acr_hides`."""
    curve = metrics.curve_difference(first, second)
    gap = metrics.acr_difference(first, second)
    return Contrast(
        printable(first.name).strip() or "the first table",
        printable(second.name).strip() or "the second table",
        (metrics.acr(first).value, metrics.acr(second).value),
        int(gap.low > 0.0) - int(gap.high < 0.0),
        curve,
        (metrics.p_a_curve(first, curve.x), metrics.p_a_curve(second, curve.x)),
    )


def _of(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _acr_clause(c: Contrast) -> str:
    one, other = _apart(*c.figures)
    if c.acr:
        way = "higher" if c.acr > 0 else "lower"
        return f"{_of(c.first)} ACR is {way} than {_of(c.second)} ({one} against {other})"
    if c.figures[0] == c.figures[1]:
        return f"{c.first} and {c.second} have the same ACR ({one})"
    return f"the ACR of {c.first} ({one}) and that of {c.second} ({other}) do not differ beyond chance"


def _apart(one: float, other: float) -> tuple[str, str]:
    """Both figures with three decimals, or with as many more as it takes to tell them apart."""
    for decimals in range(3, 8):
        pair = f"{one:.{decimals}f}", f"{other:.{decimals}f}"
        if pair[0] != pair[1]:
            return pair
    return f"{one:.3f}", f"{other:.3f}"


def _curve_clause(c: Contrast) -> str:
    band = f"(95% band ±{100.0 * c.curve.band:.1f} points)"
    range_ = f"between p_A = {c.curve.x[0]:.2f} and {c.curve.x[-1]:.2f}"
    below, above = _stretch(c.curve, c.curve.below), _stretch(c.curve, c.curve.above)
    whose = f"{'its' if c.acr else _of(c.first)} p_A curve lies"
    if below and above:
        return f"{whose} below {_of(c.second)} {below} and above it {above} {band}"
    if below:
        return f"{whose} below {_of(c.second)} {below} and not above it beyond chance {range_} {band}"
    if above:
        return f"{whose} above {_of(c.second)} {above} and not below it beyond chance {range_} {band}"
    if not c.curve.difference.any():
        return f"their p_A curves coincide {range_}"
    return f"their p_A curves differ nowhere beyond chance {range_} {band}"


def _stretch(curve: CurveDifference, where: NDArray[np.bool_]) -> str:
    """`from p_A = 0.50 to 0.74, by up to 9.1 points`; empty when `where` (M,) holds nowhere."""
    if not where.any():
        return ""
    inside = np.flatnonzero(where)
    low, high = curve.x[inside[0]], curve.x[inside[-1]]
    most = 100.0 * np.abs(curve.difference[where]).max()
    span = f"at p_A = {low:.2f}" if low == high else f"from p_A = {low:.2f} to {high:.2f}"
    gaps = " (with gaps)" if inside[-1] - inside[0] >= len(inside) else ""
    return f"{span}{gaps} by up to {most:.1f} points"


def _surprising(c: Contrast) -> bool:
    """The curve says something that ACR alone would not make one expect."""
    below, above = bool(c.curve.below.any()), bool(c.curve.above.any())
    if c.acr == 0:
        return below or above
    return below if c.acr > 0 else above


def _verdict(c: Contrast) -> str:
    below, above = bool(c.curve.below.any()), bool(c.curve.above.any())
    if not below and not above:
        return "the curves show nothing that ACR hides" if c.acr else "these images do not tell the two apart"
    if not _surprising(c):
        return "here the curve bears ACR out"
    fewer = below and c.acr >= 0
    place = int(np.argmin(c.curve.difference) if fewer else np.argmax(c.curve.difference))
    one, other = (100.0 * share[place] for share in c.shares)
    word = "fewer" if fewer else "more"
    return (
        f"ACR hides that {word} images reach p_A = {c.curve.x[place]:.2f} under {c.first} "
        f"({one:.1f}% against {other:.1f}%)"
    )


def _scope(curve: CurveDifference) -> str:
    """What the sentence does not cover: a log tells nothing of p_A below 1/2."""
    return "; p_A below 1/2 is not in the logs" if curve.x[0] >= 0.5 else ""
