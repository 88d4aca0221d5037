"""`randsmooth data list` and `randsmooth data describe`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from randsmooth.cli.options import DATASET, Images
from randsmooth.cli.settings import Argument, Unsaved, option
from randsmooth.escape import LONG, printable, say, shortened

if TYPE_CHECKING:
    from randsmooth.data import DatasetSpec


class List(Unsaved):
    """`randsmooth data list` has no settings."""


class Describe(Images):
    """Settings of `randsmooth data describe`."""

    dataset: Argument[str] = option(DATASET, ...)


def list_(settings: List) -> None:
    """List the named data sets. A name is looked for in `$RANDSMOOTH_DATA/NAME/{train,test}.parquet` first."""
    from randsmooth import data

    for name in data.DATASETS:
        words = data.DATASETS.describe(name, partial(_line, data.DATASETS.credit(name)))
        say(f"{name:15} {words}")


def _line(credit: str, spec: DatasetSpec) -> str:
    return spec.description + (f" ({credit})" if credit else "")


def describe(settings: Describe) -> None:
    """Describe a data set: image shape, classes, normalisation, augmentation, usual architecture, origin."""
    from randsmooth import data

    name, how = settings.dataset, settings.model_dump(exclude={"dataset"}, exclude_none=True)
    named = name in data.DATASETS and not how
    spec = data.DATASETS[name] if named else data.describe(name, **how)  # which loads torch
    sizes = ", ".join(f"{count:,} {split}" for split, count in spec.sizes.items())
    classes = ", ".join(spec.classes[:10]) + (", ..." if spec.num_classes > 10 else "")
    rows = {
        "name": spec.name,
        "what": spec.description,
        "images": sizes,
        "shape": " x ".join(map(str, spec.shape)) + " (channels, height, width), pixels in [0, 1]",
        "classes": f"{spec.num_classes}: {classes}" if classes else "none: the images have no labels",
        "normalisation": "none" if spec.mean is None else f"mean {spec.mean}, std {spec.std} (inside the model)",
        "augmentation": spec.augment,
        "architecture": spec.arch,
        "hub": spec.hub or "not on the hub",
    }
    for key, value in rows.items():
        say(f"{key:14} {shortened(printable(str(value)), LONG)}")
