"""The metrics that a table would have at a smaller n or another alpha, in expectation and without resampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import CertificatesLike, as_certificates, check_budget
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import check_radius
from randsmooth.metrics.estimate import Estimate, Floats, Ints, mean, require_images
from randsmooth.noise import Noise
from randsmooth.rules import CONFIDENCE_BOUNDS


def acr_at(table: CertificatesLike, n: int | None = None, alpha: float | None = None) -> Estimate:
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
    return mean(np.minimum(stored.expectation(stored.noise.radius), most), (0.0, most))


def accuracy_at(table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None) -> Estimate:
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


def expected_radius(table: CertificatesLike, n: int | None = None, alpha: float | None = None) -> Floats:
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
    return stored.expectation(stored.noise.radius)


def chance_certified(table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None) -> Floats:
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
    return stored.expectation(lambda q: ((q < 0.5) & (stored.noise.radius(q) >= r)).astype(np.float64))


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

    def expectation(self, worth: Callable[[Floats], Floats]) -> Floats:
        """(N,) expectation of what a bound on q is worth, for right images; 0 for the others.

        Equal counts are done once. `worth`, which falls with q, is computed only for counts that have a chance to
        occur: of many millions of samples those are few.
        """
        counts, place = np.unique(self.n_a, return_inverse=True)
        windows = [_window(int(n_a), self.total, self.n) for n_a in counts]
        some = np.zeros(self.n + 1, bool)
        for lowest, highest in windows:
            some[lowest : highest + 1] = True
        k = np.flatnonzero(some)
        of_k, expected = worth(bounds.q_upper(k, self.n, self.alpha)), np.zeros(len(counts))
        for i, (n_a, (lowest, highest)) in enumerate(zip(counts, windows, strict=True)):
            there = of_k[np.searchsorted(k, lowest) :][: highest - lowest + 1]
            if there[-1] > 0.0:  # else no count that can occur is worth anything
                expected[i] = _chances(int(n_a), self.total, self.n) @ there
        result = np.zeros(len(self.right))
        result[self.right] = expected[place]
        return result


def _stored(table: CertificatesLike, n: int | None, alpha: float | None) -> Stored:
    """The evidence; of a table with counts, images are right if the picked class is the label, certified or not."""
    table = as_certificates(table)
    require_images(len(table))
    header, name = table.header, table.name or "this table"
    if header.rule != "fixed" or header.gives_up_others or header.bound in CONFIDENCE_BOUNDS[1:]:
        made = f"--rule {header.rule}, the {header.bound} bound" + ", --label-aware" * header.label_aware
        raise InputError(
            f"{name} was made with {made}: it can be judged at another n or alpha only if certified with --rule fixed, "
            "the clopper-pearson bound and without --label-aware"
        )
    total, own = header.n, header.alpha
    if not header.names_noise or total is None or own is None:
        raise InputError(f"{name}: another budget needs the noise or sigma, n and alpha that the table was made with")
    if table.is_log:
        right = table.correct
        n_a = bounds.successes_of_q(table.smoothing.tail(table.radius[right]), total, own)
    else:
        counts0, counts = table.evidence()
        right = np.asarray(counts0.argmax(axis=1) == table.label)
        n_a = counts[right, table.label[right]]
    n, alpha = total if n is None else n, own if alpha is None else alpha
    if n > total:
        raise InputError(f"n={n} is not among the 1..{total} samples that the table holds; certify again for more")
    check_budget(header.n0 or 1, n, alpha)
    return Stored(n_a, right, total, table.smoothing, n, alpha)


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
