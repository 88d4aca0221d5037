"""The expected results of a table at a smaller n or another alpha.

The results are expectations over the stored samples, exact and without resampling.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import (
    Certificates,
    CertificatesLike,
    as_certificates,
    check_budget,
)
from randsmooth.errors import BadValue, WrongTable
from randsmooth.metrics.estimate import Estimate, mean, require_images
from randsmooth.metrics.intervals import Floats, Ints
from randsmooth.metrics.probabilities import logged_successes
from randsmooth.metrics.radii import check_radius
from randsmooth.noise import Noise
from randsmooth.rules import CONFIDENCE_BOUNDS

# How far from the mode a hypergeometric count is looked at, in standard deviations and
# in counts: what lies beyond has a chance of less than 1e-15.
WINDOW_DEVIATIONS = 9.0
WINDOW_COUNTS = 20


def acr_at(
    table: CertificatesLike, n: int | None = None, alpha: float | None = None
) -> Estimate:
    """Return the expected ACR of a certification with `n` samples at `alpha`.

    The value is exactly the mean ACR of `Certificates.at(n=..., alpha=..., seed=...)`
    over all seeds. The interval is for fresh images, each with its expected radius.
    Arguments and errors are those of `expected_radius`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> round(acr_at(table).value, 3), round(acr_at(table, n=100).value, 3)
        (0.57, 0.367)
    """
    parts = _stored_parts(table, n, alpha)
    largest = max(
        stored.noise.largest_radius(stored.n, stored.alpha) for _, stored in parts
    )
    radii = _of_all_rows(parts, StoredSamples.expected_radius)
    # Rounding may leave an expectation above the largest radius.
    return mean(np.minimum(radii, largest), (0.0, largest))


def accuracy_at(
    table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None
) -> Estimate:
    """Return the expected certified accuracy at radius `r` with `n` samples at `alpha`.

    See `acr_at`.

    Raises:
        Problem: `r` is negative or not finite, or `expected_radius` refuses the table.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> accuracy_at(table, 0.5).value, round(accuracy_at(table, 0.5, n=100).value, 3)
        (0.5, 0.474)
    """
    # Rounding may leave a probability above 1.
    chances = np.minimum(chance_certified(table, r, n, alpha), 1.0)
    return mean(chances, (0.0, 1.0))


def expected_radius(
    table: CertificatesLike, n: int | None = None, alpha: float | None = None
) -> Floats:
    """Return (N,) expected radius * correct of each image, in the table's norm.

    Of the stored samples a random n, without replacement, hold k of the picked class
    with the hypergeometric probability; each k certifies the radius of q_upper(k, n,
    alpha), which is 0 where the bound is 1/2 or less. The picked class stays that of
    the n0 samples.

    A log holds no counts. For its right images n_A is recovered from the radius, as in
    `p_a`; an image on which it abstained counts as radius 0, though fewer samples might
    have certified it by chance. A log's radii are rounded, so at its own n and alpha
    the results differ from its figures in the fourth digit.

    Args:
        table: the certificates.
        n: at most the stored n, which is the default.
        alpha: the allowed error; by default the stored one.

    Raises:
        Problem: no image, n above the stored n or too small for alpha, alpha outside
            (0, 1), noise, n or alpha unknown, or a table that does not hold n samples
            of every image judged by Clopper-Pearson.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> expected_radius(table, n=100).round(2).tolist()
        [0.0, 0.15, 0.57, 0.74]
    """
    parts = _stored_parts(table, n, alpha)
    return _of_all_rows(parts, StoredSamples.expected_radius)


def chance_certified(
    table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None
) -> Floats:
    """Return (N,) the probability that each image is right and certified at `r`.

    Arguments and errors are those of `expected_radius`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> chance_certified(table, 0.5, n=100).round(3).tolist()
        [0.0, 0.0, 0.897, 1.0]
    """
    check_radius(r)
    parts = _stored_parts(table, n, alpha)
    return _of_all_rows(parts, lambda stored: stored.chance_certified(r))


class StoredSamples(NamedTuple):
    """The samples that a table holds, and the budget at which they are to be judged.

    Attributes:
        successes: (R,) n_A of the R right images, of `total` samples each.
        right: (N,) whether each row is one of these images.
        total: samples of an image that the table holds.
        noise: the noise of the samples.
        n: samples of an image in the budget, at most `total`.
        alpha: the allowed error in the budget.
    """

    successes: Ints
    right: NDArray[np.bool_]
    total: int
    noise: Noise
    n: int
    alpha: float

    def expected_radius(self) -> Floats:
        """Return (N,) the expected radius of each image; 0 of those that are not right."""
        known = _known_radii(self.total, self.noise, self.n, self.alpha)
        return self.expectation(self.noise.radius, known)

    def chance_certified(self, r: float) -> Floats:
        """Return (N,) the probability that each image is right and certified at `r`."""

        def certifies(q: Floats) -> Floats:
            # At radius 0 an abstention holds nothing either: hence q < 1/2.
            return ((q < 0.5) & (self.noise.radius(q) >= r)).astype(np.float64)

        return self.expectation(certifies, known={})

    def expectation(
        self, worth: Callable[[Floats], Floats], known: dict[int, float]
    ) -> Floats:
        """Return (N,) the expected worth of a bound on q; 0 where not right.

        Args:
            worth: a function that gives the worth (K,) of bounds on q (K,); the worth
                falls as q grows.
            known: expectations by n_A, which are not computed again; new ones are
                added.
        """
        different, place = np.unique(self.successes, return_inverse=True)
        new = [n_A for n_A in different.tolist() if n_A not in known]
        windows = [likely_counts(n_A, self.total, self.n) for n_A in new]

        # The worth is computed only for counts that have a chance to occur: of many
        # millions of samples those are few.
        occurs = np.zeros(self.n + 1, bool)
        for lowest, highest in windows:
            occurs[lowest : highest + 1] = True
        k = np.flatnonzero(occurs)
        worth_of_k = worth(bounds.q_upper(k, self.n, self.alpha))

        for n_A, (lowest, highest) in zip(new, windows, strict=True):
            first = np.searchsorted(k, lowest)
            worth_in_window = worth_of_k[first : first + highest - lowest + 1]
            if worth_in_window[-1] > 0.0:
                chances = _hypergeometric(n_A, self.total, self.n)
                known[n_A] = float(chances @ worth_in_window)
            else:
                # If the highest count is worth nothing, no count that can occur is.
                known[n_A] = 0.0

        expected = np.array([known[n_A] for n_A in different.tolist()])
        result = np.zeros(len(self.right))
        result[self.right] = expected[place]
        return result


# Numbers of rows, and the samples of these.
Parts = list[tuple[Ints, StoredSamples]]


def _stored_parts(table: CertificatesLike, n: int | None, alpha: float | None) -> Parts:
    """Return the samples of a table, by the rows that share a noise."""
    table = as_certificates(table)
    require_images(len(table))
    return [(rows, stored_samples(part, n, alpha)) for rows, part in table.by_words()]


def _of_all_rows(parts: Parts, value: Callable[[StoredSamples], Floats]) -> Floats:
    """Return (N,) what `value` returns of the parts, in the order of the rows."""
    values = np.zeros(sum(len(rows) for rows, _ in parts))
    for rows, stored in parts:
        values[rows] = value(stored)
    return values


@lru_cache(maxsize=64)
def _known_radii(total: int, noise: Noise, n: int, alpha: float) -> dict[int, float]:
    """Return the expected radii that were computed already, by n_A.

    Tables that are compared share most counts.
    """
    return {}


def stored_samples(
    table: CertificatesLike, n: int | None, alpha: float | None
) -> StoredSamples:
    """Return the samples of a table, to be judged at `n` and `alpha`.

    Of a table with counts, images are right if the picked class is the label, certified
    or not.
    """
    table = as_certificates(table)
    require_images(len(table))
    stored_n, stored_alpha = _stored_budget(table)

    if n is None:
        n = stored_n
    if alpha is None:
        alpha = stored_alpha
    if n > stored_n:
        raise BadValue(
            field="n",
            value=n,
            expected=f"is not among the 1..{stored_n} samples that the table holds; certify again for more",
        )
    check_budget(table.header.n0 or 1, n, alpha)

    if table.is_log:
        right = table.correct
        successes = logged_successes(table, stored_n, stored_alpha)[right]
    else:
        counts0, counts = table.evidence()
        right = np.asarray(counts0.argmax(axis=1) == table.label)
        successes = counts[right, table.label[right]]
    return StoredSamples(successes, right, stored_n, table.noise, n, alpha)


def _stored_budget(table: Certificates) -> tuple[int, float]:
    """Return n and alpha of a table that can be judged at others.

    Raises:
        Problem: the table does not hold n samples of every image judged by
            Clopper-Pearson, under one noise that is known.
    """
    header = table.header
    name = table.name or "this table"

    if table.routes is not None:
        raise WrongTable(
            f"{name} is routed: for another budget, route the tables that it was made of "
            "again"
        )
    other_bound = header.bound in CONFIDENCE_BOUNDS[1:]
    if header.rule != "fixed" or header.gives_up_others or other_bound:
        settings = f"rule {header.rule}, the {header.bound} bound"
        if header.label_aware:
            settings += ", label-aware"
        raise WrongTable(
            f"{name} was made with {settings}: it can be judged at another n or alpha "
            "only if certified by rule fixed with the clopper-pearson bound, not label-aware"
        )
    if table.sigmas is not None:
        raise WrongTable(
            f"{name}: images have several sigmas, so that radii at another budget are not "
            "known of it"
        )
    if header.noise is None or header.n is None or header.alpha is None:
        raise WrongTable(
            f"{name}: another budget needs the noise or sigma, n and alpha that the table "
            "was made with"
        )
    return header.n, header.alpha


def likely_counts(successes: int, total: int, n: int) -> tuple[int, int]:
    """Return the lowest and the highest number of successes that need be looked at.

    They are among `n` samples drawn from `total`, of which `successes` are successes.
    """
    p = successes / total
    mode = _mode(successes, total, n)
    # The hypergeometric distribution's: n p (1 - p) (N - n) / (N - 1) is its variance.
    deviation = math.sqrt(n * p * (1.0 - p) * (total - n) / max(total - 1, 1))
    reach = math.ceil(WINDOW_DEVIATIONS * deviation) + WINDOW_COUNTS

    lowest = max(0, n + successes - total, mode - reach)
    highest = min(successes, n, mode + reach)
    return lowest, highest


def _hypergeometric(successes: int, total: int, n: int) -> Floats:
    """Return (S,) the hypergeometric probabilities of the `likely_counts`.

    With N = total and K = successes, they are built from the ratio of neighbours,
    P(k + 1) / P(k) = (K - k) (n - k) / ((k + 1) (N - K - n + k + 1)), outward from the
    mode: SciPy's take minutes for a table of 100,000 samples.
    """
    lowest, highest = likely_counts(successes, total, n)
    mode = _mode(successes, total, n)
    k = np.arange(lowest, highest, dtype=np.float64)
    ratio = (successes - k) * (n - k) / ((k + 1.0) * (total - successes - n + k + 1.0))

    # Relative to the probability of the mode, which is 1 here.
    above_mode = np.cumprod(ratio[mode - lowest :])
    below_mode = np.cumprod(1.0 / ratio[: mode - lowest][::-1])[::-1]
    mass = np.concatenate((below_mode, [1.0], above_mode))
    return np.asarray(mass / mass.sum())


def _mode(successes: int, total: int, n: int) -> int:
    """Return the most probable number of successes among `n` of `total` samples."""
    return (n + 1) * (successes + 1) // (total + 2)
