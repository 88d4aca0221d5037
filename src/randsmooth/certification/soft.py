"""Soft certification, of the class with the largest mean softmax under noise.

Source: Zhai et al. 2020, appendix A.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

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


def _bernstein(
    values: Floats, mean: Floats, variance: Floats, n: int, alpha: float
) -> Floats:
    return bounds.bernstein_lower(mean, variance, n, alpha)


def _hoeffding(
    values: Floats, mean: Floats, variance: Floats, n: int, alpha: float
) -> Floats:
    return bounds.hoeffding_lower(mean, n, alpha)


def _betting(
    values: Floats, mean: Floats, variance: Floats, n: int, alpha: float
) -> Floats:
    return bounds.betting_lower(values, alpha)


# Name -> a function that returns a lower bound (S,) on the mean of values in [0, 1], given
# the values (S, n), their mean (S,), their variance (S,), n and alpha. All take the same
# arguments, of which each uses some.
MEAN_BOUNDS: dict[str, Callable[[Floats, Floats, Floats, int, float], Floats]] = {
    "bernstein": _bernstein,
    "hoeffding": _hoeffding,
    "betting": _betting,
}


@dataclass(frozen=True)
class SoftCertified:
    """Soft certificates of B images at S inverse temperatures.

    Attributes:
        predict: (S, B) certified class, or ABSTAIN (-1).
        radius: (S, B) L2 radius within which that class cannot change, in units of
            pixels in [0, 1].
        picked: (S, B) class that was picked by other samples.
        mean: (S, B, K) mean of the softmax over n samples.
        variance: (S, B, K) variance of the softmax, with n - 1 in the denominator.
        lower: (S, B) lower bound on the mean softmax of the picked class.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> smoothed = SmoothedClassifier(model, sigma=0.5)
        >>> x = torch.ones(3, 1, 2, 2)
        >>> soft = certify_soft(smoothed, x, n=1000, betas=(1.0, 8.0))
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
    """Certify the soft smoothed classifier at every beta, from one pass.

    The soft smoothed classifier is argmax_k E[softmax(beta f(x + noise))_k]. Each
    certificate is wrong with probability at most alpha. The noise is that of
    `SmoothedClassifier.certify`. At beta = infinity the classifier is that of
    `SmoothedClassifier`, with a looser bound.

    Args:
        smoothed: the smoothed classifier, of which the base classifier, the noise, the
            device and the seed are used.
        x: (B, C, H, W), or one image (C, H, W), in [0, 1].
        n0: samples that pick the class.
        n: other samples that bound the mean softmax of that class, at least 2.
        alpha: probability of a wrong certificate, per image and beta.
        betas: inverse temperatures, > 0; math.inf is allowed.
        bound: "bernstein" (empirical), "hoeffding" or "betting", which certifies the
            largest radii. It takes the samples one by one, in the order of their
            numbers, which depends on no batch, device or score.

    Raises:
        Problem: a beta is not positive, there is no such bound, the model answers with
            labels, or `SmoothedClassifier.certify` raises it.

    Source: Zhai et al. 2020 (MACER), algorithm 2. All of alpha goes to the picked
        class: the others' means add up to one minus its own. The bounds are those of
        `bounds`: `bernstein_lower`, `hoeffding_lower`, `betting_lower`.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> linear = nn.Linear(4, 2, bias=False)
        >>> bright = nn.Sequential(nn.Flatten(), linear).eval()
        >>> linear.weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> smoothed = SmoothedClassifier(bright, sigma=0.25, seed=0)
        >>> certify_soft(smoothed, torch.ones(1, 1, 2, 2), n=1000, betas=(4.0,)).predict
        array([[1]])
    """
    n0 = whole_number(n0)
    n = whole_number(n)
    betas = tuple(float(beta) for beta in betas)
    # NaN is not above 0 either.
    if not betas or not all(beta > 0.0 for beta in betas):
        raise BadValue(
            field="betas",
            value=list(betas),
            expected="must be one or more inverse temperatures above 0, such as [1.0, "
            "4.0]",
        )
    check_samples("n0", n0)
    check_budget(n0, n, alpha)
    check_known("bound", MEAN_BOUNDS, bound)
    images = smoothed.checked(x)
    engine = smoothed.drawing(images[0])
    of_images = [
        _certified(engine, number, image, n0, n, alpha, betas, bound)
        for number, image in enumerate(images)
    ]
    # S values of each image become (S, B).
    picked = np.stack([of_image.picked for of_image in of_images], axis=1)
    lower = np.stack([of_image.lower for of_image in of_images], axis=1)
    radius = smoothed.noise.radius(1.0 - lower)
    return SoftCertified(
        predict=np.where(radius > 0.0, picked, ABSTAIN),
        radius=radius,
        picked=picked,
        mean=np.stack([of_image.mean for of_image in of_images], axis=1),
        variance=np.stack([of_image.variance for of_image in of_images], axis=1),
        lower=lower,
    )


class _OfImage(NamedTuple):
    """What is known of one image at S inverse temperatures, as in `SoftCertified`.

    Attributes:
        picked: (S,) class that was picked by other samples.
        mean, variance: (S, K) mean and variance of the softmax.
        lower: (S,) lower bound on the mean softmax of the picked class.
    """

    picked: Ints
    mean: Floats
    variance: Floats
    lower: Floats


class _Sums(NamedTuple):
    """What one batch of B samples adds up to at S inverse temperatures.

    Attributes:
        softmax: (S, K) sums of the softmax.
        squares: (S, K) sums of the squared softmax.
        scores: (S, B) the softmax of the picked class, for each sample.
    """

    softmax: Tensor
    squares: Tensor
    scores: Tensor


