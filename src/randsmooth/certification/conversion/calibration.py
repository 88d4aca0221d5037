"""Noisy images: of the training split to calibrate an int8 model on, and to compare it with the original on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.certification.backends import Backend
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian, Stream, address_of
from randsmooth.progress import Reporter

TOGETHER = 128  # images that are answered at once


def training_images(dataset: Any, split: str, number: int, **columns: Any) -> Images:
    """`number` images of the training split, evenly spread; all of them where it has fewer.

    Raises:
        InputError: another split is asked for, or there is no training split.

    Example:
        >>> len(training_images("digits", "train", 100))
        100
    """
    if split != "train":
        raise InputError(
            f"split={split!r}: an int8 model is calibrated on training images, since those that it is to be judged on "
            "must have no part in making it; leave out split (--split)"
        )
    if number < 1:
        raise InputError(f"images={number} must be at least 1; 300 is usual")
    try:
        images = data.load(dataset, "train", stream=True, **columns)
    except InputError as error:
        raise InputError(f"there are no training images to calibrate on: {error}") from error
    return images.subset(data.take(len(images), min(number, len(images))))


def other_images(dataset: Any, calibration: Images, number: int, **columns: Any) -> Images | None:
    """`number` images that have no part in the `calibration`: of the test split, or of training where there is none.

    None where every image has. All of them where there are fewer.

    Example:
        >>> len(other_images("digits", training_images("digits", "train", 100), 50))
        50
    """
    try:
        images = data.load(dataset, "test", stream=True, **columns)
    except InputError:
        images = data.load(dataset, "train", stream=True, **columns)
    used = {address_of(x[0]) for x, _ in calibration.batches(torch.arange(len(calibration)).split(1))}
    chosen = data.take(len(images), min(number + len(used), len(images)))
    fresh = [place for place in chosen.tolist() if address_of(images.batch(torch.tensor([place]))[0][0]) not in used]
    return images.subset(torch.tensor(fresh)[data.take(len(fresh), min(number, len(fresh)))]) if fresh else None


def noisy_batches(images: Images, sigma: float, stream: Stream, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """One noisy copy of each image, (B, C, H, W) float32 in batches of `size`, and the labels (B,).

    An image's noise depends on the stream and its pixels only.

    Example:
        >>> images = data.load("digits", "test")
        >>> x, y = next(noisy_batches(images, 0.5, Stream(0, "example"), 16))
        >>> x.shape, y.shape
        (torch.Size([16, 1, 8, 8]), torch.Size([16]))
    """
    for x, y in images.batches(torch.arange(len(images)).split(size)):
        noisy = torch.empty(x.shape)
        for out, image in zip(noisy.split(1), x, strict=True):
            Gaussian(sigma).draw(out, image, stream.at(address_of(image)))
        yield noisy, y


@dataclass(frozen=True)
class Agreement:
    """How two classifiers answer the same noisy images: paired counts.

    Attributes:
        images: how many were compared, one noisy copy each.
        same: with equal answers.
        both, only_before, only_after: answered rightly by both, by the original alone, by the int8 model alone; None
            where the images have no labels.

    Example:
        >>> Agreement(images=100, same=97, both=90, only_before=2, only_after=1).difference
        -0.01
    """

    images: int
    same: int
    both: int | None
    only_before: int | None
    only_after: int | None

    @property
    def difference(self) -> float | None:
        """The int8 model's accuracy on noisy images minus the original's; None without labels."""
        if self.only_before is None or self.only_after is None:
            return None
        return (self.only_after - self.only_before) / self.images


def compared(before: Backend, after: Backend, images: Images, sigma: float, seed: int, reporter: Reporter) -> Agreement:
    """Both backends' answers to one noisy copy of each of `images`."""
    same = both = only_before = only_after = 0
    for noisy, y in noisy_batches(images, sigma, Stream(seed, "compare"), TOGETHER):
        one, other = (torch.inference_mode()(backend.logits)(noisy).argmax(1).cpu() for backend in (before, after))
        same += int((one == other).sum())
        both += int(((one == y) & (other == y)).sum())
        only_before += int(((one == y) & (other != y)).sum())
        only_after += int(((one != y) & (other == y)).sum())
        reporter.advance(len(y))
    right = (both, only_before, only_after) if images.labelled else (None, None, None)
    return Agreement(len(images), same, *right)
