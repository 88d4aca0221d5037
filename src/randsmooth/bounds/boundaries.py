"""Exact group-sequential boundaries.

They say when one looks, and how many successes then certify, or are too few to go on.
They are for one class (`boundary`), for whichever class crosses (`any_class_boundary`),
and for a test that spends its level by a deadline (`claims_by_deadline`).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, Ints
from randsmooth.bounds.levels import GRAIN, check_alpha, check_level, check_probability
from randsmooth.errors import BadValue

# The ratio of the sample counts of a look and the one before it.
RATIO_OF_LOOKS = 1.1

# The part of the level that is left unspent, against rounding (which is below 1e-10 at
# a million samples).
UNSPENT_SHARE = 1e-9

# The part of the level at which a binomial's tail is cut away, and counted as crossed.
TAIL_SHARE = 1e-13

# A probability that `crossing_probability` cuts away, and counts as crossed.
NEGLIGIBLE = 1e-30

# The share of alpha that may go to classes other than the most probable one.
SHARE_OF_OTHER_CLASSES = 0.001

# The power of n / deadline: most of the level is left for the last looks before the
# deadline.
DEADLINE_POWER = 4.0

# Up to a look at n of N samples, SPENT_SHARE * alpha (n / N)^SPENT_POWER may be spent,
# and all that is left at N. Any spending is sound; this one comes within a tenth of the
# fewest samples of any test with these errors (results/bench/fewest-samples.json).
SPENT_SHARE = 0.4
SPENT_POWER = 0.7

# The probability of giving up at some look when p is c_K / N, the share that still
# claims at N; it costs certificates, not soundness. What runs long lies near its
# threshold, and most of that is better given up before N: an image with that p, which N
# samples would certify every other time, every fifth time.
GIVE_UP_BETA = 0.2


def looks(cap: int) -> Ints:
    """Return cumulative sample counts n_1 < n_2 < ... < n_K = cap of the looks.

    They grow by a tenth and are whole batches of 32.

    Args:
        cap: the most samples that may be drawn; the last look, and the only one that
            may be no whole batch.

    Returns:
        The counts (K,).

    Raises:
        Problem: the cap is no whole number >= 1.

    Example:
        >>> looks(200).tolist()
        [32, 64, 96, 128, 160, 192, 200]
    """
    if isinstance(cap, bool) or not isinstance(cap, int | np.integer) or cap < 1:
        raise BadValue(
            field="cap",
            value=cap,
            expected="must be a whole number of samples, at least 1",
        )
    ratios_to_cap = math.log(cap / GRAIN) / math.log(RATIO_OF_LOOKS)
    powers = np.arange(max(0, math.floor(ratios_to_cap)) + 1)
    # Less a little, so that rounding puts no power above its batch.
    batches = np.ceil(RATIO_OF_LOOKS**powers - 1e-9).astype(np.int64)
    counts = np.unique(batches) * GRAIN
    return np.append(counts[counts < cap], np.int64(cap))


def check_looks(looks: ArrayLike) -> Ints:
    """Return `looks` as integers (K,).

    Raises:
        Problem: they are not whole numbers >= 1 that increase, at least one.
    """
    values = np.asarray(looks)
    whole = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iu"
    if not whole or values[0] < 1 or np.any(values[1:] <= values[:-1]):
        raise BadValue(
            field="looks",
            value=looks,
            expected="must be whole numbers >= 1 that increase, such as 32, 64, 96",
        )
    return values.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Boundary:
    """The decisions about p > p0 = 1 - q0 at each look.

    All counts are of successes so far.

    Attributes:
        q0: the failure probability that is to be beaten.
        alpha: probability of a claim, at any look, when p <= p0: at most this.
        looks: samples so far (K,).
        claim: smallest successes that claim p > p0 (K,); looks + 1 where none does.
        give_up: largest successes at which one gives up (K,); -1 where none. It lies
            below `claim`.

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


