"""What ACR hides about two tables, as one sentence that the numbers alone decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.escape import printable, shortened
from randsmooth.metrics import Comparison, Difference


@dataclass(frozen=True)
class Contrast:
    """Two tables over the same images. `acr` and the curve are first minus second.

    Attributes:
        first, second: their names, printable and no longer than a sentence bears.
        figures: ACR of each.
        acr: -1, 0 or 1: the first's ACR is shown to be lower, neither, higher.
        curve: the difference in certified accuracy with its band.
        most, least: certified accuracy of each, in percent, at the radius where the difference is largest, smallest.
        limit: what the comparison does not reach; often empty.
    """

    first: str
    second: str
    figures: tuple[float, float]
    acr: int
    curve: Difference
    most: tuple[float, float]
    least: tuple[float, float]
    limit: str


def what_acr_hides(first: Certificates, second: Certificates, compared: Comparison | None = None) -> str:
    """One plain sentence: whose ACR is higher, where certified accuracies part, and what ACR therefore hides.

    Only what is shown counts as a difference: one 95% band over ACR and all radii together (see `metrics.compare`).

    Args:
        compared: the first against the second, where it was judged together with others; by itself if None.

    Raises:
        InputError: the tables are not about the same images, hold none, or a rule answered particular radii only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> print(what_acr_hides(table.renamed("a"), table.renamed("b")).split(",")[0])
        A and b have the same ACR (0.189)
    """
    contrast = contrast_of(first, second, compared or metrics.compare([(first, second)])[0])
    joint = ", yet " if _surprising(contrast) else ", and "
    sentence = f"{_acr_clause(contrast)}{joint}{_curve_clause(contrast)}: {_verdict(contrast)}"
    scope = f"; compared {contrast.limit}" if contrast.limit else ""
    return f"{sentence[0].upper() if contrast.acr == 0 else sentence[0]}{sentence[1:]}{scope}."


def contrast_of(first: Certificates, second: Certificates, compared: Comparison) -> Contrast:
    """The numbers behind the sentence. Errors as `what_acr_hides`."""
    if compared.curve is None or compared.acr is None:
        raise InputError(f"{first.name} and {second.name} are compared {compared.limit}: their ACR is not known")
    curve = compared.curve
    return Contrast(
        shortened(printable(first.name).strip()) or "the first table",
        shortened(printable(second.name).strip()) or "the second table",
        (metrics.acr(first).value, metrics.acr(second).value),
        compared.acr_shown,
        curve,
        _accuracies(first, second, float(curve.radii[np.argmax(curve.value)])),
        _accuracies(first, second, float(curve.radii[np.argmin(curve.value)])),
        compared.limit,
    )


def _accuracies(first: Certificates, second: Certificates, r: float) -> tuple[float, float]:
    one, other = (100.0 * metrics.certified_accuracy(table, r).value for table in (first, second))
    return one, other


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
    below, above = _stretch(c.curve, c.curve.below), _stretch(c.curve, c.curve.above)
    its = "its" if c.acr else _of(c.first)
    if below and above:
        return f"{its} certified accuracy is below {_of(c.second)} {below} and above it {above}"
    if below:
        return f"{its} certified accuracy is below {_of(c.second)} {below} and nowhere shown above it"
    if above:
        return f"{its} certified accuracy is above {_of(c.second)} {above} and nowhere shown below it"
    if not c.curve.value.any():
        return f"their certified accuracies coincide from r = 0 to {c.curve.radii[-1]:.4g}"
    return f"their certified accuracies differ nowhere beyond chance from r = 0 to {c.curve.radii[-1]:.4g}"


def _stretch(curve: Difference, where: NDArray[np.bool_]) -> str:
    """`from r = 0 to 0.31 by up to 9.1 points`; empty when `where` (M,) holds nowhere."""
    if not where.any():
        return ""
    inside = np.flatnonzero(where)
    low, high = curve.radii[inside[0]], curve.radii[inside[-1]]
    most = 100.0 * np.abs(curve.value[where]).max()
    span = f"at r = {low:.4g}" if low == high else f"from r = {low:.4g} to {high:.4g}"
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
    r = c.curve.radii[np.argmin(c.curve.value) if fewer else np.argmax(c.curve.value)]
    one, other = c.least if fewer else c.most
    word = "fewer" if fewer else "more"
    return (
        f"ACR hides that {word} images are certified at r = {r:.4g} under {c.first} ({one:.1f}% against {other:.1f}%)"
    )
