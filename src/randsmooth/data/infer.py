"""What a user's own images are: what a data set with a name says of itself is here taken from the images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from randsmooth.data.dataset_spec import DatasetSpec, Fit, Sides
from randsmooth.data.decode import RESIZE, Encoded, channels_of, form
from randsmooth.data.images import Device, Images, take
from randsmooth.data.labels import MOST_CLASSES, USUAL, ColumnNames, check_labels
from randsmooth.data.registry import DATASETS
from randsmooth.errors import InputError

# Images, evenly spread, whose sizes, mean and standard deviation are looked at.
PROBE = 10_000
STATISTICS_BATCH = 250


@dataclass(frozen=True)
class Request:
    """What is asked of a data set: the arguments of `data.load`. A split None is "train", or the one there is."""

    split: str | None
    columns: ColumnNames = USUAL
    fit: Fit | None = None
    device: Device = "cpu"
    stream: bool = False

    @property
    def called(self) -> str:
        """What a data set without splits is taken for."""
        return self.split or "train"


def own(name: str, sizes: dict[str, int], classes: tuple[str, ...] | None, fit: Fit | None = None) -> DatasetSpec:
    """The spec of a user's own data before its images are looked at; without `classes` a model may know any."""
    unknown: dict[str, Any] = {"shape": (3, 224, 224), "arch": "resnet50", "mean": None, "std": None, "hub": None}
    known: dict[str, Any] = {"sizes": sizes, "fit": fit, "convert": True, "open_ended": classes is None}
    words = f"{next(iter(sizes.values())):,} images of {name}"
    return DatasetSpec(name=name, classes=classes or (), augment="none", description=words, **unknown, **known)


def infer(name: str, splits: Mapping[str, Encoded], fit: Fit | None = None) -> DatasetSpec:
    """The facts that follow from `splits` themselves, from the training split where there is one.

    Images of one size keep it, with no augmentation; those of several must be brought to one by `fit`. Grey images stay
    grey; if some are in colour, all are RGB.

    Raises:
        InputError: an empty split, an image without a header, images of several sizes, or of a mode that is not
            converted.
    """
    encoded = splits.get("train") or next(iter(splits.values()))
    if not len(encoded):
        raise InputError(f"no images in {name}: each split needs some, in Parquet files or class folders")
    forms = set()  # mode, height and width, upright, from the headers
    for index in take(len(encoded), min(PROBE, len(encoded))).tolist():
        with encoded.open(index) as stream:
            forms.add(form(stream, encoded.where(index), turn=True))
    for split, each in splits.items():
        if len(each):
            check_labels(each.labels, MOST_CLASSES, each.where, split)
    every = torch.cat([each.labels for each in splits.values()])
    spec = own(name, {split: len(each) for split, each in splits.items()}, encoded.classes, fit)
    spec = spec if encoded.classes else replace(spec, classes=numbered(every))
    channels = channels_of({mode for mode, _, _ in forms})
    if channels is None:
        modes = ", ".join(sorted({mode for mode, _, _ in forms}))
        raise InputError(f"the images of {name} have modes {modes}: convert all to L or to RGB, with 8 bits")
    sides = {(height, width) for _, height, width in forms}
    spec = with_shape(spec, channels, sides, name)
    # photographs of several sizes are trained on as ImageNet's are
    return replace(spec, augment=DATASETS["imagenet"].augment) if len(sides) > 1 else spec


def numbered(labels: Tensor) -> tuple[str, ...]:
    """Class names for labels without names: "0", "1", ... up to the largest label; none without labels."""
    return tuple(str(k) for k in range(int(labels.max()) + 1))


def with_shape(spec: DatasetSpec, channels: int, sides: set[Sides], source: str) -> DatasetSpec:
    """`spec` for images of so many channels, and of the one size that its `fit` makes of these `sides`.

    Raises:
        InputError: it makes several sizes of them.
    """
    found = sorted({spec.fit.sides(each, f"an image of {source}") if spec.fit else each for each in sides})
    if len(found) > 1:
        shown = ", ".join(f"{height}x{width}" for height, width in found[:3])
        raise InputError(
            f"the images of {source} have {len(found)} sizes{' after resizing' if spec.fit else ''} ({shown}"
            f"{', ...' if len(found) > 3 else ''}): {RESIZE}"
        )
    shape = (channels, *found[0])
    return replace(spec, shape=shape, arch=arch_for(shape))


def refitted(spec: DatasetSpec, fit: Fit | None) -> DatasetSpec:
    """The spec of a named data set whose images a user wants resized or cropped in another way than usual."""
    if fit is None:
        return spec
    usual = spec.fitting or Fit()
    fit = Fit(usual.resize if fit.resize is None else fit.resize, usual.crop if fit.crop is None else fit.crop)
    cut = fit.crop if spec.resize is not None else None  # whose images are of any size
    height, width = cut or fit.sides(spec.shape[1:], f"an image of {spec.name}")
    return replace(spec, fit=fit, shape=(spec.shape[0], height, width))


def arch_for(shape: tuple[int, int, int]) -> str:
    known = {(1, 28, 28): "lenet", (3, 32, 32): "resnet110"}
    return known.get(shape, "small-cnn" if max(shape[1:]) < 28 else "resnet50")


def with_statistics(spec: DatasetSpec, images: Images) -> DatasetSpec:
    """`spec` with mean and standard deviation of each channel over (some of) the images, in [0, 1], to 4 digits."""
    probe = take(len(images), min(PROBE, len(images)))
    total = torch.zeros(2, spec.shape[0], dtype=torch.float64)
    for start in range(0, len(probe), STATISTICS_BATCH):
        x = images.batch(probe[start : start + STATISTICS_BATCH])[0].double()
        total += torch.stack([x.mean((2, 3)).sum(0), x.square().mean((2, 3)).sum(0)]).cpu()
    mean, square = total / len(probe)
    std = (square - mean.square()).clamp_min(0).sqrt()
    rounded = [tuple(round(value, 4) for value in values.tolist()) for values in (mean, std)]
    return replace(spec, mean=rounded[0], std=tuple(value or 1.0 for value in rounded[1]))  # what is constant stays
