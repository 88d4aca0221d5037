"""The metrics that a table would have at a smaller n or another alpha, in expectation and without resampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates, check_budget
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import check_radius
from randsmooth.metrics.estimate import Estimate, mean, require_images
from randsmooth.noise import Gaussian
from randsmooth.rules import CONFIDENCE_BOUNDS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Support(NamedTuple):
    """A hypergeometric distribution: `mass` (S,) holds the probabilities of `lowest`, `lowest` + 1 and so on."""

    lowest: int
    mass: Floats


class Stored(NamedTuple):
    """The evidence of the R right images: `n_a` (R,) of `n` samples each; `right` (N,) says which rows they are."""

    n_a: Ints
    right: NDArray[np.bool_]
    sigma: float
    n: int
    alpha: float


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
    expected = expected_radius(table, n, alpha)
    sigma, stored_n, stored_alpha = _facts(as_certificates(table))
    most = Gaussian(sigma).largest_radius(n or stored_n, alpha or stored_alpha)
    return mean(np.minimum(expected, most), (0.0, most))


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
    """(N,) expected radius * correct of each image, in units of pixels in [0, 1].

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
        InputError: no image, n above the stored n or too small for alpha, alpha outside (0, 1), sigma, n or alpha
            unknown, or a table that does not hold n samples of every image judged by Clopper-Pearson.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> expected_radius(table, n=100).round(2).tolist()
        [0.0, 0.15, 0.57, 0.74]
    """
    table = as_certificates(table)
    stored, n, alpha = _stored(table, n, alpha)
    return _over_images(stored, n, lambda k: Gaussian(stored.sigma).radius(bounds.q_upper(k, n, alpha)))


def chance_certified(table: CertificatesLike, r: float, n: int | None = None, alpha: float | None = None) -> Floats:
    """(N,) probability that each image is right and certified at `r`; arguments and errors as `expected_radius`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> chance_certified(table, 0.5, n=100).round(3).tolist()
        [0.0, 0.0, 0.897, 1.0]
    """
    table = as_certificates(table)
    check_radius(r)
    stored, n, alpha = _stored(table, n, alpha)

    def held(k: Ints) -> Floats:
        q = bounds.q_upper(k, n, alpha)
        far = Gaussian(stored.sigma).radius(q) >= r
        return np.asarray((q < 0.5) & far, np.float64)  # at 0 an abstention holds nothing either

    return _over_images(stored, n, held)


def _over_images(stored: Stored, n: int, worth: Callable[[Ints], Floats]) -> Floats:
    """(N,) expectation of worth(k) over k, for right images; 0 for the others. Equal counts are done once.

    `worth` is computed only for counts that have a chance to occur: of many millions of samples those are few.
    """
    counts, place = np.unique(stored.n_a, return_inverse=True)
    k = _reached([_window(int(n_a), stored.n, n) for n_a in counts])
    of_k = worth(k)
    expected = np.array([_expectation(int(n_a), stored.n, n, k, of_k) for n_a in counts], np.float64)
    result = np.zeros(len(stored.right))
    result[stored.right] = expected[place]
    return result


def _reached(windows: Sequence[tuple[int, int]]) -> Ints:
    """All counts within any of the `windows` (lowest, highest), ascending and each once."""
    parts, end = [np.zeros(0, np.int64)], -1
    for lowest, highest in sorted(windows):
        parts.append(np.arange(max(lowest, end + 1), highest + 1))
        end = max(end, highest)
    return np.concatenate(parts)


def _expectation(n_a: int, stored_n: int, n: int, k: Ints, worth: Floats) -> float:
    lowest, highest = _window(n_a, stored_n, n)
    first = int(np.searchsorted(k, lowest))
    there = worth[first : first + highest - lowest + 1]
    if there[-1] <= 0.0:  # as worth grows with k, no count that can occur is worth anything
        return 0.0
    return float(hypergeometric(n_a, stored_n, n).mass @ there)


def hypergeometric(successes: int, total: int, n: int) -> Support:
    """Distribution of the number of successes among `n` samples drawn from `total`, `successes` of which are successes.

    Cut off nine deviations and 20 counts from the mode, outside which lies less than 1e-15. Built from the ratio of
    neighbours, P(k + 1) / P(k) = (K - k) (n - k) / ((k + 1) (N - K - n + k + 1)), outward from the mode: factorials of
    100,000 would lose six digits.

    Args:
        successes, n: 0..total.
        total: at least 1.
    """
    lowest, highest = _window(successes, total, n)
    mode = _mode(successes, total, n)
    k = np.arange(lowest, highest, dtype=np.float64)
    ratio = (successes - k) * (n - k) / ((k + 1.0) * (total - successes - n + k + 1.0))
    up = np.cumprod(ratio[mode - lowest :])
    down = np.cumprod(1.0 / ratio[: mode - lowest][::-1])[::-1]
    mass = np.concatenate((down, [1.0], up))
    return Support(lowest, mass / mass.sum())


def _mode(successes: int, total: int, n: int) -> int:
    return (n + 1) * (successes + 1) // (total + 2)


def _window(successes: int, total: int, n: int) -> tuple[int, int]:
    """The lowest and the highest count of `hypergeometric`."""
    p, mode = successes / total, _mode(successes, total, n)
    deviation = math.sqrt(n * p * (1.0 - p) * (total - n) / max(total - 1, 1))
    reach = math.ceil(9.0 * deviation) + 20
    return max(0, n + successes - total, mode - reach), min(successes, n, mode + reach)


def _stored(table: Certificates, n: int | None, alpha: float | None) -> tuple[Stored, int, float]:
    """The evidence, and the n and alpha that were asked for or are stored."""
    require_images(len(table))
    _require_fixed(table)
    stored = _of_log(table) if table.is_log else _of_counts(table)
    n, alpha = stored.n if n is None else n, stored.alpha if alpha is None else alpha
    if n > stored.n:
        raise InputError(f"n={n} is not among the 1..{stored.n} samples that the table holds; certify again for more")
    check_budget(table.header.n0 or 1, n, alpha)
    return stored, n, alpha


def _require_fixed(table: Certificates) -> None:
    header, name = table.header, table.name or "this table"
    if header.rule != "fixed":
        raise InputError(
            f"{name} was certified by --rule {header.rule}, whose looks are made for its n and alpha; to judge at "
            "others, certify with --rule fixed"
        )
    if header.gives_up_others:
        raise InputError(
            f"{name} is label-aware: an image whose picked class is not its label took no samples, so it cannot be "
            "judged at another budget; certify without --label-aware"
        )
    if header.bound in CONFIDENCE_BOUNDS[1:]:
        raise InputError(
            f"{name} was judged by the {header.bound} bound; only the clopper-pearson bound can be judged at another "
            "budget: certify with it"
        )


def _facts(table: Certificates) -> tuple[float, int, float]:
    sigma, n, alpha = table.header.sigma, table.header.n, table.header.alpha
    if sigma is None or n is None or alpha is None:
        raise InputError(
            f"{table.name or 'this table'}: another budget needs the sigma, n and alpha that the table was made with"
        )
    return sigma, n, alpha


def _of_counts(table: Certificates) -> Stored:
    """Of a table with counts, images are right if the picked class is the label, whether or not they were certified."""
    counts0, counts = table.evidence()
    sigma, n, alpha = _facts(table)
    right = counts0.argmax(axis=1) == table.label
    return Stored(counts[right, table.label[right]], right, sigma, n, alpha)


def _of_log(table: Certificates) -> Stored:
    sigma, n, alpha = _facts(table)
    right = table.correct
    n_a = bounds.successes_of_q(Gaussian(sigma).tail(table.radius[right]), n, alpha)
    return Stored(n_a, right, sigma, n, alpha)
