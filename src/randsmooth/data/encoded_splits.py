"""Splits of compressed images: the spec that follows from them, and images of a split."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import torch

from randsmooth.data.choosing import sample
from randsmooth.data.dataset_spec import DatasetSpec, spec_of_own_data
from randsmooth.data.decode import WHITE, ImageHeader, check_brightest, image_header
from randsmooth.data.encoded import Encoded
from randsmooth.data.image_size import Fit, one_shape
from randsmooth.data.images import Images, StreamedImages, TensorImages
from randsmooth.data.labels import check_labels, numbered, renumbered
from randsmooth.data.pixel_modes import channels_of
from randsmooth.data.registry import DATASETS
from randsmooth.data.request import Request
from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongData

# The most images whose sizes, modes and brightest pixels are looked at, evenly spread.
SAMPLED_IMAGES = 10_000


def spec_of_splits(
    name: str, splits: Mapping[str, Encoded], fit: Fit | None = None
) -> DatasetSpec:
    """Return the spec of a user's data set, as its images and labels show it.

    The training split decides, or another where there is none. Images of one size keep it,
    and are trained on without augmentation; those of several sizes must be brought to one by
    `fit`. Grey images stay grey; if some are in colour, all are RGB.

    Args:
        name: the name for the data set.
        splits: split -> its images.
        fit: how the user wants them resized and cropped.

    Raises:
        Problem: an empty split, an image without a header, images of several sizes, or
            of a mode that is not converted.
    """
    encoded = splits.get("train") or next(iter(splits.values()))
    if not len(encoded):
        raise WrongData(
            f"no images in {name}: each split needs some, in Parquet files or class "
            "folders"
        )

    headers = _headers(encoded)
    modes = {image.mode for image in headers}
    channels = channels_of(modes)
    if channels is None:
        raise WrongData(
            f"the images of {name} have modes {', '.join(sorted(modes))}",
            fix="convert all to L or to RGB, with 8 bits",
        )

    sides = {(image.height, image.width) for image in headers}
    labels = torch.cat([split.labels for split in splits.values()])
    spec = spec_of_own_data(
        name,
        {split: len(images) for split, images in splits.items()},
        one_shape(channels, sides, fit, name),
        encoded.classes or numbered(labels),
        named=encoded.classes is not None,
        fit=fit,
        alphabetical=encoded.alphabetical,
    )
    if len(sides) == 1:
        return spec
    # Photographs of several sizes are trained on as ImageNet's are.
    return replace(spec, augment=DATASETS["imagenet"].augment)


def _headers(encoded: Encoded) -> set[ImageHeader]:
    """Return the different headers among at most SAMPLED_IMAGES images."""
    headers = set[ImageHeader]()
    for index in sample(len(encoded), SAMPLED_IMAGES):
        with encoded.open(index) as stream:
            headers.add(image_header(stream, encoded.where(index)))
    return headers


def images_of_split(
    spec: DatasetSpec, split: str, encoded: Encoded, request: Request
) -> Images:
    """Return a split of compressed images, decoded now or when they are asked for.

    Args:
        spec: the spec of the data set.
        split: "train", "validation" or "test".
        encoded: its images.
        request: the split and the columns that the user asks for.

    Raises:
        WrongData: there are no images, their labels are none of the data set's, or an
            image cannot be used.
    """
    if not len(encoded):
        raise WrongData(f"no images in {spec.name} ({split})")
    check_labels(encoded.labels, spec.num_classes, encoded.where)
    if spec.convert:
        what = f"every image of {spec.name} ({split})"
        check_brightest(_brightest(spec, encoded), what, WHITE)

    if spec.streams or request.stream:
        return StreamedImages(spec, split, encoded, request.device)
    pixels = encoded.read_many(torch.arange(len(encoded)), spec)
    return TensorImages(spec, split, pixels, encoded.labels, request.device)


def _brightest(spec: DatasetSpec, encoded: Encoded) -> int:
    """Return the value of the brightest pixel among at most SAMPLED_IMAGES images.

    Reading stops at the first image with a value above 1: only whether there is one matters.
    """
    brightest = 0
    for index in sample(len(encoded), SAMPLED_IMAGES):
        # An image that cannot be used is reported when it is asked for.
        with suppress(Problem):
            brightest = max(brightest, int(encoded.read(index, spec).max()))
        if brightest > 1:
            break
    return brightest


def number_alike(splits: Mapping[str, Encoded], source: object) -> None:
    """Give classes that have names the numbers that they have in the training split.

    Another split numbers its classes by itself, and may lack some of them.

    Args:
        splits: split -> its images, whose labels are changed in place.
        source: names the data in errors.

    Raises:
        WrongData: a split has a class that the training split lacks.
    """
    train = splits.get("train")
    if train is None or train.classes is None:
        return
    for split, encoded in splits.items():
        if not encoded.labelled or encoded.classes in (None, train.classes):
            continue
        unknown = set(encoded.classes) - set(train.classes)
        if unknown:
            raise WrongData(
                f"{shown(source)} has the class {min(unknown)!r} in {split}; known in "
                f"train are {', '.join(train.classes)}"
            )
        encoded.labels = renumbered(encoded.labels, encoded.classes, train.classes)
        encoded.classes = train.classes
