"""Mean and standard deviation of the inputs of a split."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.data.choosing import sample
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.images import Images

# The most images of which mean and standard deviation are computed, to stand for all.
SAMPLED_IMAGES = 10_000

# How many images are read at a time.
BATCH = 250

# Digits after the point, as many as papers print.
DIGITS = 4


def deviations(images: Images) -> NDArray[np.float64]:
    """Return the standard deviation of each coordinate over all inputs.

    Returns:
        An array of the shape of one input.

    Example:
        >>> from randsmooth.data import load
        >>> deviations(load((np.array([[0.0, 5.0], [2.0, 9.0]]), [0, 1]))).tolist()
        [1.0, 2.0]
    """
    _, variance = _moments(images, torch.arange(len(images)), axes=(0,))
    return np.asarray(variance.sqrt().numpy())


def with_statistics(spec: DatasetSpec, images: Images) -> DatasetSpec:
    """Return `spec` with mean and standard deviation of each channel.

    They are those of at most SAMPLED_IMAGES images in [0, 1], rounded to DIGITS digits.
    """
    indices = torch.tensor(sample(len(images), most=SAMPLED_IMAGES))
    mean, variance = _moments(images, indices, axes=(0, 2, 3))
    means = [round(value, DIGITS) for value in mean.tolist()]
    stds = [round(value, DIGITS) for value in variance.sqrt().tolist()]
    # The standard deviation of a constant channel is 0, by which nothing can be divided.
    return replace(spec, mean=tuple(means), std=tuple(std or 1.0 for std in stds))


def _moments(
    images: Images, indices: Tensor, axes: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of some inputs over `axes` of a batch (B, ...), 0 among them.

    They are updated batch by batch (Chan, Golub and LeVeque, The American Statistician
    1983): of n inputs so far and m more,

        mean <- mean + d * m / (n + m), where d = mean of the batch - mean,
        squares <- squares + squares of the batch + d^2 * n * m / (n + m),

    where `squares` is the sum of the squared deviations from the mean. In this code all
    sums are divided by the number of positions along `axes` in one input.
    """
    n = 0
    mean = torch.zeros(1)
    squares = torch.zeros(1)
    for batch, _ in images.batches(indices.split(BATCH)):
        x = batch.cpu().double()
        m = len(x)
        batch_mean = x.mean(axes)
        batch_squares = x.var(axes, correction=0) * m
        d = batch_mean - mean
        squares = squares + batch_squares + d.square() * (n * m / (n + m))
        mean = mean + d * (m / (n + m))
        n += m
    return mean, squares / n
