"""The distribution of p_A over the images of one table.

Sun et al. (2025) put the curve of p_A, the probability that the base classifier gives
the label under noise, in the place of ACR: every image weighs the same in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import BadValue, Setting, Spell, Words, WrongTable, spelt
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.estimate import Estimate, require_images, share
from randsmooth.metrics.intervals import Floats, Ints

# The levels at which a table of figures gives the p_A curve.
P_A_LEVELS = (0.5, 0.75, 0.9, 0.99)

# Stands for an unknown p_A where values are sorted: it is smaller than all others.
UNKNOWN_FIRST = -1.0

# Decimals of q * N that count, since 0.07 * 100 is not 7 in floating point.
PLACE_DECIMALS = 9


@dataclass(frozen=True)
class ImageProbabilities:
    """The p_A of each image: the share of its noisy samples that got its label.

    A log determines it for right images only. Those of the others lie below 1/2, so
    that the curve is known from there. So do counts of the picked class alone, if the
    others cannot have got their label in half of the samples.

    Attributes:
        values: (N,) the shares; NaN where they are unknown.
        known_from: the smallest x at which the share of images with p_A >= x is known:
            0 with all counts, else 1/2.

    Example:
        >>> measured = ImageProbabilities(np.array([0.2, 0.7, 0.95]), known_from=0.0)
        >>> round(measured.share(0.5).value, 3)
        0.667
    """

    values: Floats
    known_from: float

    @property
    def unknown_first(self) -> Floats:
        """Return (N,) the values, with UNKNOWN_FIRST where they are unknown."""
        return np.nan_to_num(self.values, nan=UNKNOWN_FIRST)

    def share(self, x: float) -> Estimate:
        """Return the share of images with p_A >= x, one point of the curve.

        Raises:
            Problem: the curve is unknown at x.
        """
        if x < self.known_from:
            raise WrongTable(
                f"p_A >= {x} is unknown: the table determines p_A from "
                f"{self.known_from} upward only"
            )
        return share(self.unknown_first >= x)


@dataclass(frozen=True)
class UnknownProbabilities:
    """Why a table does not determine p_A.

    Attributes:
        kind: "no labels"; "missing facts" of a published log; "stopped early", before n
            samples; "one class counted", where the label may be another one; or "routed",
            where router and expert have a p_A each.
        missing: the facts that a log does not say, of sigma, n and alpha.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> unknown = p_a_unknown(from_radii([0.3], sigma=0.5, n=1000))
        >>> unknown.kind, unknown.missing
        ('missing facts', ('alpha',))
        >>> unknown.reason
        'a published log does not say its alpha'
    """

    kind: Literal[
        "no labels", "missing facts", "stopped early", "one class counted", "routed"
    ]
    missing: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Return the reason why p_A is unknown, in words."""
        match self.kind:
            case "no labels":
                return "the images have no labels"
            case "missing facts":
                return f"a published log does not say its {', '.join(self.missing)}"
            case "stopped early":
                return "samples stopped early, so they do not measure p_A"
            case "one class counted":
                return (
                    "only the picked class was counted, so that p_A is unknown where it "
                    "is not the label"
                )
            case "routed":
                return (
                    "each certificate rests on a p_A of the router and one of each "
                    "expert, under noises of their own"
                )

    @property
    def remedy(self) -> Words:
        """Return the step that would make it known; empty where there is none."""
        match self.kind:
            case "no labels":
                return "certify images with labels"
            case "missing facts":
                facts: list[str | Setting] = []
                for name in self.missing:
                    facts += [Setting(name), ", "]
                return ("give ", *facts[:-1], " to recover p_A from its radii")
            case "stopped early":
                return "certify by rule fixed, not label-aware"
            case "one class counted":
                return ""
            case "routed":
                return "draw the curves of the tables that it was made of"

    def words(self, spell: Spell = str) -> str:
        """Return reason and remedy, in which `spell` writes the settings."""
        if not self.remedy:
            return self.reason
        return f"{self.reason}; {spelt(self.remedy, spell)}"

    def __str__(self) -> str:
        return self.words()


