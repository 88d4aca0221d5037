"""The distribution of p_A, the probability that the base classifier gives the label under noise, and a band around it.

Sun et al. (2025) put its curve in the place of ACR: every image weighs the same in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import LEVEL, Estimate, Floats, require_images, share


@dataclass(frozen=True)
class ImageProbabilities:
    """The p_A of each image: the share of its noisy samples that got its label.

    A log determines it for right images only. Those of the others lie below 1/2, so that the curve is known from there.
    So do counts of the picked class alone, if the others cannot have got their label in half of the samples.

    Attributes:
        values: (N,) the shares; NaN where they are unknown.
        known_from: the smallest x at which the share of images with p_A >= x is known: 0 with all counts, else 1/2.

    Example:
        >>> measured = ImageProbabilities(np.array([0.2, 0.7, 0.95]), known_from=0.0)
        >>> round(measured.share(0.5).value, 3)
        0.667
    """

    values: Floats
    known_from: float

    def at_least(self, x: float) -> NDArray[np.bool_]:
        """(N,) p_A >= x.

        Raises:
            InputError: the curve is unknown at x.
        """
        if x < self.known_from:
            raise InputError(f"p_A >= {x} is unknown: the table determines p_A from {self.known_from} upward only")
        return np.asarray(np.nan_to_num(self.values, nan=-1.0) >= x)

    def share(self, x: float) -> Estimate:
        """One point of the curve: share of images with p_A >= x."""
        return share(self.at_least(x))


def p_a_unknown(table: CertificatesLike) -> str:
    """Why `table` does not determine p_A and what would, in words; empty where it does.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> p_a_unknown(from_radii([0.3], sigma=0.5, n=1000))
        'a published log does not say its alpha; give --alpha to recover p_A from its radii'
    """
    table = as_certificates(table)
    header = table.header
    if not table.labelled:
        return "the images have no labels; certify images with labels"
    if table.is_log:
        known = {"sigma": header.names_noise or None, "n": header.n, "alpha": header.alpha}
        missing = [field for field, value in known.items() if value is None]
        give = f"give {', '.join(f'--{field}' for field in missing)} to recover p_A from its radii"
        return f"a published log does not say its {', '.join(missing)}; {give}" if missing else ""
    if table.rule.sequential or header.gives_up_others:
        return "samples stopped early, so they do not measure p_A: certify with --rule fixed, without --label-aware"
    _, counts = table.evidence()
    unclear = _lumped(table) & (2 * counts[:, -1] >= counts.sum(axis=1))  # the label may have come out in half of them
    return "only the picked class was counted, so that p_A is unknown where it is not the label" * bool(unclear.any())


def knows_p_a(table: CertificatesLike) -> bool:
    """Whether `table` determines p_A, by its counts or as a log whose sigma, n and alpha are known.

    Counts do not if the samples stopped as soon as a question was answered, for some images after very few.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> knows_p_a(from_radii([0.3])), knows_p_a(from_radii([0.3], sigma=0.5, n=1000, alpha=0.001))
        (False, True)
    """
    return not p_a_unknown(table)


def p_a(table: CertificatesLike) -> ImageProbabilities:
    """p_A of every image: exact from counts, recovered from the radius of a published log.

    Raises:
        InputError: no image, a log whose sigma, n or alpha is not known (see `Certificates.assuming`), or a table
            whose samples stopped early.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a(table).values.round(3).tolist()
        [nan, 0.769, 0.967, 0.999]
    """
    table = as_certificates(table)
    require_images(len(table))
    if why := p_a_unknown(table):
        raise InputError(f"{table.name or 'this table'}: {why}")
    n, alpha = table.header.n, table.header.alpha
    if table.is_log and n and alpha:  # the bound at the logged radius, inverted
        n_a = bounds.successes_of_q(table.smoothing.tail(table.radius), n, alpha)
        return ImageProbabilities(np.where(table.correct, n_a / n, np.nan), known_from=0.5)
    _, counts = table.evidence()
    of_label = np.take_along_axis(counts, table.label[:, None], axis=1)[:, 0]
    lumped = _lumped(table)
    values = np.where(lumped, np.nan, of_label / counts.sum(axis=1))
    return ImageProbabilities(values, known_from=0.5 if lumped.any() else 0.0)


def p_a_curve(table: CertificatesLike, x: ArrayLike) -> Floats:
    """Share of images with p_A >= each of `x` (M,); NaN where that is unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a_curve(table, [0.25, 0.5, 0.9]).tolist()
        [nan, 0.75, 0.5]
    """
    table = as_certificates(table)
    x = np.asarray(x, np.float64)
    measured = p_a(table)
    ordered = np.sort(np.nan_to_num(measured.values, nan=-1.0))
    shares = (len(table) - np.searchsorted(ordered, x, side="left")) / len(table)
    return np.where(x < measured.known_from, np.nan, shares)


def p_a_band(table: CertificatesLike, x: ArrayLike) -> tuple[Floats, Floats]:
    """Both ends of a 95% band around `p_a_curve` at `x` (M,), which covers the population's whole curve at once.

    It is about fresh images whose p_A is measured with as many samples. That two bands overlap does not mean that two
    tables over the same images do not differ: for that, see `compare`.

    Returns:
        low, high: (M,); NaN where the curve is unknown.

    Raises:
        InputError: no image, or p_A is unknown (see `p_a`).

    Source: Dvoretzky, Kiefer & Wolfowitz 1956, with the constant 2 of Massart 1990, corollary 1: for any distribution,
        P(the sample's curve of N images leaves the population's by more than e anywhere) <= 2 exp(-2 N e^2).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> low, high = p_a_band(table, [0.5, 0.9])
        >>> low.round(2).tolist(), high.tolist()
        ([0.07, 0.0], [1.0, 1.0])
    """
    table = as_certificates(table)
    share, half = p_a_curve(table, x), math.sqrt(math.log(2.0 / (1.0 - LEVEL)) / (2.0 * len(table)))
    return np.maximum(share - half, 0.0), np.minimum(share + half, 1.0)


def _lumped(table: Certificates) -> NDArray[np.bool_]:
    """(N,) whether an image's label was not counted by itself, but among all classes that were not picked."""
    counts0, _ = table.evidence()
    return np.asarray((counts0.argmax(axis=1) != table.label) & table.header.lumped)


