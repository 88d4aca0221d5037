"""What is trained on: a data set by its name or path, or the images that a program holds."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from randsmooth import data
from randsmooth.data import Images, TensorImages
from randsmooth.data.dataset_spec import IN_MEMORY_BYTES
from randsmooth.errors import InputError

TOGETHER = 256  # images that are read at once
SOME = 16  # images that stand for all, where hashing all would take long


def named(dataset: Any, reading: dict[str, Any]) -> tuple[str, Any, dict[str, Any]]:
    """What a recipe calls `dataset`, what to load, and how.

    Images without a path are loaded here, and called by a hash of their pixels and labels, so that a run can only be
    resumed with the same.

    Raises:
        InputError: they cannot be used, or have no labels.
    """
    if isinstance(dataset, str | Path):
        return str(dataset), str(dataset), reading
    images = _held(data.load(dataset, "train", **reading))
    return f"{images.spec.name} (sha256 {_digest(images)[:16]})", images, {}


def require_labels(spec: data.DatasetSpec) -> None:
    """Raise InputError for images without labels, from which no classifier can be trained."""
    if not spec.classes:
        raise InputError(
            f"{spec.name} has no labels, and training needs them: name their column (--label-column), or sort the "
            "images into a folder for each class"
        )


def fingerprint(images: Images) -> str:
    """What tells `images` from others in little time: how many there are, and a hash of some that lie apart.

    Example:
        >>> fingerprint(data.load("digits", "train"))
        '1433 images (sha256 ...)'
    """
    some = torch.linspace(0, len(images) - 1, min(SOME, len(images))).long()
    x, y = images.batch(some)
    hashed = hashlib.sha256(y.cpu().numpy().tobytes() + x.cpu().contiguous().numpy().tobytes())
    return f"{len(images)} images (sha256 {hashed.hexdigest()[:16]})"


def _held(images: Images) -> Images:
    """The images in memory, if they are read one by one, with the classes that their labels tell."""
    if not images.streams:
        return images
    if len(images) * int(torch.tensor(images.spec.shape).prod()) * 4 > IN_MEMORY_BYTES:
        raise InputError(f"{images.spec.name} does not fit into memory: train from a folder, tar or Parquet files")
    pixels = torch.cat([x for x, _ in images.batches(torch.arange(len(images)).split(TOGETHER))])
    labels = images.labels_at(torch.arange(len(images)))
    numbered = tuple(str(k) for k in range(int(labels.max()) + 1))
    spec = replace(images.spec, classes=images.spec.classes or numbered)
    return TensorImages(spec, images.split, pixels, labels, images.device)


def _digest(images: Images) -> str:
    hashed = hashlib.sha256(images.labels.numpy().tobytes())
    for x, _ in images.batches(torch.arange(len(images)).split(TOGETHER)):
        hashed.update(x.cpu().contiguous().numpy().tobytes())
    return hashed.hexdigest()