def boundary(q0: float, looks: ArrayLike, alpha: float) -> Boundary:
    """Return the exact boundary for p > p0 = 1 - q0 that spends `alpha` over `looks`.

    P(successes >= claim at any look) <= alpha for every p <= p0, whether one obeys
    `give_up` or not, and whether one leaves out looks or not. It does not hold at
    sample counts that are not among the looks.

    Args:
        q0: failure probability at the threshold, in (0, 1): the noise's `tail(r)` for a
            radius r.
        looks: samples so far, increasing (K,).
        alpha: probability of a false claim, in [1e-15, 1).

    Raises:
        Problem: an argument is out of its range.

    Source: Lan & DeMets 1983 (spending); Armitage, McPherson & Rowe 1969 (the
    recursion).

    Example:
        >>> # The successes that show p > 1/2.
        >>> boundary(0.5, [32, 64, 96], alpha=0.05).claim.tolist()
        [24, 42, 57]
    """
    check_probability("q0", q0)
    check_level(alpha)
    looks = check_looks(looks)
    alpha_spent = _spent(looks, alpha, SPENT_SHARE, SPENT_POWER)
    failures = largest_counts(q0, 1.0 - q0, looks, alpha_spent)
    claim = looks - failures

    beta_spent = _spent(looks, GIVE_UP_BETA, 1.0, 1.0)
    give_up = _given_up(int(failures[-1]), looks, beta_spent)
    return Boundary(q0, alpha, looks, claim, np.minimum(give_up, claim - 1))


def _spent(looks: Ints, level: float, share: float, power: float) -> Floats:
    """Return (K,) how much of `level` may be spent up to each look."""
    spent = share * level * (looks / looks[-1]) ** power
    spent[-1] = level
    return np.asarray(spent)


def any_class_boundary(q0: float, looks: ArrayLike, alpha: float) -> Boundary:
    """Return the boundary that any of K classes may cross.

    A false claim, of any class at any look, has probability <= alpha. The boundary of
    `boundary` holds for one class that was picked without these samples. It holds for
    all classes at once if a little of alpha is kept back. Let f(p) be the probability
    that a class of probability p crosses at some look, and p0 = 1 - q0 > 1/2. Then,
    however many classes there are, some class with p <= p0 crosses with probability
    f(p0) + f(q0) at most, which two classes with probabilities p0 and q0 reach but for
    sequences in which both cross. The second term is what the choice costs. It may take
    a thousandth of alpha (`SHARE_OF_OTHER_CLASSES`); where it would take more, as near
    radius 0, where it takes half, other samples should pick the class.

    Proof. Whether a sequence of successes and failures crosses does not depend on p, so
    that f(p) is a sum, over the points (n, S) of a first crossing, of h(p) = p^S (1 -
    p)^(n - S), each with a weight that does not depend on p. There S >= c, the claim of
    its look. Two conditions on every claim are checked:

    1. c > n / 2. Then h(p) / p grows up to p = 1/2, since S - 1 >= (n - 1) / 2. So of
       classes that share a probability of t <= 1/2 some one crosses with probability at
       most the sum of f(p) <= (p / t) f(t), which is f(t). If no class exceeds 1/2, all
       of them together cross with probability 2 f(1/2) at most.
    2. c > n p0, and (c - n q0) / (c - n p0) <= (p0 / q0)^(2c - n). Then h(p) + h(1 - p)
       grows from p = 1/2 to p0: with p = 1/2 + x and S = n (1/2 + d), where d > x, its
       derivative is not negative where artanh(x / d) <= 2 n d artanh(2 x). The quotient
       artanh(x / d) / artanh(2 x) grows with x, as 2 d <= 1 (the coefficients of the two
       series have growing quotients), and falls as d grows, so that the condition at p0
       and c covers all smaller p and larger S.

    Hence f(p) + f(1 - p) grows from 2 f(1/2) to f(p0) + f(q0). If one class has 1/2 < p
    <= p0, it and the others cross with probability f(p) + f(1 - p) at most; if it has p
    > p0, only the others would be false, with f(q0) at most.

    Args:
        q0: failure probability at the threshold, in (0, 1/2): the noise's `tail(r)` for
            a radius r.
        looks, alpha: as for `boundary`. The most frequent class is judged by `claim`
            and `give_up`.

    Raises:
        Problem: an argument is out of its range, or the other classes would take more
            than a thousandth of alpha.

    Example:
        >>> table = any_class_boundary(0.3, [32, 64, 96], alpha=0.05)
        >>> table.claim.tolist()  # of the most frequent class
        [29, 54, 76]
    """
    table = boundary(q0, looks, (1.0 - SHARE_OF_OTHER_CLASSES) * alpha)
    # f(q0): where one class has p0, another may have q0.
    price = crossing_probability(table.claim, table.looks, 1.0 - q0)
    affordable = price <= SHARE_OF_OTHER_CLASSES * alpha
    if not (q0 < 0.5 and affordable and _grows(table.claim, table.looks, q0)):
        raise BadValue(
            f"at q0={q0:.4g}, so near 1/2, other classes would take more than a "
            f"thousandth of alpha={alpha:g}: let n0 other samples pick the class, or ask "
            "for a larger radius"
        )
    return table


