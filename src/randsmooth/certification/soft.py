"""Soft certification: of the class with the largest mean softmax under noise (Zhai et al. 2020, appendix A)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import bounds
from randsmooth.certificates import ABSTAIN, check_budget, check_samples
from randsmooth.certification.algorithm import ESTIMATE, SELECT
from randsmooth.certification.jobs import SampleRange
from randsmooth.certification.scheduler import not_finite, sum_over_samples
from randsmooth.certification.smoothed import SmoothedClassifier, whole
from randsmooth.errors import InputError, unknown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MEAN_BOUNDS = ("bernstein", "hoeffding")  # on the mean of values in [0, 1]


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
        bound: "bernstein" (empirical) or "hoeffding".

    Raises:
        InputError: a beta that is not positive, another bound, or as `SmoothedClassifier.certify`.

    Source: Zhai et al. 2020 (MACER), algorithm 2. All of alpha goes to the picked class: the others' means add up to
        one minus its own.

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
    seen = [_sums(smoothed, number, image, (n0, n), betas) for number, image in enumerate(smoothed.checked(x))]
    sums0, (sums, squares) = np.stack([s[0] for s in seen], 1), np.stack([s[1] for s in seen], 2)
    picked, mean = sums0.argmax(axis=-1), np.clip(sums / n, 0.0, 1.0)
    variance = bounds.sample_variance(sums, squares, n)
    own, spread = (np.take_along_axis(a, picked[..., None], -1)[..., 0] for a in (mean, variance))
    if bound == "hoeffding":
        lower = bounds.hoeffding_lower(own, n, alpha)
    else:
        lower = bounds.bernstein_lower(own, spread, n, alpha)
    radius = bounds.radius(lower, smoothed.sigma)
    return SoftCertified(betas, np.where(radius > 0.0, picked, ABSTAIN), radius, picked, mean, variance, n)


def check_betas(betas: Sequence[float]) -> None:
    """Raise InputError unless there is a beta and all are above 0."""
    if not betas or not all(beta > 0.0 for beta in betas):
        raise InputError(f"betas={list(betas)} must be one or more inverse temperatures above 0, such as [1.0, 4.0]")


def smallest_soft_n(bound: str, alpha: float) -> int:
    """Smallest n at which n values of 1 certify a radius above 0."""
    if bound == "hoeffding":
        return math.floor(-2.0 * math.log(alpha)) + 1
    return math.floor(14.0 / 3.0 * math.log(2.0 / alpha)) + 2


def moments(logits: Tensor, betas: Sequence[float]) -> Tensor:
    """(2, S, K) sums and sums of squares over (B, K) logits of their softmax at each beta, in float64."""
    logits = logits.double()
    soft = torch.stack([_softmax(logits, beta) for beta in betas])
    return torch.stack([soft.sum(dim=1), soft.square().sum(dim=1)])


def _softmax(logits: Tensor, beta: float) -> Tensor:
    if math.isinf(beta):
        finite = logits.isfinite().all(dim=1, keepdim=True)
        hard = torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1]).double()
        return torch.where(finite, hard, math.nan)
    return torch.softmax(beta * logits, dim=1)


def _sums(
    smoothed: SmoothedClassifier, number: int, x: Tensor, budget: tuple[int, int], betas: Sequence[float]
) -> tuple[Floats, Floats]:
    """(S, K) sums over the n0 samples, and (2, S, K) sums and squares over the n."""
    of, engine = partial(moments, betas=betas), smoothed.engine
    ranges = [SampleRange(name, 0, samples) for name, samples in zip((SELECT, ESTIMATE), budget, strict=True)]
    first = sum_over_samples(engine, x, ranges[0], of).cpu().numpy()
    if engine.backend.votes:
        raise InputError(
            "the model answers with labels, which have no softmax: certify its votes, with SmoothedClassifier.certify"
        )
    second = sum_over_samples(engine, x, ranges[1], of).cpu().numpy()
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise not_finite(f"noisy copies of image {number}")
    return first[0], second
