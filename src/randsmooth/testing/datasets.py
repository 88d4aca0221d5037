"""The contract of data sets."""

from typing import Any, get_args

import numpy as np

from randsmooth import data, models
from randsmooth.data import DATASETS, SPLITS, DatasetSpec
from randsmooth.data.dataset_spec import Augmentation
from randsmooth.testing.contract import (
    contract_of,
    is_one_line,
    named_entry,
    require,
)

# The most labels that a message lists.
MOST_LABELS_LISTED = 10


def check_dataset(dataset: str | DatasetSpec) -> None:
    """Check a data set: its facts, its usual architecture and, if it makes them, images.

    Images that lie in a folder or on the hub are not looked at, so that no network is
    needed. Of a data set that makes its images itself, both splits are.

    Args:
        dataset: a name in DATASETS, or the entry.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_dataset("mnist")
    """
    entry, spec = named_entry("data set", dataset, DATASETS)
    with contract_of(entry):
        require(
            isinstance(spec, DatasetSpec),
            f"is a {type(spec).__name__}, expected data.DatasetSpec",
        )
        if isinstance(dataset, str):
            _check_is_found_by_its_name(dataset, spec)
        _check_shape(spec)
        _check_class_names(spec)
        _check_description(spec)
        _check_augmentation(spec)
        _check_splits(spec)
        _check_normalisation(spec)
        _check_usual_architecture_takes_its_images(spec)
        if spec.read is not None:
            for split in SPLITS:
                _check_images(spec, split)


def _check_is_found_by_its_name(name: str, spec: Any) -> None:
    require(
        spec.name == name,
        f"calls itself {spec.name!r}: name and entry must be called the same",
    )
    require(
        data.describe(name) == spec,
        "is hidden by another data set or folder of its name",
    )


def _check_shape(spec: DatasetSpec) -> None:
    shape = spec.shape
    fits = (
        isinstance(shape, tuple)
        and len(shape) == 3
        and shape[0] in (1, 3)
        and 0 < shape[1] == shape[2]
    )
    require(
        fits,
        f"has the shape {shape!r}, expected (C, H, W) with C = 1 (grey) or 3 (RGB), "
        "and H = W",
    )


def _check_class_names(spec: DatasetSpec) -> None:
    classes = spec.classes
    named = isinstance(classes, tuple) and all(map(is_one_line, classes))
    different = named and len(set(classes)) == len(classes)
    require(
        different and len(classes) >= 2,
        "needs the names of at least two classes, all different, in a tuple",
    )


def _check_description(spec: DatasetSpec) -> None:
    require(
        is_one_line(spec.description),
        "needs a description of one line, for `randsmooth data list`",
    )


def _check_augmentation(spec: DatasetSpec) -> None:
    known = get_args(Augmentation)
    require(
        spec.augment in known,
        f"has augment={spec.augment!r}, expected one of {known}",
    )


def _check_splits(spec: DatasetSpec) -> None:
    for field in ("sizes", "files"):
        splits = list(getattr(spec, field))
        require(
            set(splits) == set(SPLITS),
            f"has {field} of {splits}, expected of {SPLITS}",
        )
    require(
        all(type(size) is int and size > 0 for size in spec.sizes.values()),
        f"has sizes={spec.sizes}, expected how many images each split has",
    )


def _check_normalisation(spec: DatasetSpec) -> None:
    channels = spec.shape[0]
    require(
        (spec.mean is None) == (spec.std is None),
        f"has mean={spec.mean} and std={spec.std}: give both, or neither",
    )
    for values in (spec.mean, spec.std):
        if values:
            in_range = all(0.0 < value < 1.0 for value in values)
            require(
                len(values) == channels and in_range,
                f"has mean or std {values}, expected {channels} numbers in (0, 1), as of "
                "pixels in [0, 1]",
            )


def _check_usual_architecture_takes_its_images(spec: DatasetSpec) -> None:
    channels, height, _ = spec.shape
    models.build(
        spec.arch,
        in_channels=channels,
        image_size=height,
        num_classes=spec.num_classes,
    )


def _check_images(spec: DatasetSpec, split: str) -> None:
    """Check the images that a data set makes itself."""
    assert spec.read is not None
    pixels, labels = spec.read(split)
    _check_pixels(spec, split, pixels)
    _check_labels(spec, split, labels)

    pixels_again, labels_again = spec.read(split)
    same_pixels = np.array_equal(pixels_again, pixels)
    same_labels = np.array_equal(labels_again, labels)
    require(
        same_pixels and same_labels,
        f"reads other {split} images the second time: make them from a fixed seed",
    )


def _check_pixels(spec: DatasetSpec, split: str, pixels: Any) -> None:
    shape = (spec.sizes[split], *spec.shape)
    fits = (
        isinstance(pixels, np.ndarray)
        and pixels.dtype == np.uint8
        and pixels.shape == shape
    )
    require(fits, f"reads {split} pixels that are no uint8 {shape}")


def _check_labels(spec: DatasetSpec, split: str, labels: Any) -> None:
    shape = (spec.sizes[split],)
    fits = (
        isinstance(labels, np.ndarray)
        and labels.dtype == np.int64
        and labels.shape == shape
    )
    require(fits, f"reads {split} labels that are no int64 {shape}")

    present = np.unique(labels).tolist()
    require(
        present == list(range(spec.num_classes)),
        f"has {split} labels {present[:MOST_LABELS_LISTED]}, expected each of 0 to "
        f"{spec.num_classes - 1}",
    )