def _certified(
    engine: Engine,
    number: int,
    x: Tensor,
    n0: int,
    n: int,
    alpha: float,
    betas: Sequence[float],
    bound: str,
) -> _OfImage:
    """Certify one image x (C, H, W), which `number` names in errors, at every beta."""
    selecting = answered_samples(
        engine,
        x,
        SampleRange(SELECT, 0, n0),
        lambda _, logits: _softmaxes(logits, betas).sum(1),
    )
    selected = torch.stack([batch_sum for _, batch_sum in selecting]).sum(dim=0)
    # It is known only after an answer whether a model answers with labels.
    if engine.backend.votes:
        raise WrongModel(
            "the model answers with labels, which have no softmax: use "
            "SmoothedClassifier.certify"
        )
    picked = selected.argmax(dim=1)

    def sums_of(_: Tensor, logits: Tensor) -> _Sums:
        """Return the sums of one batch, whose noisy copies do not matter."""
        softmax = _softmaxes(logits, betas)
        of_picked = softmax.take_along_dim(picked[:, None, None], dim=2)
        return _Sums(
            softmax=softmax.sum(dim=1),
            squares=softmax.square().sum(dim=1),
            scores=of_picked[..., 0],
        )

    softmax_sum = torch.zeros_like(selected)
    square_sum = torch.zeros_like(selected)
    scores = np.zeros((len(betas), n))
    estimating = SampleRange(ESTIMATE, 0, n)
    for numbers, batch in answered_samples(engine, x, estimating, sums_of):
        softmax_sum = softmax_sum + batch.softmax
        square_sum = square_sum + batch.squares
        scores[:, numbers] = batch.scores.cpu().numpy()
    if not bool(selected.isfinite().all() and softmax_sum.isfinite().all()):
        raise not_finite(f"noisy copies of image {number}")

    classes = picked.cpu().numpy()
    total = softmax_sum.cpu().numpy()
    # Rounding may take a mean of values in [0, 1] out of this interval.
    mean = np.clip(total / n, 0.0, 1.0)
    variance = bounds.sample_variance(total, square_sum.cpu().numpy(), n)
    lower = MEAN_BOUNDS[bound](
        scores.clip(0.0, 1.0),
        _of_class(classes, mean),
        _of_class(classes, variance),
        n,
        alpha,
    )
    return _OfImage(classes, mean, variance, lower)


def _of_class(classes: Ints, values: Floats) -> Floats:
    """Return (R,) the value of the class of each row, of `values` (R, K)."""
    return np.take_along_axis(values, classes[:, None], axis=1)[:, 0]


def _softmaxes(logits: Tensor, betas: Sequence[float]) -> Tensor:
    """Return (S, B, K) the softmax of (B, K) logits at each beta, in float64.

    At infinity it is 1 for the class of a row, and 0 elsewhere; for logits without a
    class it is NaN.
    """
    logits = logits.double()
    class_alone = one_hot(logits.argmax(dim=1), logits.shape[1]).double()
    class_alone = torch.where(with_a_class(logits)[:, None], class_alone, math.nan)
    return torch.stack(
        [
            class_alone if math.isinf(beta) else torch.softmax(beta * logits, dim=1)
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
    """Return the certified accuracies of hard and of soft certification, on the same
    images and by the same samples.

    Args:
        smoothed, x, n0, n, alpha, bound: see `certify_soft`.
        y: (B,) labels.
        radii: the radii at which to give the certified accuracy, >= 0.
        betas: inverse temperatures; math.inf is added to them.

    Returns:
        Certified accuracies at each radius (R,), as shares of the images: by hard
        certification (Clopper-Pearson), and by soft certification at each beta.

    Raises:
        Problem: there are not B labels, or `certify_soft` raises it.

    Source: Zhai et al. 2020, figure 4.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> linear = nn.Linear(4, 2, bias=False)
        >>> bright = nn.Sequential(nn.Flatten(), linear).eval()
        >>> linear.weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> smoothed = SmoothedClassifier(bright, sigma=0.25, seed=0)
        >>> x = torch.ones(2, 1, 2, 2)
        >>> hard, soft = soft_accuracies(
        ...     smoothed, x, y=[1, 1], radii=[0.0, 0.5], betas=[4.0], n=1000
        ... )
        >>> hard, list(soft)
        (array([1., 1.]), [4.0, inf])
    """
    images = smoothed.checked(x)
    labels = np.asarray(y, np.int64)
    if labels.shape != (len(images),):
        raise WrongData(f"{labels.size} labels for {len(images)} images; give one each")
    all_betas = tuple(dict.fromkeys((*betas, math.inf)))
    soft = certify_soft(smoothed, images, n0, n, alpha, all_betas, bound=bound)

    # At infinity the mean softmax of a class, times n, is how often the class came out.
    at_infinity = all_betas.index(math.inf)
    picked = soft.picked[at_infinity]
    n_a = np.rint(_of_class(picked, soft.mean[at_infinity]) * n).astype(np.int64)
    hard_radius = smoothed.noise.radius(bounds.q_upper(n_a, n, alpha))

    def accuracy(classes: Ints, radius: Floats) -> Floats:
        right = (classes == labels) & (radius > 0.0)
        return np.array([np.mean(right & (radius >= r)) for r in radii])

    soft_accuracy = {
        beta: accuracy(soft.picked[row], soft.radius[row])
        for row, beta in enumerate(all_betas)
    }
    return accuracy(picked, hard_radius), soft_accuracy
