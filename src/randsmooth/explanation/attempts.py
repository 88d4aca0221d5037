"""Attacks on one certificate: one inside the ball, and others further and further out until the answer changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.certificates import ABSTAIN
from randsmooth.certification import SmoothedClassifier
from randsmooth.certification.ball_search import Search, distance
from randsmooth.certification.refutation import make_search, predict_anywhere
from randsmooth.progress import Reporter, Silent

OUTWARDS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # radii of the balls that are searched, in certified ones
HALVINGS = 2  # of the step at which the answer first changed
TESTS = 1 + len(OUTWARDS) + HALVINGS  # answers that PREDICT gives at most
N = 1000  # samples of each
STEPS = 20  # of each search


@dataclass(frozen=True)
class Attempt:
    """What one search of a ball came to.

    Attributes:
        eps: radius of the ball.
        point: (C, H, W) float32, the point found, which may lie outside [0, 1].
        distance: L2 distance of the point from the image.
        predict: the answer of PREDICT there: a class, or ABSTAIN (-1).

    Example:
        >>> Attempt(0.5, np.zeros((1, 8, 8), np.float32), 0.49, 7).predict
        7
    """

    eps: float
    point: NDArray[np.float32]
    distance: float
    predict: int


@dataclass(frozen=True)
class Attempts:
    """The searches around one certified image.

    Attributes:
        inside: of the certified ball.
        outside: the one with the smallest ball in which the answer changed; None: it changed in none.
        farthest: radius of the largest ball that was searched.
        gradient_free: whether the searches used answers alone.
        n, alpha: samples of each PREDICT, and the probability that any class that they gave is not the smoothed one.

    Example:
        >>> inside = Attempt(0.5, np.zeros((1, 8, 8), np.float32), 0.49, 7)
        >>> Attempts(inside, None, 4.0, False, 1000, 0.001).outside is None
        True
    """

    inside: Attempt
    outside: Attempt | None
    farthest: float
    gradient_free: bool
    n: int
    alpha: float


def attempt(
    smoothed: SmoothedClassifier,
    x: Tensor,
    y: int,
    radius: float,
    elsewhere: tuple[Tensor, Tensor],
    *,
    alpha: float,
    reporter: Reporter | None = None,
) -> Attempts:
    """Search the certified ball of `radius` around `x` (C, H, W) for a class other than `y`, then larger ones.

    Each of at most 9 answers is given at level alpha / 9 (Bonferroni), on noise that no search has used, so that all of
    them are right with probability at least 1 - alpha.

    Args:
        elsewhere: images (P, C, H, W) of any class and their classes (P,), for a search without gradients.
    """
    search = make_search(
        smoothed,
        tuple(x.shape),
        lambda: elsewhere,
        steps=STEPS,
        m=None,
        restarts=1,
        seed=smoothed.engine.seed,
        gradient_free=False,
    )
    reporter = reporter or Silent()

    def within(eps: float) -> Attempt:
        point = search.find(x.cpu().float(), y, eps)
        predict = predict_anywhere(smoothed.engine, point, N, alpha / TESTS)
        reporter.advance(1)
        return Attempt(eps, point.numpy(), distance(point, x.cpu().float()), predict)

    def changes(found: Attempt) -> bool:
        return found.predict not in (y, ABSTAIN)

    inside, outside, near, far = within(radius), None, radius, radius
    for scale in OUTWARDS:
        far = scale * radius
        tried = within(far)
        if changes(tried):
            outside = tried
            break
        near = far
    for _ in range(HALVINGS if outside is not None else 0):
        middle = (near + far) / 2.0
        tried = within(middle)
        if changes(tried):
            outside, far = tried, middle
        else:
            near = middle
    free = not isinstance(search, Search)
    return Attempts(inside, outside, far if outside is None else outside.eps, free, N, alpha)


def nowhere(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """No image to walk from."""
    return torch.zeros(0, *shape), torch.zeros(0, dtype=torch.int64)
