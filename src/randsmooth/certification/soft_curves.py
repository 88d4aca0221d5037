"""Certified accuracy of hard against soft certification, by the same samples of the same images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from randsmooth import bounds
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.certification.soft import Floats, Ints, certify_soft
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian


@dataclass(frozen=True)
class SoftAccuracies:
    """Certified accuracies of one model at R radii, as shares of the images.

    Attributes:
        radii: (R,), in units of pixels in [0, 1].
        hard: (R,) of hard certification, by Clopper-Pearson.
        soft: (R,) of soft certification, for each beta; math.inf is its limit.

    Example:
        >>> SoftAccuracies(np.array([0.0, 0.5]), np.array([0.9, 0.6]), {1.0: np.array([0.8, 0.3])}).soft[1.0]
        array([0.8, 0.3])
    """

    radii: Floats
    hard: Floats
    soft: dict[float, Floats]


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
) -> SoftAccuracies:
    """Hard against soft certification of the same images by the same samples (Zhai et al. 2020, figure 4).

    Args:
        smoothed, x, n0, n, alpha, bound: as `certify_soft`.
        y: (B,) labels.
        radii: at which to give the certified accuracy, >= 0.
        betas: inverse temperatures; math.inf is added to them.

    Raises:
        InputError: as `certify_soft`, other than B labels, or a radius below 0.

    Example:
        >>> import torch
        >>> bright = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False)).eval()
        >>> bright[1].weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> smoothed = SmoothedClassifier(bright, sigma=0.25, seed=0)
        >>> curves = soft_accuracies(smoothed, torch.ones(2, 1, 2, 2), [1, 1], [0.0, 0.5], betas=[4.0], n=1000)
        >>> curves.hard
        array([1., 1.])
        >>> list(curves.soft)
        [4.0, inf]
    """
    radii_, labels = np.asarray(radii, np.float64), np.asarray(y, np.int64)
    if radii_.ndim != 1 or not len(radii_) or not np.all(radii_ >= 0.0):
        raise InputError(f"radii={radii!r} must be one or more radii from 0 upward")
    wanted = tuple(dict.fromkeys((*betas, math.inf)))
    images = 1 if x.dim() == 3 else len(x)
    if labels.shape != (images,):
        raise InputError(f"{labels.size} labels for {images} images; give one each")
    soft = certify_soft(smoothed, x, n0, n, alpha, wanted, bound=bound)
    sure = np.take_along_axis(soft.mean[-1], soft.picked[-1][:, None], 1)[:, 0]
    q = bounds.q_upper(np.rint(sure * n).astype(np.int64), n, alpha)
    hard = Gaussian(smoothed.sigma).radius(q)

    def accuracy(picked: Ints, radius: Floats) -> Floats:
        right = (picked == labels) & (radius > 0.0)
        return np.array([np.mean(right & (radius >= r)) for r in radii_])

    by_beta = {beta: accuracy(soft.picked[i], soft.radius[i]) for i, beta in enumerate(wanted)}
    return SoftAccuracies(radii_, accuracy(soft.picked[-1], hard), by_beta)
