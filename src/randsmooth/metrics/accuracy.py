"""What one table says: certified accuracy, abstention, ACR and areas, the distribution of p_A, a summary of all.

Sun et al. (2025) put the curve of p_A, the probability that the base classifier gives the label under noise, in the
place of ACR: every image weighs the same in it. At the end, what a table would say at a smaller n or another alpha, in
expectation and without resampling.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.bounds.binomial import CAP
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    CertificatesLike,
    as_certificates,
    check_budget,
    rule_of,
)
from randsmooth.certificates.logs.inferred import LOOSEST
from randsmooth.certificates.logs.tsv import LARGEST
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import (
    LEVEL,
    Estimate,
    Floats,
    Ints,
    mean,
    require_images,
    share,
)
from randsmooth.noise import NORMS, Gaussian, Noise
from randsmooth.rules import CONFIDENCE_BOUNDS, MOST_SAMPLES

NORMAL = Gaussian(1.0)


def largest_possible(table: Certificates) -> float:
    """What no radius of the table can exceed, given its rule, noise, n and alpha.

    An unknown n or alpha is taken to be one that certifies the most. Where the noise is unknown, it is the largest
    radius of a right image; if there is none, LARGEST, beyond which no log is read.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> uncertified = from_radii([0.0, 0.0], sigma=0.5, n=100_000, alpha=0.001)
        >>> round(largest_possible(uncertified), 2), largest_possible(from_radii([0.0, 0.3]))
        (1.91, 0.3)
    """
    seen = float(
        np.max(table.radius * table.correct, initial=0.0)
    )  # a log may have rounded it up
    header = table.header
    if not header.names_noise:
        return seen or LARGEST
    if not header.settled:
        return max(
            seen,
            table.smoothing.largest_radius(
                header.n or MOST_SAMPLES, header.alpha or LOOSEST
            ),
        )
    if header.bound != "randomised":
        return max(seen, farthest(table))
    least_q = NORMAL.tail(
        NORMAL.largest_radius(header.n or 0, header.alpha or 0.0) + CAP
    )
    return max(seen, float(table.smoothing.radius(least_q)))


def labelled(table: CertificatesLike) -> Certificates:
    """The table that is meant. InputError for images without labels, of which it is unknown who answers right."""
    table = as_certificates(table)
    if not table.labelled:
        raise InputError(
            f"{table.name or 'this table'} is about images without labels, so that accuracy, ACR and p_A are not "
            "known: certify images with labels"
        )
    return table


def check_radius(*radii: float) -> None:
    """Raise InputError unless all `radii` are finite and >= 0.

    Example:
        >>> check_radius(0.5)
        >>> check_radius(-0.5)
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: radius -0.5 must be a finite number >= 0, in the unit of the certificates
    """
    for r in radii:
        if not (math.isfinite(r) and r >= 0.0):
            raise InputError(
                f"radius {r} must be a finite number >= 0, in the unit of the certificates"
            )


def certified(table: CertificatesLike, r: float) -> NDArray[np.bool_]:
    """(N,) whether each image is classified correctly with a certified radius of at least `r`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified(table, 0.5).tolist()
        [False, False, True, True]
    """
    table = labelled(table)
    check_radius(r)
    return np.asarray(table.correct & (table.radius >= r))


def certified_accuracy(table: CertificatesLike, r: float) -> Estimate:
    """Certified accuracy at `r`: the share of *all* images that are right and certified there (Cohen et al. 2019).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified_accuracy(table, 0.5).value
        0.5
    """
    return share(certified(table, r))


def certified_shares(
    table: CertificatesLike, radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`certified_accuracy` at many radii at once: (M,) shares of all images for `radii` (M,).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified_shares(table, np.array([0.0, 0.5, 1.0])).tolist()
        [0.75, 0.5, 0.25]
    """
    steps, shares = accuracy_curve(table)
    return np.asarray(
        np.append(shares, 0.0)[np.searchsorted(steps, radii, side="left")]
    )


def abstention(table: CertificatesLike) -> Estimate:
    """Share of images on which the certification abstained.

    A label-aware table does not tell it: of an image whose picked class missed the label, or whose label alone was
    tested, it is unknown whether another class would have been certified, wrongly, or abstained on.

    Raises:
        InputError: no image, or a label-aware table.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> abstention(table).value
        0.25
    """
    table = as_certificates(table)
    if table.header.label_aware:
        raise InputError(
            f"{table.name or 'this table'} is label-aware: no class but the label was tested, so it is unknown on how "
            "many images the certification abstains; certify without --label-aware"
        )
    return share(table.predict == ABSTAIN)


