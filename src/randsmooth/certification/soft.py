"""Soft certification: of the class with the largest mean softmax under noise (Zhai et al. 2020, appendix A)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import bounds
from randsmooth.certificates import ABSTAIN, check_budget
from randsmooth.certification.algorithm import ESTIMATE, SELECT
from randsmooth.certification.engine import Engine
from randsmooth.certification.jobs import SampleRange
from randsmooth.certification.scheduler import answered_samples, not_finite, sum_over_samples
from randsmooth.certification.smoothed import SmoothedClassifier, whole
from randsmooth.errors import InputError, unknown
from randsmooth.noise import Gaussian
from randsmooth.rules import check_samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MEAN_BOUNDS = ("bernstein", "hoeffding", "betting")  # on the mean of values in [0, 1]


@dataclass(frozen=True)
class SoftCertified:
    """Soft certificates of B images at S inverse temperatures.

    Attributes:
        betas: (S,) inverse temperatures.
        predict: (S, B) certified class, or ABSTAIN (-1).
        radius: (S, B) L2 radius within which that class cannot change, in units of pixels in [0, 1].
        picked: (S, B) class that was picked by other samples.
        mean: (S, B, K) of the softmax over n samples.
        variance: (S, B, K) of the same, with n - 1 in the denominator.
        n: samples per image.
        lower: (S, B) lower bound on the mean softmax of the picked class.
        bound: which bound that is.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> soft = certify_soft(SmoothedClassifier(model, sigma=0.5), torch.ones(3, 1, 2, 2), n=1000, betas=(1.0, 8.0))
        >>> soft.radius.shape, soft.mean.shape
        ((2, 3), (2, 3, 2))
    """

    betas: tuple[float, ...]
    predict: Ints
    radius: Floats
    picked: Ints
    mean: Floats
    variance: Floats
    n: int
    lower: Floats
    bound: str


def certify_soft(
    smoothed: SmoothedClassifier,
    x: Tensor,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    betas: Sequence[float] = (1.0,),
    *,
    bound: str = "bernstein",
) -> SoftCertified:
    """Certify the soft smoothed classifier, argmax_k E[softmax(beta f(x + noise))_k], at every beta from one pass.

    Each certificate is wrong with probability <= alpha. The noise is that of `SmoothedClassifier.certify`, and beta =
    infinity is its classifier, with a looser bound.

    Args:
        smoothed: base classifier, sigma, device and seed.
        x: (B, C, H, W), or one image (C, H, W), in [0, 1].
        n0: samples that pick the class.
        n: other samples that bound the mean softmax of that class, at least 2.
        alpha: probability of a wrong certificate, per image and beta.
        betas: inverse temperatures, > 0; math.inf is allowed.
        bound: "bernstein" (empirical), "hoeffding" or "betting", which certifies the largest radii. It takes the
            samples one by one, in the order of their numbers, which depends on no batch, device or score.

    Raises:
        InputError: a beta that is not positive, another bound, or as `SmoothedClassifier.certify`.

    Source: Zhai et al. 2020 (MACER), algorithm 2. All of alpha goes to the picked class: the others' means add up to
        one minus its own. The bounds are those of `bounds`: `bernstein_lower`, `hoeffding_lower`, `betting_lower`.

    Example:
        >>> import torch
        >>> bright = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False)).eval()
        >>> bright[1].weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> smoothed = SmoothedClassifier(bright, sigma=0.25, seed=0)
        >>> certify_soft(smoothed, torch.ones(1, 1, 2, 2), n=1000, betas=(4.0,)).predict
        array([[1]])
    """
    n0, n, betas = whole("n0", n0), whole("n", n), tuple(float(beta) for beta in betas)
    check_betas(betas)
    check_samples("n0", n0)
    check_budget(n0, n, alpha)
    if bound not in MEAN_BOUNDS:
        raise unknown("bound", bound, MEAN_BOUNDS)
    if n < (least := smallest_soft_n(bound, alpha)):
        raise InputError(f"the {bound} bound at alpha={alpha} needs n >= {least} to certify anything; got n={n}")
    keep = bound == "betting"
    images = smoothed.checked(x)
    engine = smoothed.drawing(images[0])
    seen = [_seen(engine, i, image, (n0, n), betas, keep=keep) for i, image in enumerate(images)]
    sums, squares = (np.stack([each.moments[part] for each in seen], axis=1) for part in (0, 1))
    picked, mean = np.stack([each.picked for each in seen], axis=1), np.clip(sums / n, 0.0, 1.0)
    variance = bounds.sample_variance(sums, squares, n)
    own, spread = (np.take_along_axis(a, picked[..., None], -1)[..., 0] for a in (mean, variance))
    if bound == "betting":
        lower = np.stack([bounds.betting_lower(each.scores, alpha) for each in seen], axis=1)
    elif bound == "hoeffding":
        lower = bounds.hoeffding_lower(own, n, alpha)
    else:
        lower = bounds.bernstein_lower(own, spread, n, alpha)
    radius = Gaussian(smoothed.sigma).radius(1.0 - lower)
    predict = np.where(radius > 0.0, picked, ABSTAIN)
    return SoftCertified(betas, predict, radius, picked, mean, variance, n, lower, bound)


def check_betas(betas: Sequence[float]) -> None:
    """Raise InputError unless there is a beta and all are above 0."""
    if not betas or not all(beta > 0.0 for beta in betas):
        raise InputError(f"betas={list(betas)} must be one or more inverse temperatures above 0, such as [1.0, 4.0]")


def smallest_soft_n(bound: str, alpha: float) -> int:
    """Smallest n at which n values of 1 certify a radius above 0."""
    if bound == "betting":
        n = bounds.smallest_n(alpha)
        while not bounds.betting_lower(np.ones(n), alpha) > 0.5:
            n += 1
        return n
    if bound == "hoeffding":
        return math.floor(-2.0 * math.log(alpha)) + 1
    return math.floor(14.0 / 3.0 * math.log(2.0 / alpha)) + 2


@dataclass(frozen=True)
class Seen:
    """What was seen of one image.

    Attributes:
        picked: (S,) class with the largest mean softmax over the n0 samples.
        moments: (2, S, K) sums and sums of squares of the softmax over the n samples.
        scores: (S, n) softmax of the picked class, in the order of the samples' numbers; (S, 0) where not asked for.
    """

    picked: Ints
    moments: Floats
    scores: Floats


def moments(soft: Tensor) -> Tensor:
    """(2, S, K) sums and sums of squares over the B samples of softmax probabilities (S, B, K)."""
    return torch.stack([soft.sum(dim=1), soft.square().sum(dim=1)])


def softmaxes(logits: Tensor, betas: Sequence[float]) -> Tensor:
    """(S, B, K) softmax of (B, K) logits at each beta, in float64."""
    logits = logits.double()
    return torch.stack([_softmax(logits, beta) for beta in betas])


def _softmax(logits: Tensor, beta: float) -> Tensor:
    if math.isinf(beta):
        finite = logits.isfinite().all(dim=1, keepdim=True)
        hard = torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1]).double()
        return torch.where(finite, hard, math.nan)
    return torch.softmax(beta * logits, dim=1)


def _seen(
    engine: Engine,
    number: int,
    x: Tensor,
    budget: tuple[int, int],
    betas: Sequence[float],
    *,
    keep: bool,
) -> Seen:
    """Sums over an image's samples, and with `keep` the scores of its picked class one by one."""
    n0, n = budget
    first = sum_over_samples(engine, x, SampleRange(SELECT, 0, n0), lambda logits: moments(softmaxes(logits, betas)))
    if engine.backend.votes:
        raise InputError(
            "the model answers with labels, which have no softmax: certify its votes, with SmoothedClassifier.certify"
        )
    picked = first[0].argmax(dim=1)

    def of(logits: Tensor) -> tuple[Tensor, Tensor]:
        soft = softmaxes(logits, betas)
        own = soft.take_along_dim(picked[:, None, None], dim=2)[..., 0]
        return moments(soft), own if keep else own[:, :0]

    total, scores = torch.zeros_like(first), np.zeros((len(betas), n if keep else 0))
    for numbers, (part, own) in answered_samples(engine, x, SampleRange(ESTIMATE, 0, n), of):
        total += part
        if keep:
            scores[:, numbers] = own.cpu().numpy()
    if not bool(first.isfinite().all() and total.isfinite().all()):
        raise not_finite(f"noisy copies of image {number}")
    return Seen(picked.cpu().numpy(), total.cpu().numpy(), scores.clip(0.0, 1.0))