def p_a_unknown(table: CertificatesLike) -> UnknownProbabilities | None:
    """Return why `table` does not determine p_A; None where it does.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> print(p_a_unknown(from_radii([0.3], sigma=0.5, n=1000)))
        a published log does not say its alpha; give alpha to recover p_A from its radii
    """
    table = as_certificates(table)
    if not table.labelled:
        return UnknownProbabilities("no labels")

    if table.routes is not None:
        return UnknownProbabilities("routed")

    if table.is_log:
        missing = _missing_facts(table)
        return UnknownProbabilities("missing facts", missing) if missing else None

    if table.rule.sequential or table.header.gives_up_others:
        return UnknownProbabilities("stopped early")

    # What was not counted by itself may be the label in half of the samples, or in
    # more.
    _, counts = table.evidence()
    uncounted = counts[:, -1]
    maybe_label = 2 * uncounted >= counts.sum(axis=1)
    if np.any(_label_uncounted(table) & maybe_label):
        return UnknownProbabilities("one class counted")
    return None


def _missing_facts(log: Certificates) -> tuple[str, ...]:
    """Return which of sigma, n and alpha a log does not say."""
    header = log.header
    tells_sigma = (header.noise, log.q, log.sigmas)
    knows_sigma = any(fact is not None for fact in tells_sigma)
    known = {
        "sigma": knows_sigma,
        "n": header.n is not None,
        "alpha": header.alpha is not None,
    }
    return tuple(fact for fact, is_known in known.items() if not is_known)


def _label_uncounted(table: Certificates) -> NDArray[np.bool_]:
    """Return (N,) whether an image's label has no count of its own.

    A table may count the picked class, and all others together.
    """
    counts0, _ = table.evidence()
    picked = counts0.argmax(axis=1)
    return np.asarray((picked != table.label) & table.header.lumped)


def knows_p_a(table: CertificatesLike) -> bool:
    """Return whether `table` determines p_A.

    Its counts do, unless the samples stopped as soon as a question was answered, for
    some images after very few. So does a log whose sigma, n and alpha are known.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> knows_p_a(from_radii([0.3]))
        False
        >>> knows_p_a(from_radii([0.3], sigma=0.5, n=1000, alpha=0.001))
        True
    """
    return p_a_unknown(table) is None


def p_a(table: CertificatesLike) -> ImageProbabilities:
    """Return p_A of every image.

    It is exact from counts; of a published log it is recovered from the radius, or from
    the column pABar.

    Raises:
        Problem: no image, a log whose sigma, n or alpha is not known (see
            `Certificates.assuming`), or a table whose samples stopped early.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a(table).values.round(3).tolist()
        [nan, 0.769, 0.967, 0.999]
    """
    table = as_certificates(table)
    require_images(len(table))
    unknown = p_a_unknown(table)
    if unknown is not None:
        where = table.name or "this table"
        raise WrongTable(unknown.reason, fix=unknown.remedy, where=where)

    n = table.header.n
    alpha = table.header.alpha
    if table.is_log and n and alpha:
        values = np.where(table.correct, logged_successes(table, n, alpha) / n, np.nan)
        return ImageProbabilities(values, known_from=0.5)

    _, counts = table.evidence()
    of_label = np.take_along_axis(counts, table.label[:, None], axis=1)[:, 0]
    uncounted = _label_uncounted(table)
    values = np.where(uncounted, np.nan, of_label / counts.sum(axis=1))
    return ImageProbabilities(values, known_from=0.5 if uncounted.any() else 0.0)


def logged_successes(log: Certificates, n: int, alpha: float) -> Ints:
    """Return (N,) n_A of the images of a log: its bound on 1 - p_A, inverted."""
    return _successes_of_q(log.stated_q.tobytes(), n, alpha)


# Every panel of a report asks again for the same log.
@lru_cache(maxsize=64)
def _successes_of_q(q: bytes, n: int, alpha: float) -> Ints:
    """Return (N,) n_A from the bounds on 1 - p_A, (N,) float64 as bytes."""
    return bounds.successes_of_q(np.frombuffer(q), n, alpha)