def acr(table: CertificatesLike) -> Estimate:
    """Average certified radius: mean over all images of radius * correct (Zhai et al. 2020).

    Known to reward giving up on hard images (Sun et al. 2025): read it beside the p_A curve.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> acr(table).value  # (0.3 + 0.8 + 1.2) / 4
        0.575
    """
    table = labelled(table)
    return mean(table.radius * table.correct, (0.0, largest_possible(table)))


def accuracy_curve(
    table: CertificatesLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Certified accuracy at every radius, which is a staircase.

    Returns:
        radii: (M,) ascending, from 0: the certified radii of right images.
        shares: (M,) certified accuracy at each of these; it drops just after each radius.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> radii, shares = accuracy_curve(table)
        >>> radii.tolist(), shares.tolist()
        ([0.0, 0.3, 0.8, 1.2], [0.75, 0.75, 0.5, 0.25])
    """
    table = labelled(table)
    held = np.sort(table.radius[table.correct])
    radii = np.unique(np.concatenate(([0.0], held)))
    return radii, (len(held) - np.searchsorted(held, radii, side="left")) / max(
        1, len(table)
    )


def accuracy_area(table: CertificatesLike, up_to: float) -> Estimate:
    """Area under the certified-accuracy curve from radius 0 to `up_to`, in units of pixels in [0, 1].

    It is the mean of min(radius, up_to) * correct, with its 95% interval, and ACR when `up_to` is beyond every
    radius. Divided by `up_to` it is the mean certified accuracy over these radii.

    What can game it: below `up_to` it is ACR and pays for the same thing, radius on images that are certified already
    rather than a first radius on a hard one; only what lies beyond `up_to` no longer counts. And `up_to` itself, chosen
    after the curves were seen: state it beforehand, for what the application must withstand, and report where the
    curves cross.

    Raises:
        InputError: no image, or `up_to` is not a finite number above 0.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> accuracy_area(table, up_to=1.0).value  # (0.3 + 0.8 + 1.0) / 4
        0.525
    """
    table = labelled(table)
    check_radius(up_to)
    if up_to == 0.0:
        raise InputError(
            "up_to=0 leaves no area; give the largest radius that matters, in units of pixels in [0, 1]"
        )
    return mean(
        np.minimum(table.radius, up_to) * table.correct,
        (0.0, min(up_to, largest_possible(table))),
    )


STEP = 0.25  # in L2, as the literature has it
COLUMNS = 8
TINY = 1e-12  # what rounding takes from a radius
P_A_LEVELS = (
    0.5,
    0.75,
    0.9,
    0.99,
)  # where the p_A curve is read off for a table of figures


@dataclass(frozen=True)
class Summary:
    """The metrics of one table, with intervals.

    Attributes:
        name, images: of the table, and how many it holds.
        acr: average certified radius; None where the images have no labels.
        accuracy: radius -> certified accuracy; None likewise.
        abstention: share of abstentions; None of a label-aware table, which does not tell it.
        p_a: x -> share of images with p_A >= x; empty if unknown (see `knows_p_a`).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> summary = summarise(table, [0.0, 0.5])
        >>> summary.images, summary.accuracy[0.5].value, summary.p_a[0.5].value
        (4, 0.5, 0.75)
    """

    name: str
    images: int
    acr: Estimate | None
    accuracy: dict[float, Estimate | None]
    abstention: Estimate | None
    p_a: dict[float, Estimate]


def summarise(table: CertificatesLike, radii: Sequence[float] | None = None) -> Summary:
    """Every metric of `table`: certified accuracy at each of `radii`, and shares of p_A at each of P_A_LEVELS.

    Without `radii`, the accuracies are those at the `usual_radii` of the table.

    Raises:
        InputError: no image, or a radius that is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> summary = summarise(table, [0.0, 0.5])
        >>> summary.acr.value, summary.accuracy[0.5].value, summary.abstention.value
        (0.575, 0.5, 0.25)
        >>> list(summarise(table).accuracy)
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    table = as_certificates(table)
    radii = usual_radii([table]) if radii is None else radii
    check_radius(*radii)
    accuracy = {
        r: certified_accuracy(table, r) if table.labelled else None for r in radii
    }
    average = acr(table) if table.labelled else None
    abstained = None if table.header.label_aware else abstention(table)
    measured = p_a(table) if knows_p_a(table) else None
    shares = {} if measured is None else {x: measured.share(x) for x in P_A_LEVELS}
    return Summary(table.name, len(table), average, accuracy, abstained, shares)


def usual_radii(tables: Sequence[CertificatesLike]) -> list[float]:
    """The usual columns of a table of results: 0, 0.25, 0.5, ... as far as any table certifies a right image.

    In other norms than L2 the step is 1, 2 or 5 times a power of ten, so that there are at most COLUMNS of them above
    0; where radii are whole numbers, so is the step.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> usual_radii([table])
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    given = [as_certificates(table) for table in tables]
    farthest = max(
        (float(np.max(t.radius * t.correct, initial=0.0)) for t in given), default=0.0
    )
    norm = given[0].norm if given else "l2"
    step = STEP if norm == "l2" or farthest <= 0.0 else round_step(farthest, COLUMNS)
    step = max(1.0, step) if NORMS[norm].whole else step
    return [
        round(step * i, 12)
        for i in range(math.floor(farthest / step * (1.0 + TINY)) + 1)
    ]


def round_step(end: float, most: int) -> float:
    """The smallest of 1, 2 and 5 times the powers of ten that goes into `end`, above 0, at most so many times.

    Example:
        >>> round_step(1.9, 8), round_step(9.0, 8)
        (0.5, 2.0)
    """
    exponent = math.floor(math.log10(end / most))
    steps = (s * 10.0**e for e in (exponent, exponent + 1) for s in (1.0, 2.0, 5.0))
    return next(s for s in steps if end <= s * most * (1.0 + TINY))


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
    if not table.header.settled:
        return float(table.radius.max(initial=0.0))
    return float(_seen(table, rule_of(table.header).farthest))


def can_certify(table: CertificatesLike, r: float) -> bool:
    """Whether any image can be certified at radius `r` with the table's noise, n and alpha; True if they are unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> can_certify(table, 1.0), can_certify(table, 2.0)
        (True, False)
    """
    table = as_certificates(table)
    return not table.header.settled or r <= largest_possible(table)


def asked_radii(table: Certificates) -> NDArray[np.float64] | None:
    """(K,) the only radii that the table's samples were asked about; None if they were asked about all."""
    asked = rule_of(table.header).asked_radii if table.header.settled else None
    return None if asked is None else _seen(table, asked)


def _seen(table: Certificates, r: ArrayLike) -> NDArray[np.float64]:
    """Radii of the noise in the norm of the table."""
    return (
        np.asarray(r, np.float64)
        if table.converted is None
        else table.converted.from_own(r)
    )


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

    def share(self, x: float) -> Estimate:
        """One point of the curve: share of images with p_A >= x. InputError where the curve is unknown at x."""
        if x < self.known_from:
            raise InputError(
                f"p_A >= {x} is unknown: the table determines p_A from {self.known_from} upward only"
            )
        return share(np.nan_to_num(self.values, nan=-1.0) >= x)


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
        own = table.q is not None or table.sigmas is not None
        known = {
            "sigma": header.names_noise or own or None,
            "n": header.n,
            "alpha": header.alpha,
        }
        missing = [field for field, value in known.items() if value is None]
        give = f"give {', '.join(f'--{field}' for field in missing)} to recover p_A from its radii"
        return (
            f"a published log does not say its {', '.join(missing)}; {give}"
            if missing
            else ""
        )
    if table.rule.sequential or header.gives_up_others:
        return "samples stopped early, so they do not measure p_A: certify with --rule fixed, without --label-aware"
    _, counts = table.evidence()
    unclear = _lumped(table) & (
        2 * counts[:, -1] >= counts.sum(axis=1)
    )  # the label may have come out in half of them
    return (
        "only the picked class was counted, so that p_A is unknown where it is not the label"
        * bool(unclear.any())
    )


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
    """p_A of every image: exact from counts, recovered from the radius of a published log, or from its column pABar.

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
        n_a = _recovered(table.stated_q.tobytes(), n, alpha)
        return ImageProbabilities(
            np.where(table.correct, n_a / n, np.nan), known_from=0.5
        )
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
    x, measured = np.asarray(x, np.float64), p_a(table)
    ordered = np.sort(np.nan_to_num(measured.values, nan=-1.0))
    shares = (len(ordered) - np.searchsorted(ordered, x, side="left")) / len(ordered)
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
    share, half = (
        p_a_curve(table, x),
        math.sqrt(math.log(2.0 / (1.0 - LEVEL)) / (2.0 * len(table))),
    )
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
            raise InputError(
                f"q={x} must lie strictly between 0 and 1; 0.5 is the median"
            )
    ordered = np.sort(
        np.nan_to_num(p_a(table).values, nan=-1.0)
    )  # what a log does not tell is smaller than the rest
    return {x: _quantile(np.where(ordered < 0.0, np.nan, ordered), x) for x in q}


def _quantile(ordered: Floats, q: float) -> Estimate:
    from scipy import stats  # here, since it takes long to load

    images, half = len(ordered), (1.0 - LEVEL) / 2.0
    # X_(i) exceeds the quantile if fewer than i images lie at or below it, and misses it if i or more lie under it
    low, high = (
        int(stats.binom.ppf(half, images, q)),
        int(stats.binom.isf(half, images, q)) + 1,
    )
    place = max(
        0, math.ceil(round(q * images, 9)) - 1
    )  # 0.07 * 100 is not 7 in floating point
    ends = (
        ordered[low - 1] if low >= 1 else 0.0,
        ordered[high - 1] if high <= images else 1.0,
    )
    return Estimate(float(ordered[place]), float(ends[0]), float(ends[1]), images)


def acr_at(
    table: CertificatesLike, n: int | None = None, alpha: float | None = None
) -> Estimate:
    """The expected ACR of a certification with `n` samples at `alpha`, given the stored samples.

    The value is exactly the mean ACR of `Certificates.at(n=..., alpha=..., seed=...)` over all seeds. The interval is
    for fresh images, each with its expected radius. Arguments and errors as `expected_radius`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> round(acr_at(table).value, 3), round(acr_at(table, n=100).value, 3)
        (0.57, 0.367)
    """
    stored = _stored(table, n, alpha)
    most = stored.noise.largest_radius(stored.n, stored.alpha)
    return mean(
        np.minimum(stored.expectation(stored.noise.radius, _known(*stored[2:])), most),
        (0.0, most),
    )


def accuracy_at(
    table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None
) -> Estimate:
    """The expected certified accuracy at radius `r` with `n` samples at `alpha`; see `acr_at`.

    Raises:
        InputError: `r` is negative or not finite; and as `expected_radius`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> accuracy_at(table, 0.5).value, round(accuracy_at(table, 0.5, n=100).value, 3)
        (0.5, 0.474)
    """
    return mean(np.minimum(chance_certified(table, r, n, alpha), 1.0), (0.0, 1.0))


def expected_radius(
    table: CertificatesLike, n: int | None = None, alpha: float | None = None
) -> Floats:
    """(N,) expected radius * correct of each image, in the table's norm.

    Of the stored samples a random n, without replacement, hold k of the picked class with the hypergeometric
    probability; each k certifies the radius of q_upper(k, n, alpha), which is 0 where the bound is 1/2 or less.
    The picked class stays that of the n0 samples.

    A log holds no counts. For its right images n_A is recovered from the radius, as in `p_a`; an image on which it
    abstained counts as radius 0, though fewer samples might have certified it by chance. A log's radii are rounded, so
    at its own n and alpha the results differ from its figures in the fourth digit.

    Args:
        n: at most the stored n, which is the default.
        alpha: by default the stored one.

    Raises:
        InputError: no image, n above the stored n or too small for alpha, alpha outside (0, 1), noise, n or alpha
            unknown, or a table that does not hold n samples of every image judged by Clopper-Pearson.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> expected_radius(table, n=100).round(2).tolist()
        [0.0, 0.15, 0.57, 0.74]
    """
    stored = _stored(table, n, alpha)
    return stored.expectation(stored.noise.radius, _known(*stored[2:]))


@lru_cache(maxsize=64)
def _known(total: int, noise: Noise, n: int, alpha: float) -> dict[int, float]:
    """Expected radii that were found already, by count: tables that are compared share most counts."""
    return {}


def chance_certified(
    table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None
) -> Floats:
    """(N,) probability that each image is right and certified at `r`; arguments and errors as `expected_radius`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> chance_certified(table, 0.5, n=100).round(3).tolist()
        [0.0, 0.0, 0.897, 1.0]
    """
    check_radius(r)
    stored = _stored(table, n, alpha)
    # at 0 an abstention holds nothing either
    return stored.expectation(
        lambda q: ((q < 0.5) & (stored.noise.radius(q) >= r)).astype(np.float64), {}
    )


class Stored(NamedTuple):
    """The evidence, and the budget that is asked for.

    Attributes:
        n_a: (R,) successes of the R right images, of `total` samples each.
        right: (N,) which rows they are.
        noise, n, alpha: under which they are to be judged.
    """

    n_a: Ints
    right: NDArray[np.bool_]
    total: int
    noise: Noise
    n: int
    alpha: float

    def expectation(
        self, worth: Callable[[Floats], Floats], known: dict[int, float]
    ) -> Floats:
        """(N,) expectation of what a bound on q is worth, for right images; 0 for the others.

        Equal counts are done once, and those that are `known` not again. `worth`, which falls with q, is computed only
        for counts that have a chance to occur: of many millions of samples those are few.
        """
        counts, place = np.unique(self.n_a, return_inverse=True)
        fresh = [n_a for n_a in counts.tolist() if n_a not in known]
        windows = [_window(n_a, self.total, self.n) for n_a in fresh]
        some = np.zeros(self.n + 1, bool)
        for lowest, highest in windows:
            some[lowest : highest + 1] = True
        k = np.flatnonzero(some)
        of_k = worth(bounds.q_upper(k, self.n, self.alpha))
        for n_a, (lowest, highest) in zip(fresh, windows, strict=True):
            there = of_k[np.searchsorted(k, lowest) :][: highest - lowest + 1]
            # where not even the highest is worth anything, no count that can occur is
            known[n_a] = (
                float(_chances(n_a, self.total, self.n) @ there)
                if there[-1] > 0.0
                else 0.0
            )
        result = np.zeros(len(self.right))
        result[self.right] = np.array([known[n_a] for n_a in counts.tolist()])[place]
        return result


def _stored(table: CertificatesLike, n: int | None, alpha: float | None) -> Stored:
    """The evidence; of a table with counts, images are right if the picked class is the label, certified or not."""
    table = as_certificates(table)
    require_images(len(table))
    header, name = table.header, table.name or "this table"
    if (
        header.rule != "fixed"
        or header.gives_up_others
        or header.bound in CONFIDENCE_BOUNDS[1:]
    ):
        made = (
            f"--rule {header.rule}, the {header.bound} bound"
            + ", --label-aware" * header.label_aware
        )
        raise InputError(
            f"{name} was made with {made}: it can be judged at another n or alpha only if certified with --rule fixed, "
            "the clopper-pearson bound and without --label-aware"
        )
    total, own = header.n, header.alpha
    if table.sigmas is not None:
        raise InputError(
            f"{name}: images have several sigmas, so that radii at another budget are not known of it"
        )
    if not header.names_noise or total is None or own is None:
        raise InputError(
            f"{name}: another budget needs the noise or sigma, n and alpha that the table was made with"
        )
    if table.is_log:
        right = table.correct
        n_a = _recovered(table.stated_q.tobytes(), total, own)[right]
    else:
        counts0, counts = table.evidence()
        right = np.asarray(counts0.argmax(axis=1) == table.label)
        n_a = counts[right, table.label[right]]
    n, alpha = total if n is None else n, own if alpha is None else alpha
    if n > total:
        raise InputError(
            f"n={n} is not among the 1..{total} samples that the table holds; certify again for more"
        )
    check_budget(header.n0 or 1, n, alpha)
    return Stored(n_a, right, total, table.smoothing, n, alpha)


@lru_cache(maxsize=64)  # of a log that is compared, every panel asks again
def _recovered(q: bytes, n: int, alpha: float) -> Ints:
    """(N,) n_A of images, from the bounds on 1 - p_A (N,) float64 that a log states."""
    return bounds.successes_of_q(np.frombuffer(q), n, alpha)


def _chances(successes: int, total: int, n: int) -> Floats:
    """(S,) the hypergeometric probabilities of the counts in `_window`.

    Built from the ratio of neighbours, P(k + 1) / P(k) = (K - k) (n - k) / ((k + 1) (N - K - n + k + 1)), outward from
    the mode: SciPy's takes minutes for a table of 100,000 samples.
    """
    lowest, highest = _window(successes, total, n)
    mode = (n + 1) * (successes + 1) // (total + 2)
    k = np.arange(lowest, highest, dtype=np.float64)
    ratio = (successes - k) * (n - k) / ((k + 1.0) * (total - successes - n + k + 1.0))
    up = np.cumprod(ratio[mode - lowest :])
    down = np.cumprod(1.0 / ratio[: mode - lowest][::-1])[::-1]
    mass = np.concatenate((down, [1.0], up))
    return np.asarray(mass / mass.sum())


def _window(successes: int, total: int, n: int) -> tuple[int, int]:
    """The lowest and the highest number of successes among `n` samples drawn from `total` that need be looked at.

    They lie nine deviations and 20 counts from the mode: what lies beyond has a chance of less than 1e-15.
    """
    p, mode = successes / total, (n + 1) * (successes + 1) // (total + 2)
    deviation = math.sqrt(n * p * (1.0 - p) * (total - n) / max(total - 1, 1))
    reach = math.ceil(9.0 * deviation) + 20
    return max(0, n + successes - total, mode - reach), min(successes, n, mode + reach)
