"""Distances that a person can see: to the nearest images of a data set, and between images of one class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import data
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.progress import Reporter, Silent

MOST = 60_000  # images that are compared with one
MOST_LARGE = 2_000  # of those that are decoded and scaled one by one
TOGETHER = 512  # images in memory at a time
PAIRS = 200  # of images of one class, for the median of their distances


@dataclass(frozen=True)
class Neighbour:
    """An image near another.

    Attributes:
        index: its position in its split.
        label: its class.
        distance: L2, in units of pixels in [0, 1].
        pixels: (C, H, W) float32 in [0, 1].

    Example:
        >>> Neighbour(3, 7, 1.5, np.zeros((1, 8, 8), np.float32)).distance
        1.5
    """

    index: int
    label: int
    distance: float
    pixels: NDArray[np.float32]


@dataclass(frozen=True)
class Neighbours:
    """The images of a split around one image.

    Attributes:
        dataset, split: where they are from.
        compared: how many images were compared, evenly spread over the `total` of the split.
        other: the nearest of another class; None if there is none.
        same: the nearest of its class that is not the same image; None if there is none.
        typical: median L2 distance between two images of its class; None where there are not two.

    Example:
        >>> Neighbours("digits", "train", 10, 100, None, None, None).compared
        10
    """

    dataset: str
    split: str
    compared: int
    total: int
    other: Neighbour | None
    same: Neighbour | None
    typical: float | None


def nearest(x: Tensor, y: int, images: Images, reporter: Reporter | None = None) -> Neighbours:
    """The nearest of `images` to `x` (C, H, W) in [0, 1] in class `y` and out of it; equal ones are passed over.

    Of more than 60,000 images (2,000 of those too large to be held in memory) as many, evenly spread, are compared.

    Raises:
        InputError: the images have another shape, or no labels.

    Example:
        >>> images = data.load("digits", "train")
        >>> (x,), _ = images.batch(torch.tensor([0]))
        >>> found = nearest(x, 0, images)
        >>> found.same.label, found.other.label != 0, found.compared
        (0, True, 1433)
    """
    if tuple(images.spec.shape) != tuple(x.shape):
        raise InputError(
            f"the images of {images.spec.name} have the shape {tuple(images.spec.shape)}, and this one "
            f"{tuple(x.shape)}: give the data set that the model is for"
        )
    if not images.labelled:
        raise InputError(f"the images of {images.spec.name} ({images.split}) have no labels, which tell classes apart")
    chosen = data.take(len(images), min(len(images), MOST_LARGE if images.spec.streams else MOST))
    labels, distances = images.labels_at(chosen), _distances(x.cpu().float(), images, chosen, reporter or Silent())
    here = labels == y

    def first(among: Tensor) -> Neighbour | None:
        apart = torch.where(among & (distances > 0.0), distances, torch.inf)
        best = int(apart.argmin()) if len(apart) else 0
        if not len(apart) or not bool(apart[best].isfinite()):
            return None
        (pixels,), _ = images.batch(chosen[best : best + 1])
        return Neighbour(int(chosen[best]), int(labels[best]), float(apart[best]), pixels.cpu().numpy())

    typical = _typical(images, chosen[here])
    return Neighbours(images.spec.name, images.split, len(chosen), len(images), first(~here), first(here), typical)


def _distances(x: Tensor, images: Images, chosen: Tensor, reporter: Reporter) -> Tensor:
    """(N,) L2 distances from `x` to the chosen images."""
    found = []
    for batch, _ in images.batches(chosen.split(TOGETHER)):
        found.append((batch.cpu() - x).flatten(1).double().norm(dim=1))
        reporter.advance(len(batch))
    return torch.cat(found) if found else torch.zeros(0, dtype=torch.float64)


def _typical(images: Images, chosen: Tensor) -> float | None:
    """The median distance of an image to the next among some of the chosen, which are of one class."""
    if len(chosen) < 2:
        return None
    some = chosen[data.take(len(chosen), min(len(chosen), PAIRS + 1))]
    pixels = torch.cat([batch.cpu() for batch, _ in images.batches(some.split(TOGETHER))])
    return float((pixels[1:] - pixels[:-1]).flatten(1).double().norm(dim=1).median())