def p_a_curve(table: CertificatesLike, x: ArrayLike) -> Floats:
    """Return the share of images with p_A >= each of `x` (M,); NaN where it is unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a_curve(table, [0.25, 0.5, 0.9]).tolist()
        [nan, 0.75, 0.5]
    """
    x = np.asarray(x, np.float64)
    probabilities = p_a(table)
    ascending = np.sort(probabilities.unknown_first)
    images_below = np.searchsorted(ascending, x, side="left")
    shares = (len(ascending) - images_below) / len(ascending)
    return np.where(x < probabilities.known_from, np.nan, shares)


def p_a_band(table: CertificatesLike, x: ArrayLike) -> tuple[Floats, Floats]:
    """Return a 95% band around `p_a_curve` at `x` (M,).

    It covers the population's whole curve at once. It is about fresh images whose p_A
    is measured with as many samples. That two bands overlap does not mean that two
    tables over the same images do not differ: for that, see `compare`.

    Returns:
        low, high: (M,) both ends; NaN where the curve is unknown.

    Raises:
        Problem: no image, or p_A is unknown (see `p_a`).

    Source: Dvoretzky, Kiefer & Wolfowitz 1956, with the constant 2 of Massart 1990,
        corollary 1: for any distribution, P(the sample's curve of N images leaves the
        population's by more than e anywhere) <= 2 exp(-2 N e^2).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> low, high = p_a_band(table, [0.5, 0.9])
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.07, 0.0], [1.0, 1.0])
    """
    table = as_certificates(table)
    curve = p_a_curve(table, x)
    # e with 2 exp(-2 N e^2) = 1 - LEVEL
    half_width = math.sqrt(math.log(2.0 / (1.0 - LEVEL)) / (2.0 * len(table)))
    return np.maximum(curve - half_width, 0.0), np.minimum(curve + half_width, 1.0)


def p_a_quantiles(table: CertificatesLike, q: Sequence[float]) -> dict[float, Estimate]:
    """Return the p_A that a share `q` of the images does not exceed, for each q.

    The value is the order statistic ceil(q N). Its 95% interval is exact: it runs
    between two other order statistics and covers the population's quantile with 95% or
    more, whatever the distribution, since how many images lie below it is binomial. A
    log determines p_A for right images only: a value or an end that it does not
    determine is NaN. An end beyond the sample is 0 or 1.

    What can game them: a quantile sees one point of the curve. A method that gives up
    all images below the lowest quantile reported loses nothing, and one that lifts the
    images just below a quantile over it wins all; the highest ones are 1 as soon as all
    n samples agree, and hide what lies between there and certainty. So report low
    quantiles too, several and the same ones always, beside the clean accuracy. Only
    tables under one noise compare.

    Args:
        table: one that determines p_A.
        q: shares in (0, 1).

    Raises:
        Problem: a share outside (0, 1), or a table that `p_a` refuses.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a_quantiles(table, [0.5])[0.5].value
        0.769
    """
    for x in q:
        if not 0.0 < x < 1.0:
            raise BadValue(
                field="q",
                value=x,
                expected="must lie strictly between 0 and 1; 0.5 is the median",
            )
    ascending = np.sort(p_a(table).unknown_first)
    ascending = np.where(ascending < 0.0, np.nan, ascending)
    return {x: _quantile(ascending, x) for x in q}


def _quantile(ascending: Floats, q: float) -> Estimate:
    """Return the order statistic ceil(q N) of N values, and its interval."""
    # SciPy's distributions take long to load.
    from scipy import stats

    images = len(ascending)
    half_level = (1.0 - LEVEL) / 2.0

    place = max(0, math.ceil(round(q * images, PLACE_DECIMALS)) - 1)

    # X_(i) exceeds the quantile if fewer than i images lie at or below it, and misses
    # it if i or more lie under it.
    low_place = int(stats.binom.ppf(half_level, images, q))
    high_place = int(stats.binom.isf(half_level, images, q)) + 1
    low = ascending[low_place - 1] if low_place >= 1 else 0.0
    high = ascending[high_place - 1] if high_place <= images else 1.0
    return Estimate(float(ascending[place]), float(low), float(high), images)
