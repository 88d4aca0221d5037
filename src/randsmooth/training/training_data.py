"""The images that a run trains on, and how they are told from others."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.data import DatasetSpec, Images, TensorImages
from randsmooth.data.dataset_spec import IN_MEMORY_BYTES
from randsmooth.data.labels import numbered
from randsmooth.errors import Setting, TooLarge, WrongData
from randsmooth.training.recipe import Recipe
from randsmooth.training.settings import Reading

# The number of images that are read at a time.
IMAGES_READ_AT_ONCE = 256
# So many images stand for all, where hashing all would take long.
FINGERPRINT_IMAGES = 16

# The bytes of a number in float32.
FLOAT32_BYTES = 4


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """What a run trains on, before any image is decoded.

    Attributes:
        name: the name of the data set, or its path, from which another process can load
            it.
        spec: the facts about it.
        own: the images, where they have no path; None: they are loaded by the name.
    """

    name: str
    spec: DatasetSpec
    own: Images | None = None


def describe(dataset: Any, reading: Reading) -> TrainingData:
    """Return the training data that `dataset` means.

    It is in any form that `data.load` takes. Images without a path are loaded here, and
    named by a hash of their pixels and labels, so that a run can only be resumed with
    the same.

    Raises:
        Problem: the data cannot be read, or they are features.

    Example:
        >>> describe("digits", Reading()).spec.shape
        (1, 8, 8)
    """
    if isinstance(dataset, str | Path):
        name = str(dataset)
        described = TrainingData(name, data.describe(name, **reading.reading))
    else:
        own = _in_memory(data.load(dataset, "train", **reading.reading))
        digest = _hash(own, torch.arange(len(own)))
        described = TrainingData(f"{own.spec.name} ({digest})", own.spec, own)
    if described.spec.features:
        raise WrongData(
            f"{described.name} holds features of shape {described.spec.shape}, but "
            "training takes images: train a network on x + noise in torch, or an "
            "estimator on noisy rows, and certify that"
        )
    return described


def check_classifiable(described: TrainingData) -> None:
    """Raise Problem unless the images have labels and are square."""
    spec = described.spec
    if not spec.classes:
        raise WrongData(
            f"{spec.name} has no labels, and training needs them",
            fix=(
                "name their ",
                Setting("label_column"),
                ", or sort the images into a folder for each class",
            ),
        )
    _, height, width = spec.shape
    if height != width:
        side = min(height, width)
        raise WrongData(
            f"{described.name} holds images of {height}x{width}, but training "
            "takes square ones",
            fix=(
                "bring them to size with ",
                Setting("resize", f"{side}x{side}"),
                " or ",
                Setting("crop", side),
            ),
        )


def load(recipe: Recipe, device: torch.device, own: Images | None = None) -> Images:
    """Return the images to train on: `own` ones, or those of the recipe's data set."""
    if own is not None:
        return _taken(own.to(device), recipe.take)
    images = data.load(recipe.dataset, "train", device=device, **recipe.reading)
    return _taken(images, recipe.take)


def fingerprint(images: Images) -> str:
    """Return the mark that tells `images` from others: their number and a hash of some.

    Example:
        >>> fingerprint(data.load("digits", "train"))
        '1433 images (sha256 ...)'
    """
    hashed = min(FINGERPRINT_IMAGES, len(images))
    indices = torch.linspace(0, len(images) - 1, hashed).long()
    return f"{len(images)} images ({_hash(images, indices)})"


def _in_memory(images: Images) -> Images:
    """Return the images decoded, with the classes that their labels name."""
    if not images.streams:
        return images
    size = len(images) * math.prod(images.spec.shape) * FLOAT32_BYTES
    if size > IN_MEMORY_BYTES:
        raise TooLarge(
            f"{images.spec.name} does not fit into memory: train from a folder, tar or "
            "Parquet files"
        )
    indices = torch.arange(len(images))
    batches = images.batches(indices.split(IMAGES_READ_AT_ONCE))
    pixels = torch.cat([x for x, _ in batches])
    labels = images.labels_at(indices)
    classes = images.spec.classes or numbered(labels)
    spec = dataclasses.replace(images.spec, classes=classes)
    return TensorImages(spec, images.split, pixels, labels, images.device)


def _taken(images: Images, number: int | None) -> Images:
    """Return so many of the images, evenly spread; None: all."""
    if number is None:
        return images
    return images.subset(data.take(len(images), number))


def _hash(images: Images, indices: Tensor) -> str:
    """Hash the labels and the pixels of the images at `indices`."""
    digest = hashlib.sha256(images.labels_at(indices).numpy().tobytes())
    for x, _ in images.batches(indices.split(IMAGES_READ_AT_ONCE)):
        digest.update(x.cpu().contiguous().numpy().tobytes())
    return f"sha256 {digest.hexdigest()[:16]}"
