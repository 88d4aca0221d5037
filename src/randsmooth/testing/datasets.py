"""The contract of data sets."""

from typing import Any, get_args

import numpy as np

from randsmooth import data, models
from randsmooth.data import DATASETS, SPLITS, DatasetSpec
from randsmooth.data.dataset_spec import Augmentation
from randsmooth.testing.contract import Checks, one_line, opened, run


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
    entry, spec = opened("data set", dataset, DATASETS)
    run(entry, _of_dataset(dataset if isinstance(dataset, str) else None, spec))


def _of_dataset(name: str | None, spec: Any) -> Checks:
    yield (
        isinstance(spec, DatasetSpec),
        f"is a {type(spec).__name__}, expected data.DatasetSpec",
    )
    if name is not None:
        yield (
            spec.name == name,
            f"calls itself {spec.name!r}: name and entry must be called the same",
        )
        yield (
            data.describe(name) == spec,
            "is hidden by another data set or folder of its name",
        )
    shape = spec.shape
    fits = (
        isinstance(shape, tuple)
        and len(shape) == 3
        and shape[0] in (1, 3)
        and 0 < shape[1] == shape[2]
    )
    yield (
        fits,
        f"has the shape {shape!r}, expected (C, H, W) with C = 1 (grey) or 3 (RGB), and H = W",
    )
    named = isinstance(spec.classes, tuple) and all(map(one_line, spec.classes))
    different = named and len(set(spec.classes)) == len(spec.classes) >= 2
    yield (
        different,
        "needs the names of at least two classes, all different, in a tuple",
    )
    yield (
        one_line(spec.description),
        "needs a description of one line, for `randsmooth data list`",
    )
    known = get_args(Augmentation)
    yield (
        spec.augment in known,
        f"has augment={spec.augment!r}, expected one of {known}",
    )
    for part in ("sizes", "files"):
        yield (
            {*getattr(spec, part)} == {*SPLITS},
            f"has {part} of {[*getattr(spec, part)]}, expected of {SPLITS}",
        )
    counted = all(type(size) is int and size > 0 for size in spec.sizes.values())
    yield counted, f"has sizes={spec.sizes}, expected how many images each split has"
    yield (
        (spec.mean is None) == (spec.std is None),
        f"has mean={spec.mean} and std={spec.std}: give both, or neither",
    )
    for values in (spec.mean or (), spec.std or ()):
        fits = not values or (
            len(values) == shape[0] and all(0.0 < value < 1.0 for value in values)
        )
        yield (
            fits,
            f"has mean or std {values}, expected {shape[0]} numbers in (0, 1), as of pixels in [0, 1]",
        )
    models.build(
        spec.arch,
        in_channels=shape[0],
        image_size=shape[1],
        num_classes=spec.num_classes,
    )
    for split in SPLITS if spec.read is not None else ():
        yield from _of_images(spec, split)


def _of_images(spec: DatasetSpec, split: str) -> Checks:
    assert spec.read is not None
    pixels, labels = spec.read(split)
    size, shape = spec.sizes[split], spec.shape
    fits = (
        isinstance(pixels, np.ndarray)
        and pixels.dtype == np.uint8
        and pixels.shape == (size, *shape)
    )
    yield (
        fits,
        f"reads {split} pixels that are no uint8 ({size}, {', '.join(map(str, shape))})",
    )
    fits = (
        isinstance(labels, np.ndarray)
        and labels.dtype == np.int64
        and labels.shape == (size,)
    )
    yield fits, f"reads {split} labels that are no int64 ({size},)"
    present = np.unique(labels).tolist()
    whole = present == list(range(spec.num_classes))
    yield (
        whole,
        f"has {split} labels {present[:10]}, expected each of 0 to {spec.num_classes - 1}",
    )
    again, labels_again = spec.read(split)
    same = np.array_equal(again, pixels) and np.array_equal(labels_again, labels)
    yield (
        same,
        f"reads other {split} images the second time: make them from a fixed seed",
    )