def _grows(claim: Ints, looks: Ints, q0: float) -> bool:
    """Return whether both conditions of the proof hold at every look that can claim."""
    can_claim = claim <= looks
    c = claim[can_claim].astype(np.float64)
    n = looks[can_claim].astype(np.float64)
    p0 = 1.0 - q0
    if np.any(2.0 * c <= n) or np.any(c <= n * p0):
        return False
    # (c - n q0) / (c - n p0) <= (p0 / q0)^(2c - n), as logarithms
    log_quotient = np.log(c - n * q0) - np.log(c - n * p0)
    log_power = (2.0 * c - n) * np.log1p((p0 - q0) / q0)
    return bool(np.all(log_quotient <= log_power))


def smallest_cap(q0: float, alpha: float) -> int:
    """Return the smallest cap N at which N of N successes claim p > p0 = 1 - q0.

    That is p0^N <= alpha. No look before it can claim, so its boundary still has all of
    alpha at the cap.

    Example:
        >>> smallest_cap(0.5, alpha=0.05)  # 2^-5 < 0.05 < 2^-4
        5
    """
    check_probability("q0", q0)
    check_alpha(alpha)
    log_level = math.log(alpha * (1.0 - UNSPENT_SHARE))
    return max(1, math.ceil(log_level / math.log1p(-q0)))


def claims_by_deadline(
    q0: float,
    looks: ArrayLike,
    alpha: float,
    deadline: int,
    *,
    power: float = DEADLINE_POWER,
) -> Ints:
    """Return the smallest successes (K,) that claim p > p0 = 1 - q0 at each look.

    `alpha` is spent by `deadline` samples. P(successes >= claim at any look) <= alpha
    for every p <= p0, whichever looks are left out, as for `boundary`. Up to n samples
    alpha (n / deadline)^power may be spent. With a power of 4, a test of images that
    nearly all stop about the deadline comes close to Clopper-Pearson there, and still
    allows some to be claimed earlier. With a smaller one more of them are claimed early.
    After the deadline there is left to spend what whole numbers of successes could not.

    Args:
        q0: failure probability at the threshold, in (0, 1): the noise's `tail(r)` for a
            radius r.
        looks: samples so far, increasing (K,).
        alpha: probability of a false claim, in [1e-15, 1).
        deadline: samples by which alpha is spent, up to the last look.
        power: above 0; the smaller, the earlier alpha is spent.

    Returns:
        The successes (K,); looks + 1 where none claims.

    Raises:
        Problem: an argument is out of its range.

    Source: Lan & DeMets 1983 (spending); Armitage, McPherson & Rowe 1969 (the
    recursion).

    Example:
        >>> claims_by_deadline(0.5, [32, 64, 96], alpha=0.05, deadline=64).tolist()
        [25, 40, 58]
        >>> claims_by_deadline(0.5, [32, 64, 96], alpha=0.05, deadline=96).tolist()
        [26, 42, 57]
    """
    check_probability("q0", q0)
    check_level(alpha)
    looks = check_looks(looks)
    if not 1 <= deadline <= looks[-1]:
        raise BadValue(
            field="deadline",
            value=deadline,
            expected=(
                f"must lie between the first sample and the last look, {looks[-1]}"
            ),
        )
    spent = alpha * np.minimum(1.0, looks / deadline) ** power
    return np.asarray(looks - largest_counts(q0, 1.0 - q0, looks, spent))


def crossing_probability(claim: ArrayLike, looks: ArrayLike, q: float) -> float:
    """Return P(successes >= claim at some look) at failure probability `q`.

    It is computed independently of `boundary`, to check it. Successes are followed by
    plain convolution with SciPy's probabilities. Those below 1e-30 are cut off and
    added to the answer, which is thus an upper bound, to within float64 rounding (a
    relative 1e-10).

    Args:
        claim: smallest successes that count as crossing (K,).
        looks: samples so far, increasing (K,).
        q: failure probability, in (0, 1).

    Raises:
        Problem: looks that do not increase, more or fewer claims than looks, or q
            outside (0, 1).

    Example:
        >>> round(crossing_probability([5], [5], q=0.5), 5)  # five heads in five tosses
        0.03125
    """
    # SciPy's distributions take long to load.
    from scipy import stats

    looks = check_looks(looks)
    claim = np.asarray(claim)
    check_probability("q", q)
    if claim.shape != looks.shape:
        raise BadValue(
            f"a boundary needs one claim a look; got {claim.size} claims for "
            f"{looks.size} looks"
        )

    # The density of the successes of paths that have not crossed, from `start` on.
    alive = np.ones(1)
    start = 0
    crossed = 0.0
    samples = np.diff(looks, prepend=0)
    for c, m in zip(claim.tolist(), samples.tolist(), strict=True):
        fewest_failures, most_failures = _window(m, q, 1.0 - q, NEGLIGIBLE)
        failures = np.arange(most_failures, fewest_failures - 1, -1)
        alive = np.convolve(alive, stats.binom.pmf(failures, m, q))
        start += m - most_failures

        kept = np.flatnonzero(alive[: max(0, c - start)] > NEGLIGIBLE)
        low = int(kept[0]) if kept.size else 0
        high = int(kept[-1]) + 1 if kept.size else 0
        crossed += float(alive[:low].sum() + alive[high:].sum()) + 2.0 * NEGLIGIBLE
        alive = alive[low:high]
        start += low
        if not kept.size:
            break
    return min(1.0, crossed)