def p_a_quantiles(table: CertificatesLike, q: Sequence[float]) -> dict[float, Estimate]:
    """The p_A that a share `q` of the images does not exceed, for each q, with an exact 95% interval.

    The value is the order statistic ceil(q N). The interval runs between two other ones and covers the population's
    quantile with 95% or more, whatever the distribution: how many images lie below it is binomial. A log
    determines p_A for right images only: a value or an end that it does not determine is NaN. An end beyond the sample
    is 0 or 1.

    What can game them: a quantile sees one point of the curve. A method that gives up all images below the lowest
    quantile reported loses nothing, and one that lifts the images just below a quantile over it wins all; the highest
    ones are 1 as soon as all n samples agree, and hide what lies between there and certainty. So report low quantiles
    too, several and the same ones always, beside the clean accuracy. Only tables under one noise compare.

    Args:
        q: shares in (0, 1).

    Raises:
        InputError: a share outside (0, 1), and as `p_a`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a_quantiles(table, [0.5])[0.5].value
        0.769
    """
    for x in q:
        if not 0.0 < x < 1.0:
            raise InputError(f"q={x} must lie strictly between 0 and 1; 0.5 is the median")
    ordered = np.sort(np.nan_to_num(p_a(table).values, nan=-1.0))  # what a log does not tell is smaller than the rest
    return {x: _quantile(np.where(ordered < 0.0, np.nan, ordered), x) for x in q}


def _quantile(ordered: Floats, q: float) -> Estimate:
    from scipy import stats  # here, since it takes long to load

    images, half = len(ordered), (1.0 - LEVEL) / 2.0
    # X_(i) exceeds the quantile if fewer than i images lie at or below it, and misses it if i or more lie under it
    low, high = int(stats.binom.ppf(half, images, q)), int(stats.binom.isf(half, images, q)) + 1
    place = max(0, math.ceil(round(q * images, 9)) - 1)  # 0.07 * 100 is not 7 in floating point
    ends = ordered[low - 1] if low >= 1 else 0.0, ordered[high - 1] if high <= images else 1.0
    return Estimate(float(ordered[place]), float(ends[0]), float(ends[1]), images)
