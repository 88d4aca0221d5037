"""Boundaries of many thresholds at once, each of which spends its level by a deadline of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, Ints
from randsmooth.bounds.boundaries import largest_counts
from randsmooth.bounds.limits import check_level, check_probability
from randsmooth.bounds.schedule import check_looks
from randsmooth.errors import InputError
from randsmooth.progress import chosen_progress

POWER = 4.0  # of n / deadline: most of the level is left for the last looks before the deadline


def claims_by_deadline(q0: float, looks: ArrayLike, alpha: float, deadline: int) -> Ints:
    """The smallest successes (K,) that claim p > p0 = 1 - q0 at each look, `alpha` being spent by `deadline` samples.

    P(successes >= claim at any look) <= alpha for every p <= p0, whichever looks are left out, as for `boundary`. Up to
    n samples alpha (n / deadline)^4 may be spent. A test of images that nearly all stop about the deadline so comes
    close to Clopper-Pearson there, and still allows some to be claimed earlier. After it there is left to spend what
    whole numbers of successes could not.

    Args:
        q0: failure probability at the threshold, in (0, 1): the noise's `tail(r)` for a radius r.
        looks: samples so far, increasing (K,).
        alpha: probability of a false claim, in [1e-15, 1).
        deadline: samples by which alpha is spent, up to the last look.

    Returns:
        The successes (K,); looks + 1 where none claims.

    Raises:
        InputError: an argument is out of its range.

    Source: Lan & DeMets 1983 (spending); Armitage, McPherson & Rowe 1969 (the recursion).

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
        raise InputError(f"deadline={deadline} must lie between the first sample and the last look, {looks[-1]}")
    return np.asarray(looks - largest_counts(q0, 1.0 - q0, looks, _spent(looks, alpha, deadline)))


_one_at_a_time = Lock()  # threads would make the same tables


def claims_by_deadlines(q0: Sequence[float], looks: ArrayLike, alpha: float, deadlines: Sequence[int]) -> Ints:
    """`claims_by_deadline` of R thresholds (R, K), behind a bar, and remembered as long as the process runs.

    They are not kept on disk: to check the level of a table that was read takes longer than to make it.

    Args:
        q0: failure probability at each threshold (R,), in (0, 1).
        looks: samples so far, increasing (K,).
        alpha: probability of a false claim about one threshold.
        deadlines: samples by which each test spends alpha (R,).

    Raises:
        InputError: as `claims_by_deadline`.

    Example:
        >>> claims_by_deadlines([0.5, 0.2], [32, 64, 96], alpha=0.05, deadlines=[96, 96]).tolist()
        [[26, 42, 57], [33, 59, 84]]
    """
    times = tuple(check_looks(looks).tolist())
    with _one_at_a_time:
        return _made(tuple(map(float, q0)), times, float(alpha), tuple(map(int, deadlines)))


@lru_cache(maxsize=8)
def _made(q0: tuple[float, ...], looks: tuple[int, ...], alpha: float, deadlines: tuple[int, ...]) -> Ints:
    rows = []
    with chosen_progress(None)("boundaries", len(q0), "radii") as reporter:
        for q, deadline in zip(q0, deadlines, strict=True):
            rows.append(claims_by_deadline(q, looks, alpha, deadline))
            reporter.advance(1)
    table = np.stack(rows)
    table.flags.writeable = False  # it is shared by all who ask for it
    return table


def _spent(looks: Ints, alpha: float, deadline: int) -> Floats:
    return np.asarray(alpha * np.minimum(1.0, looks / deadline) ** POWER)