def largest_counts(p: float, q: float, looks: Ints, spent: Floats) -> Ints:
    """Return (K,) the largest count that crosses at each look; -1 where none does.

    The recursion: the count's density over the paths that have not crossed yet is
    convolved with the next samples' binomial; as much of its lower end crosses as
    `spent` allows in all. A count that had crossed before crosses again, as no path
    reaches it anew: hence looks may be left out.

    Args:
        p: probability of the event that is counted.
        q: 1 - p, with all its digits.
        looks: (K,) samples so far.
        spent: (K,) how much of the level may be spent up to each look.
    """
    cut = TAIL_SHARE * float(spent[-1])
    budget = (1.0 - UNSPENT_SHARE) * spent
    counts = np.full(looks.shape, -1)

    # The density of the counts of paths that have not crossed, from `start` on.
    alive = np.ones(1)
    start = 0
    crossed = 0.0
    largest = -1
    samples = np.diff(looks, prepend=0)
    for k, (n, m) in enumerate(zip(looks.tolist(), samples.tolist(), strict=True)):
        density_of_samples, fewest = _binomial(m, p, q, cut)
        alive = np.convolve(alive, density_of_samples)
        start += fewest

        low, high = _window(n, p, q, cut)
        alive = alive[max(0, low - start) : high + 1 - start]
        start = max(low, start)
        # Two tails of the samples were cut away, and two of the sum.
        crossed += 4.0 * cut

        if crossed <= budget[k]:
            crossed_up_to = np.cumsum(alive) + crossed
            crossing = int(np.searchsorted(crossed_up_to, budget[k], side="right"))
            largest = max(largest, start + crossing - 1)
            if crossing > 0:
                crossed = float(crossed_up_to[crossing - 1])
            alive = alive[crossing:]
            start += crossing
        counts[k] = largest
    return counts


def _given_up(failures: int, looks: Ints, spent: Floats) -> Ints:
    """Return (K,) the largest successes at which one gives up.

    Args:
        failures: the most that still claim at the cap; below 0, nothing can claim.
        looks: (K,) samples so far.
        spent: (K,) how much of beta may be spent up to each look.
    """
    if failures < 0:
        return looks
    if failures == 0:
        one_failure = looks - 1
        return one_failure
    n = int(looks[-1])
    return largest_counts((n - failures) / n, failures / n, looks, spent)


def _window(n: int, p: float, q: float, cut: float) -> tuple[int, int]:
    """Return the lowest and highest count that matter of Binomial(n, p).

    Outside of them it has at most `cut` on each side, by Bernstein's inequality.
    """
    third = -math.log(cut) / 3.0
    reach = third + math.sqrt(third * third + 6.0 * third * n * p * q)
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))


def _binomial(m: int, p: float, q: float, cut: float) -> tuple[Floats, int]:
    """Return probabilities of Binomial(m, p) within its window, and the lowest count.

    They come from the ratios of neighbours, as the logarithms of factorials would lose
    digits. They add to 1, so that each is a little too large, if anything.
    """
    low, high = _window(m, p, q, cut)
    mode = min(high, max(low, math.floor((m + 1) * p)))
    k = np.arange(low, high, dtype=np.float64)
    # P(k + 1) / P(k)
    ratio = (m - k) / (k + 1.0) * (p / q)
    # Relative to the probability of the mode, which is 1 here.
    below_mode = np.cumprod(1.0 / ratio[: mode - low][::-1])[::-1]
    above_mode = np.cumprod(ratio[mode - low :])
    weights = np.concatenate([below_mode, [1.0], above_mode])
    return weights / weights.sum(), low
