"""How a radius grows with the number of samples, if the share of the certified class stays what it was."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds

BUDGETS = (100, 1_000, 10_000, 100_000, 1_000_000)
MOST = 10**9  # samples beyond which nobody would go on


def radius_by_samples(k: int, n: int, budgets: Sequence[int], *, alpha: float, sigma: float) -> NDArray[np.float64]:
    """The L2 radius of a share k/n at each of `budgets` (B,), with the Clopper-Pearson bound at level `alpha`.

    Of b samples floor(b k / n) are taken to agree. This is what b samples would prove if the share were the same, not
    what they will: the share of others varies by chance.

    Example:
        >>> radius_by_samples(990, 1000, [100, 1000, 10**6], alpha=0.001, sigma=0.5).round(3).tolist()
        [0.675, 0.989, 1.157]
    """
    b = np.asarray(budgets, np.int64)
    agreeing = np.array([k * each // n for each in b.tolist()], np.int64)  # Python's integers, which do not overflow
    return np.asarray(bounds.radius_of_tail(bounds.lower_tail(agreeing, b, alpha), sigma))


def limit(k: int, n: int, sigma: float) -> float:
    """What the radius of a share k/n tends to as the samples go on: sigma * Phi^-1(k / n), infinite if all agree.

    Example:
        >>> round(limit(990, 1000, sigma=0.5), 3), limit(10, 10, sigma=0.5)
        (1.163, inf)
    """
    return float(bounds.radius_of_tail((n - k) / n, sigma))


def enough_samples(k: int, n: int, alpha: float) -> int | None:
    """About how many samples would certify a class that has the share k/n: up to 15% too many, to two digits.

    None where the share is not above one half, so that no number would, or where more than 10^9 were needed.

    Example:
        >>> enough_samples(520, 1000, alpha=0.001), enough_samples(500, 1000, alpha=0.001)
        (6200, None)
    """
    if 2 * k <= n:
        return None
    b = 10
    while b <= MOST:
        if float(bounds.lower_tail(k * b // n, b, alpha)) < 0.5:
            step = 10 ** max(0, len(str(b)) - 2)
            return int(math.ceil(b / step) * step)
        b += max(1, b // 20)
    return None
