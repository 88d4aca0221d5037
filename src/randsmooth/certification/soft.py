"""Soft certification: of the class with the largest mean softmax under noise (Zhai et al. 2020, appendix A)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import bounds
from randsmooth.certificates import ABSTAIN, check_budget
from randsmooth.certification.algorithm import ESTIMATE, SELECT
from randsmooth.certification.batches import SampleRange
from randsmooth.certification.engine import Engine
from randsmooth.certification.samples import answered_samples
from randsmooth.certification.scheduler import Ints, not_finite
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import BadValue, WrongData, WrongModel, check_known
from randsmooth.frozen_record import whole_number
from randsmooth.models import with_a_class
from randsmooth.rules import check_samples

Floats = NDArray[np.float64]
# Lower bounds on the mean of values in [0, 1], of the values (S, n), their mean and variance (S,), n and alpha.
MEAN_BOUNDS: dict[str, Callable[[Floats, Floats, Floats, int, float], Floats]] = {
    "bernstein": lambda _, mean, variance, n, alpha: bounds.bernstein_lower(
        mean, variance, n, alpha
    ),
    "hoeffding": lambda _, mean, variance, n, alpha: bounds.hoeffding_lower(
        mean, n, alpha
    ),
    "betting": lambda values, mean, variance, n, alpha: bounds.betting_lower(
        values, alpha
    ),
}


@dataclass(frozen=True)
class SoftCertified:
    """Soft certificates of B images at S inverse temperatures.

    Attributes:
        predict: (S, B) certified class, or ABSTAIN (-1).
        radius: (S, B) L2 radius within which that class cannot change, in units of pixels in [0, 1].
        picked: (S, B) class that was picked by other samples.
        mean: (S, B, K) of the softmax over n samples.
        variance: (S, B, K) of the same, with n - 1 in the denominator.
        lower: (S, B) lower bound on the mean softmax of the picked class.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> soft = certify_soft(SmoothedClassifier(model, sigma=0.5), torch.ones(3, 1, 2, 2), n=1000, betas=(1.0, 8.0))
        >>> soft.radius.shape, soft.mean.shape
        ((2, 3), (2, 3, 2))
    """

    predict: Ints
    radius: Floats
    picked: Ints
    mean: Floats
    variance: Floats
    lower: Floats


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
        Problem: a beta that is not positive, another bound, or as `SmoothedClassifier.certify`.

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
    n0, n, betas = (
        whole_number(n0),
        whole_number(n),
        tuple(float(beta) for beta in betas),
    )
    if not betas or not all(beta > 0.0 for beta in betas):
        raise BadValue(
            field="betas",
            value=list(betas),
            expected="must be one or more inverse temperatures above 0, such as [1.0, 4.0]",
        )
    check_samples("n0", n0)
    check_budget(n0, n, alpha)
    check_known("bound", MEAN_BOUNDS, bound)
    images = smoothed.checked(x)
    engine = smoothed.drawing(images[0])
    seen = [
        _certified(engine, i, image, (n0, n), alpha, betas, bound)
        for i, image in enumerate(images)
    ]
    picked, mean, variance, lower = (
        np.stack(each, axis=1) for each in zip(*seen, strict=True)
    )
    radius = smoothed.settings.smoothing.radius(1.0 - lower)
    return SoftCertified(
        np.where(radius > 0.0, picked, ABSTAIN), radius, picked, mean, variance, lower
    )


def _certified(
    engine: Engine,
    number: int,
    x: Tensor,
    budget: tuple[int, int],
    alpha: float,
    betas: Sequence[float],
    bound: str,
) -> tuple[Ints, Floats, Floats, Floats]:
    """Of one image the class picked (S,), mean and variance of the softmax (S, K), and the lower bound (S,)."""
    n0, n = budget
    parts = answered_samples(
        engine,
        x,
        SampleRange(SELECT, 0, n0),
        lambda _, logits: _softmaxes(logits, betas).sum(1),
    )
    first = torch.stack([part for _, part in parts]).sum(dim=0)
    if engine.backend.votes:
        raise WrongModel(
            "the model answers with labels, which have no softmax: use SmoothedClassifier.certify"
        )
    picked = first.argmax(dim=1)

    def of(_: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        soft = _softmaxes(logits, betas)
        return (
            soft.sum(dim=1),
            soft.square().sum(dim=1),
            soft.take_along_dim(picked[:, None, None], dim=2)[..., 0],
        )

    sums, squares, scores = (
        torch.zeros_like(first),
        torch.zeros_like(first),
        np.zeros((len(betas), n)),
    )
    for numbers, (part, square, own) in answered_samples(
        engine, x, SampleRange(ESTIMATE, 0, n), of
    ):
        sums, squares, scores[:, numbers] = (
            sums + part,
            squares + square,
            own.cpu().numpy(),
        )
    if not bool(first.isfinite().all() and sums.isfinite().all()):
        raise not_finite(f"noisy copies of image {number}")
    mean, chosen = np.clip(sums.cpu().numpy() / n, 0.0, 1.0), picked.cpu().numpy()
    variance = bounds.sample_variance(sums.cpu().numpy(), squares.cpu().numpy(), n)
    own_mean, own_variance = (
        np.take_along_axis(each, chosen[:, None], 1)[:, 0] for each in (mean, variance)
    )
    return (
        chosen,
        mean,
        variance,
        MEAN_BOUNDS[bound](scores.clip(0.0, 1.0), own_mean, own_variance, n, alpha),
    )


def _softmaxes(logits: Tensor, betas: Sequence[float]) -> Tensor:
    """(S, B, K) softmax of (B, K) logits at each beta, in float64; at infinity 1 for the class."""
    logits = logits.double()
    hard = torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1]).double()
    hard = torch.where(with_a_class(logits)[:, None], hard, math.nan)
    return torch.stack(
        [
            hard if math.isinf(beta) else torch.softmax(beta * logits, dim=1)
            for beta in betas
        ]
    )


def soft_accuracies(
    smoothed: SmoothedClassifier,
    x: Tensor,
    y: Sequence[int] | Tensor,
    radii: Sequence[float],
    *,
    betas: Sequence[float] = (1.0, 4.0, 16.0),
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    bound: str = "bernstein",
) -> tuple[Floats, dict[float, Floats]]:
    """Hard against soft certification of the same images by the same samples (Zhai et al. 2020, figure 4).

    Returns:
        Certified accuracies at each radius (R,), as shares of the images: by hard certification (Clopper-Pearson), and
        by soft certification at each beta.

    Args:
        smoothed, x, n0, n, alpha, bound: as `certify_soft`.
        y: (B,) labels.
        radii: at which to give the certified accuracy, >= 0.
        betas: inverse temperatures; math.inf is added to them.

    Raises:
        Problem: as `certify_soft` or other than B labels.

    Example:
        >>> import torch
        >>> bright = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False)).eval()
        >>> bright[1].weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> smoothed = SmoothedClassifier(bright, sigma=0.25, seed=0)
        >>> hard, soft = soft_accuracies(smoothed, torch.ones(2, 1, 2, 2), [1, 1], [0.0, 0.5], betas=[4.0], n=1000)
        >>> hard, list(soft)
        (array([1., 1.]), [4.0, inf])
    """
    images, labels = smoothed.checked(x), np.asarray(y, np.int64)
    wanted = tuple(dict.fromkeys((*betas, math.inf)))
    if labels.shape != (len(images),):
        raise WrongData(f"{labels.size} labels for {len(images)} images; give one each")
    soft = certify_soft(smoothed, images, n0, n, alpha, wanted, bound=bound)
    sure = np.take_along_axis(soft.mean[-1], soft.picked[-1][:, None], 1)[:, 0]
    hard = smoothed.settings.smoothing.radius(
        bounds.q_upper(np.rint(sure * n).astype(np.int64), n, alpha)
    )

    def accuracy(picked: Ints, radius: Floats) -> Floats:
        right = (picked == labels) & (radius > 0.0)
        return np.array([np.mean(right & (radius >= r)) for r in radii])

    by_beta = {
        beta: accuracy(soft.picked[i], soft.radius[i]) for i, beta in enumerate(wanted)
    }
    return accuracy(soft.picked[-1], hard), by_beta
