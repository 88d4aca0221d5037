"""Why an image has no certified answer, and what may certify one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from randsmooth.app.image_certificate import (
    BUDGETS,
    Explanation,
    radius_by_samples,
)
from randsmooth.certificates import ABSTAIN, from_counts
from randsmooth.noise import Noise

# The bounds that may certify a class without a majority.
BoundOfRivals = Literal["pairwise", "two-sided"]
BOUNDS_OF_RIVALS: tuple[BoundOfRivals, ...] = ("pairwise", "two-sided")

# Why the class is not certified: samples are too few; its share is too little above one
# half for any number of `BUDGETS`; another class has a majority; no class has one.
Reason = Literal["too few samples", "near one half", "another class", "no majority"]


@dataclass(frozen=True)
class ByBound:
    """The radii that another confidence bound gives for the same counts.

    Attributes:
        bound: the name of the bound.
        radius: the radius of the picked class; 0 where this bound does not certify it
            either.
        growth: the radius at each of `BUDGETS` if the shares stay as they are.
        limit: the limit of the radius with ever more samples.

    Example:
        >>> ByBound("pairwise", 0.08, (0.0, 0.11, 0.15, 0.16, 0.17), 0.17).enough
        1000
    """

    bound: BoundOfRivals
    radius: float
    growth: tuple[float, ...]
    limit: float

    @property
    def enough(self) -> int | None:
        """Return the first of `BUDGETS` that certifies the class; None: none does."""
        return first_certifying(self.growth)


@dataclass(frozen=True)
class Abstention:
    """Why no answer is certified.

    Attributes:
        reason: the reason that the counts show.
        enough: the smallest of `BUDGETS` at which the bound of the run certifies the
            class if its share stays as it is; None where none does.
        by_bounds: the radii by other bounds, the largest first.

    Example:
        >>> Abstention("near one half", None, ()).best is None
        True
    """

    reason: Reason
    enough: int | None
    by_bounds: tuple[ByBound, ...]

    @property
    def certifying(self) -> tuple[ByBound, ...]:
        """Return the bounds that certify the class from these counts."""
        return tuple(by_bound for by_bound in self.by_bounds if by_bound.radius > 0.0)

    @property
    def best(self) -> ByBound | None:
        """Return the bound that certifies the most, now or with more samples.

        It is None where no bound certifies the class with any of `BUDGETS`.
        """
        able = [by_bound for by_bound in self.by_bounds if by_bound.enough is not None]
        return max(
            able,
            key=lambda by_bound: (by_bound.radius, *by_bound.growth),
            default=None,
        )


def why_abstained(explained: Explanation) -> Abstention | None:
    """Return why the image has no certified answer; None where it has one.

    Example:
        >>> import randsmooth as rs
        >>> import torch
        >>> explained = rs.explain("demo", torch.rand(1, 8, 8), n=200, attack=False)
        >>> (why_abstained(explained) is None) == (explained.predict >= 0)
        True
    """
    look = explained.look
    if look.predict != ABSTAIN:
        return None
    noise = explained.noise
    alpha = explained.settings.alpha
    votes = int(look.counts[look.picked])
    radii = radius_by_samples(votes, look.samples, BUDGETS, alpha=alpha, noise=noise)
    enough = first_certifying(radii.tolist())
    by_bounds = [
        _by_bound(bound, look.counts, look.picked, alpha, noise)
        for bound in BOUNDS_OF_RIVALS
    ]
    by_bounds.sort(key=lambda by_bound: -by_bound.radius)
    return Abstention(_reason(look.counts, votes, enough), enough, tuple(by_bounds))


def _reason(counts: NDArray[np.int64], votes: int, enough: int | None) -> Reason:
    """Return the reason why a class is not certified.

    Args:
        counts: the counts (K,) of all classes.
        votes: the count of the class.
        enough: as in `Abstention`.
    """
    if enough is not None:
        return "too few samples"
    if 2 * votes > counts.sum():
        return "near one half"
    if 2 * counts.max() > counts.sum():
        return "another class"
    return "no majority"


def _by_bound(
    bound: BoundOfRivals,
    counts: NDArray[np.int64],
    picked: int,
    alpha: float,
    noise: Noise,
) -> ByBound:
    """Return the radii by a bound, of these counts and of more with the same shares.

    Args:
        bound: the name of the bound.
        counts: the counts (K,) of all classes.
        picked: the picked class.
        alpha: the level of the bound.
        noise: the noise of the samples.
    """
    # In scaled counts the picked class comes first.
    growth = [
        _radius(bound, scaled(counts, picked, n), picked=0, alpha=alpha, noise=noise)
        for n in BUDGETS
    ]
    samples = int(counts.sum())
    votes = int(counts[picked])
    strongest = int(np.delete(counts, picked).max())
    # These bounds compare the picked class with its strongest rival.
    limit = 0.0
    if votes > strongest:
        limit = float(noise.radius(1.0 - votes / samples, strongest / samples))
    return ByBound(
        bound=bound,
        radius=_radius(bound, counts, picked, alpha, noise),
        growth=tuple(growth),
        limit=limit,
    )


def scaled(counts: NDArray[np.int64], picked: int, n: int) -> NDArray[np.int64]:
    """Return the counts (K,) of `n` samples with the shares of `counts` (K,).

    The picked class comes first, then its rivals, the strongest first. The share of the
    picked class is rounded down and that of its strongest rival up, which makes no
    radius larger.

    Example:
        >>> scaled(np.array([103, 220, 100, 77]), 1, 100).tolist()
        [44, 21, 20, 15]
    """
    samples = int(counts.sum())
    rivals = -np.sort(-np.delete(counts, picked))
    in_order = np.concatenate([counts[[picked]], rivals])
    whole = in_order * n // samples
    # -(-a // b) is a / b rounded up.
    whole[1] = -(-in_order[1] * n // samples)
    # Rounding leaves a few samples over: the weakest rivals get one each.
    left = n - int(whole.sum())
    whole[len(whole) - left :] += 1
    return whole


def _radius(
    bound: BoundOfRivals,
    counts: NDArray[np.int64],
    picked: int,
    alpha: float,
    noise: Noise,
) -> float:
    """Return the radius to which a bound certifies the picked class, or 0."""
    table = from_counts(
        counts[None], picked=[picked], noise=noise, alpha=alpha, bound=bound
    )
    return 0.0 if table.predict[0] == ABSTAIN else float(table.radius[0])


def first_certifying(radii: Sequence[float]) -> int | None:
    """Return the first of `BUDGETS` whose radius is above 0; None where none is.

    Args:
        radii: the radius at each of `BUDGETS`.

    Example:
        >>> first_certifying([0.0, 0.0, 0.1, 0.2, 0.2])
        10000
    """
    for n, radius in zip(BUDGETS, radii, strict=True):
        if radius > 0.0:
            return n
    return None
