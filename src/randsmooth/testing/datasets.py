"""The contract of data sets."""

from __future__ import annotations

from typing import get_args

import numpy as np

from randsmooth import data, models
from randsmooth.data import DATASETS, SPLITS, DatasetSpec
from randsmooth.data.dataset_spec import Augmentation
from randsmooth.testing.requirements import Contract, one_line


def check_dataset(dataset: str | DatasetSpec) -> None:
    """Check a data set: its facts, its usual architecture and, where it makes its images itself, both splits.

    Images that lie in a folder or on the hub are not looked at, so that no network is needed.

    Args:
        dataset: a name in DATASETS, or the entry.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_dataset("mnist")
    """
    spec = DATASETS[dataset] if isinstance(dataset, str) else dataset
    contract = Contract(f"data set {dataset if isinstance(dataset, str) else getattr(spec, 'name', spec)!r}")
    contract.require(isinstance(spec, DatasetSpec), f"is a {type(spec).__name__}, expected data.DatasetSpec")
    if isinstance(dataset, str):
        contract.require(spec.name == dataset, f"calls itself {spec.name!r}: name and entry must be called the same")
        contract.require(data.describe(dataset) == spec, "is hidden by another data set or folder of its name")
    _check_facts(contract, spec)
    _check_normalisation(contract, spec)
    channels, side, _ = spec.shape
    contract.works(
        f"has the architecture {spec.arch!r}, which does not do",
        lambda: models.build(spec.arch, in_channels=channels, image_size=side, num_classes=spec.num_classes),
    )
    if spec.read is not None:
        for split in SPLITS:
            _check_images(contract, spec, split)


def _check_facts(contract: Contract, spec: DatasetSpec) -> None:
    sizes = isinstance(spec.shape, tuple) and len(spec.shape) == 3 and all(type(n) is int and n > 0 for n in spec.shape)
    contract.require(sizes, f"has the shape {spec.shape!r}, expected (C, H, W)")
    contract.require(spec.shape[0] in (1, 3), f"has {spec.shape[0]} channels, expected 1 (grey) or 3 (RGB)")
    contract.require(spec.shape[1] == spec.shape[2], f"has the shape {spec.shape}, expected H = W")
    names = isinstance(spec.classes, tuple) and all(one_line(name) for name in spec.classes)
    different = names and len(set(spec.classes)) == len(spec.classes) >= 2
    contract.require(different, "needs the names of at least two classes, all different, in a tuple")
    contract.require(one_line(spec.description), "needs a description of one line, for `randsmooth data list`")
    augmentations = get_args(Augmentation)
    contract.require(spec.augment in augmentations, f"has augment={spec.augment!r}, expected one of {augmentations}")
    for part in ("sizes", "files"):
        keys = sorted(getattr(spec, part))
        contract.require(keys == sorted(SPLITS), f"has {part} of {keys}, expected of {sorted(SPLITS)}")
    counted = all(type(size) is int and size > 0 for size in spec.sizes.values())
    contract.require(counted, f"has sizes={spec.sizes}, expected how many images each split has")


def _check_normalisation(contract: Contract, spec: DatasetSpec) -> None:
    both = (spec.mean is None) == (spec.std is None)
    contract.require(both, f"has mean={spec.mean} and std={spec.std}: give both, or None for no normalisation")
    for part, values in (("mean", spec.mean), ("std", spec.std)):
        fits = values is None or (len(values) == spec.shape[0] and all(0.0 < value < 1.0 for value in values))
        contract.require(
            fits, f"has {part}={values}, expected {spec.shape[0]} numbers in (0, 1), as of pixels in [0, 1]"
        )


def _check_images(contract: Contract, spec: DatasetSpec, split: str) -> None:
    assert spec.read is not None
    read = spec.read
    pixels, labels = contract.works(f"cannot read its {split} images", lambda: read(split))
    contract.require(
        isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and pixels.shape[1:] == spec.shape,
        f"reads {split} pixels of another type or shape than uint8 (N, {', '.join(map(str, spec.shape))})",
    )
    contract.require(
        isinstance(labels, np.ndarray) and labels.dtype == np.int64 and labels.shape == (len(pixels),),
        f"reads {split} labels of another type or shape than int64 ({len(pixels)},)",
    )
    contract.require(
        len(pixels) == spec.sizes[split], f"reads {len(pixels)} {split} images, its sizes say {spec.sizes[split]}"
    )
    present = np.unique(labels).tolist()
    contract.require(
        present == list(range(spec.num_classes)),
        f"has {split} labels {present[:10]}, expected each of 0 to {spec.num_classes - 1}",
    )
    again, labels_again = read(split)
    same = np.array_equal(again, pixels) and np.array_equal(labels_again, labels)
    contract.require(same, f"reads other {split} images the second time: make them from a fixed seed")
