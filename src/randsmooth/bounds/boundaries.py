"""Exact group-sequential boundaries: how many successes certify, or are too few to go on, at each look."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, Ints
from randsmooth.bounds.limits import check_alpha, check_level, check_probability
from randsmooth.bounds.schedule import LATE, Spending, check_looks
from randsmooth.errors import InputError

SAFETY = 1e-9  # part of the level left unspent, against rounding (below 1e-10 at a million samples)
CUT = 1e-13  # part of the level at which a binomial's tail is cut away, and counted as crossed
NEGLIGIBLE = 1e-30


@dataclass(frozen=True, eq=False)
class Boundary:
    """The decisions about p > p0 = 1 - q0 at each look: all counts are of successes so far.

    Attributes:
        q0: the failure probability that is to be beaten.
        alpha: probability of a claim, at any look, when p <= p0: at most this.
        looks: samples so far (K,).
        claim: smallest successes that claim p > p0 (K,); looks + 1 where none does.
        give_up: largest successes at which one gives up (K,); -1 where none. It lies below `claim`.

    Example:
        >>> table = boundary(0.5, [32, 64, 96], alpha=0.05)
        >>> table.claim.tolist()
        [24, 42, 57]
        >>> table.give_up.tolist()
        [14, 32, 51]
    """

    q0: float
    alpha: float
    looks: Ints
    claim: Ints
    give_up: Ints


def boundary(q0: float, looks: ArrayLike, alpha: float, spending: Spending = LATE) -> Boundary:
    """The exact boundary for p > p0 = 1 - q0 that spends `alpha` over `looks`.

    P(successes >= claim at any look) <= alpha for every p <= p0, whether one obeys `give_up` or not, and whether
    one leaves out looks or not. It does not hold at sample counts that are not among the looks.

    Args:
        q0: failure probability at the threshold, in (0, 1): the noise's `tail(r)` for a radius r.
        looks: samples so far, increasing (K,).
        alpha: probability of a false claim, in [1e-15, 1).
        spending: of alpha over the looks, and of beta, the probability of giving up too soon.

    Raises:
        InputError: an argument is out of its range.

    Source: Lan & DeMets 1983 (spending); Armitage, McPherson & Rowe 1969 (the recursion).

    Example:
        >>> boundary(0.5, [32, 64, 96], alpha=0.05).claim.tolist()  # successes that show p > 1/2
        [24, 42, 57]
    """
    looks = check_question(q0, looks, alpha, spending)
    failures = largest_counts(q0, 1.0 - q0, looks, spending.of_alpha(looks, alpha))
    claim = looks - failures
    give_up = np.minimum(_given_up(int(failures[-1]), looks, spending.of_beta(looks, spending.beta)), claim - 1)
    for counts in (looks, claim, give_up):
        counts.flags.writeable = False  # one table is shared by all who ask for it
    return Boundary(float(q0), float(alpha), looks, claim, give_up)


def smallest_cap(q0: float, alpha: float) -> int:
    """The smallest cap N at which N of N successes claim p > p0 = 1 - q0, that is p0^N <= alpha.

    No look before it can claim, so its boundary still has all of alpha at the cap.

    Example:
        >>> smallest_cap(0.5, alpha=0.05)  # 2^-5 < 0.05 < 2^-4
        5
    """
    check_probability("q0", q0)
    check_alpha(alpha)
    return max(1, math.ceil(math.log(alpha * (1.0 - SAFETY)) / math.log1p(-q0)))


def check_question(q0: float, looks: ArrayLike, alpha: float, spending: Spending) -> Ints:
    """The looks as integers (K,); InputError unless `boundary` can answer for these arguments."""
    check_probability("q0", q0)
    check_level(alpha)
    check_probability("beta", spending.beta)
    return check_looks(looks)


def crossing_probability(claim: ArrayLike, looks: ArrayLike, q: float) -> float:
    """P(successes >= claim at some look) at failure probability `q`, computed independently of `boundary` to check it.

    Successes are followed by plain convolution with SciPy's probabilities. Tails below 1e-30 are cut off and added
    to the answer, which is thus an upper bound, to within float64 rounding (a relative 1e-10).

    Args:
        claim: smallest successes that count as crossing (K,).
        looks: samples so far, increasing (K,).
        q: failure probability, in (0, 1).

    Raises:
        InputError: looks that do not increase, more or fewer claims than looks, or q outside (0, 1).

    Example:
        >>> round(crossing_probability([5], [5], q=0.5), 5)  # five heads in five tosses
        0.03125
    """
    looks, claim = check_looks(looks), np.asarray(claim)
    check_probability("q", q)
    if claim.shape != looks.shape:
        raise InputError(f"a boundary needs one claim a look; got {claim.size} claims for {looks.size} looks")
    alive, start, crossed = np.ones(1), 0, 0.0  # density of the successes of paths that have not crossed
    steps = _successes(np.diff(looks, prepend=0).tolist(), q)
    for c, (step, fewest, cut) in zip(claim.tolist(), steps, strict=True):
        alive, start, crossed = np.convolve(alive, step), start + fewest, crossed + cut
        below = min(max(0, c - start), alive.size)
        crossed += float(alive[below:].sum())
        alive, fewest, cut = _trimmed(alive[:below])
        start, crossed = start + fewest, crossed + cut
        if alive.size == 0:
            break
    return min(1.0, crossed)


def _successes(drawn: list[int], q: float) -> Iterator[tuple[Floats, int, float]]:
    """For each number of samples `drawn`: the probabilities of its successes, the first's count, the mass cut off.

    All by SciPy, in one call, since a call costs more than a thousand probabilities.
    """
    from scipy import stats  # here, since it takes long to load

    windows = [_window(m, q, 1.0 - q, NEGLIGIBLE) for m in drawn]  # of the failures
    failures = [np.arange(most, least - 1, -1) for least, most in windows]
    sizes = [counts.size for counts in failures]
    masses = stats.binom.pmf(np.concatenate(failures), np.repeat(drawn, sizes), q)
    for m, (least, most), mass in zip(drawn, windows, np.split(masses, np.cumsum(sizes)[:-1]), strict=True):
        kept, fewest, cut = _trimmed(mass)
        outside = 0.0 if (least, most) == (0, m) else 2.0 * NEGLIGIBLE
        yield kept, m - most + fewest, cut + outside


def largest_counts(p: float, q: float, looks: Ints, spent: Floats) -> Ints:
    """Largest count, at each look, of an event of probability `p` = 1 - `q` that crosses (K,); -1 where none.

    The recursion: the count's density over the paths that have not crossed yet, convolved with the next samples'
    binomial; as much of its lower end crosses as `spent` (K,) allows in all. A count that had crossed before
    crosses again, as no path reaches it anew: hence looks may be left out.
    """
    cut = CUT * float(spent[-1])
    budget = (1.0 - SAFETY) * spent
    counts = np.full(looks.shape, -1)
    alive, start, crossed, largest = np.ones(1), 0, 0.0, -1
    for k, (n, m) in enumerate(zip(looks.tolist(), np.diff(looks, prepend=0).tolist(), strict=True)):
        step, fewest = _binomial(m, p, q, cut)
        alive, start = _within(np.convolve(alive, step), start + fewest, _window(n, p, q, cut))
        crossed += 4.0 * cut  # two tails of the samples, two of the sum
        mass = np.cumsum(alive) + crossed
        if crossed <= budget[k]:
            crossing = int(np.searchsorted(mass, budget[k], side="right"))
            largest = max(largest, start + crossing - 1)
            crossed = float(mass[crossing - 1]) if crossing else crossed
            alive, start = alive[crossing:], start + crossing
        counts[k] = largest
    return counts


def _given_up(failures: int, looks: Ints, spent: Floats) -> Ints:
    """Largest successes at which one gives up (K,), where `failures` is the most that still claims at the cap."""
    if failures < 0:
        return looks  # nothing can claim
    if failures == 0:
        return looks - 1  # one failure is too many
    n = int(looks[-1])
    return largest_counts((n - failures) / n, failures / n, looks, spent)


def _window(n: int, p: float, q: float, cut: float) -> tuple[int, int]:
    """The lowest and highest count outside of which Binomial(n, p) has at most `cut` on each side (Bernstein)."""
    third = -math.log(cut) / 3.0
    reach = third + math.sqrt(third * third + 6.0 * third * n * p * q)
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))


def _binomial(m: int, p: float, q: float, cut: float) -> tuple[Floats, int]:
    """Probabilities of Binomial(m, p) within its window, from the ratios of neighbours, and the lowest count.

    They add to 1, so that each is a little too large, if anything. The logarithms of factorials would lose digits.
    """
    low, high = _window(m, p, q, cut)
    mode = min(high, max(low, math.floor((m + 1) * p)))
    k = np.arange(low, high, dtype=np.float64)
    ratio = (m - k) / (k + 1.0) * (p / q)  # of the probability of k + 1 to that of k
    down = np.cumprod(1.0 / ratio[: mode - low][::-1])[::-1]
    up = np.cumprod(ratio[mode - low :])
    weights = np.concatenate([down, [1.0], up])
    return weights / weights.sum(), low


def _within(mass: Floats, start: int, window: tuple[int, int]) -> tuple[Floats, int]:
    """The part of `mass`, whose first entry is count `start`, that lies in `window`, and its first count."""
    low, high = max(window[0], start), window[1]
    return mass[low - start : high + 1 - start], low


def _trimmed(mass: Floats) -> tuple[Floats, int, float]:
    """`mass` without its negligible ends, how many entries went at the front, and the mass cut off."""
    low = int(np.searchsorted(np.cumsum(mass), NEGLIGIBLE, side="right"))
    high = mass.size - int(np.searchsorted(np.cumsum(mass[low:][::-1]), NEGLIGIBLE, side="right"))
    return mass[low:high], low, float(mass[:low].sum() + mass[high:].sum())
