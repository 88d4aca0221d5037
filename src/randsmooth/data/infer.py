"""What a folder of images is, where it is no data set that has a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from randsmooth.data.catalogue import IMAGENET
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.decode import MODES, decode_many, form
from randsmooth.data.encoded import MOST_CLASSES, Encoded, check_labels
from randsmooth.data.subset import take
from randsmooth.errors import InputError

# Images, evenly spread, whose sizes, mean and standard deviation are looked at.
PROBE = 10_000
STATISTICS_BATCH = 250


def infer(name: str, splits: Mapping[str, Encoded]) -> DatasetSpec:
    """The facts that follow from `splits` themselves, from the training split where there is one.

    Images of one size keep it, with their own mean and std and no augmentation. Images of several sizes are treated as
    ImageNet's: resized and cropped to 224x224, with ImageNet's mean and std.

    Raises:
        InputError: an empty split, an image without a header, or images that are neither grey nor RGB.
    """
    encoded = splits.get("train") or next(iter(splits.values()))
    if not len(encoded.labels):
        raise InputError(f"no images in {name}: each split needs some, in Parquet files or class folders")
    probe = take(len(encoded.labels), min(PROBE, len(encoded.labels)))
    forms = _forms(encoded, probe)
    spec = replace(
        IMAGENET,
        name=name,
        classes=encoded.classes or _numbered(splits),
        hub=None,
        sizes={split: len(each.labels) for split, each in splits.items()},
        description=f"{len(encoded.labels)} training images of {name}",
    )
    if len({(height, width) for _, height, width in forms}) > 1:
        return spec
    shape = _shape(forms, name)
    exact = replace(spec, shape=shape, augment="none", arch=_arch(shape), resize=None)
    mean, std = _statistics(encoded, probe, exact)
    return replace(exact, mean=mean, std=std)


def _forms(encoded: Encoded, probe: Tensor) -> set[tuple[str, int, int]]:
    """The (mode, height, width) that occur among the images at `probe`, from their headers."""
    found = set()
    for index in probe.tolist():
        with encoded.open(index) as stream:
            found.add(form(stream, encoded.where(index)))
    return found


def _numbered(splits: Mapping[str, Encoded]) -> tuple[str, ...]:
    """Class names for labels without names: "0", "1", ... up to the largest label.

    Raises InputError for a label beyond the number of classes that is allowed.
    """
    for split, each in splits.items():
        if len(each.labels):
            check_labels(each, MOST_CLASSES, split)
    largest = max(int(each.labels.max()) for each in splits.values() if len(each.labels))
    return tuple(str(label) for label in range(largest + 1))


def _shape(forms: set[tuple[str, int, int]], name: str) -> tuple[int, int, int]:
    """(C, H, W) of images that agree in size. Raises InputError unless all are grey or all are RGB."""
    modes = {mode for mode, _, _ in forms}
    _, height, width = next(iter(forms))
    for channels, mode in MODES.items():
        if modes == {mode}:
            return channels, height, width
    raise InputError(f"the images of {name} have modes {', '.join(sorted(modes))}: convert all to L or to RGB")


def _arch(shape: tuple[int, int, int]) -> str:
    known = {(1, 28, 28): "lenet", (3, 32, 32): "resnet110"}
    return known.get(shape, "small-cnn" if max(shape[1:]) < 28 else "resnet50")


def _statistics(encoded: Encoded, probe: Tensor, spec: DatasetSpec) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over the probed images, in [0, 1], to 4 digits."""
    total = torch.zeros(2, spec.shape[0], dtype=torch.float64)
    for start in range(0, len(probe), STATISTICS_BATCH):
        x = decode_many(encoded, probe[start : start + STATISTICS_BATCH], spec).double() / 255
        total += torch.stack([x.mean((2, 3)).sum(0), x.square().mean((2, 3)).sum(0)])
    mean, square = total / len(probe)
    std = (square - mean.square()).clamp_min(0).sqrt()
    # A channel without any variation is not scaled.
    return _rounded(mean), tuple(value or 1.0 for value in _rounded(std))


def _rounded(values: Tensor) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values.tolist())
