"""Image processors of transformers, as steps on tensors."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongModel
from randsmooth.models.image_steps import (
    ModelStep,
    crop_step,
    normalise_step,
    resize_step,
)
from randsmooth.models.library_folders import read_settings

PROCESSOR = "preprocessor_config.json"

# The longest side, in pixels, to which images are brought.
LARGEST_SIDE = 2**13

# The number of a filter in Pillow, as processors name it -> its name.
FILTERS = {2: "bilinear", 3: "bicubic"}

# A factor of 1/255 is written with few digits: times 255, it differs from 1 by less than this.
ROUNDING = 1e-6


class ProcessorKind(NamedTuple):
    """What processors of one kind do where their settings leave it open.

    Attributes:
        square: whether a size that is a single number is the side of a square; else it is
            the length of the shorter side.
        crops: whether the centre is cut out.
    """

    square: bool
    crops: bool


# Processors that resize, crop, rescale and normalise as their settings say.
KINDS = {
    "ViT": ProcessorKind(square=True, crops=False),
    "DeiT": ProcessorKind(square=True, crops=True),
    "Beit": ProcessorKind(square=True, crops=False),
    "Pvt": ProcessorKind(square=True, crops=False),
    "Bit": ProcessorKind(square=False, crops=True),
    "CLIP": ProcessorKind(square=False, crops=True),
}
# What processors of all kinds do where their settings leave it open.
USUAL = {
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "rescale_factor": 1 / 255,
}
# What follows the kind in the name of a processor.
ENDING = re.compile(r"(ImageProcessor|FeatureExtractor)(Fast|Pil)?$")

WRAP = (
    "certify it from Python, with the steps that it needs: rs.wrap(model, resize=..., "
    "mean=..., std=...)"
)


def steps_of(folder: Path) -> list[ModelStep]:
    """Return what the processor in `folder` does to images, as steps on images in [0, 1].

    Raises:
        WrongModel: the folder has no configuration of a processor, or the processor does
            something else than resizing, cropping, rescaling and normalising.
    """
    path = folder / PROCESSOR
    try:
        settings = read_settings(path)
        kind = _kind_of(settings)
        # A setting of null is left open too.
        given = {name: value for name, value in settings.items() if value is not None}
        defaults = USUAL | {"do_center_crop": kind.crops}
        return _steps(kind, defaults | given)
    except Problem as error:
        reason = str(error)
        cause: Exception = error
    # A setting with an unexpected value may raise anything.
    except Exception as error:
        reason = "a setting has a value that no processor has"
        cause = error
    raise WrongModel(
        f"{path} describes the needs of its images in no known way ({shown(reason)})",
        file=path,
        fix=WRAP,
    ) from cause


def _kind_of(settings: Mapping[str, Any]) -> ProcessorKind:
    """Return the kind of the processor that has these settings.

    Raises:
        WrongModel: it is none of KINDS.
    """
    name = settings.get("image_processor_type")
    # Old files have this setting in its place.
    if name is None:
        name = settings.get("feature_extractor_type", "")
    kind = ENDING.sub("", str(name))
    if kind not in KINDS:
        called = kind or "processor without a name"
        raise WrongModel(
            f"it is a {shown(called)}, and known are {', '.join(KINDS)}",
            field="image_processor_type",
            value=name,
        )
    return KINDS[kind]


def _steps(kind: ProcessorKind, settings: Mapping[str, Any]) -> list[ModelStep]:
    """Return the steps that a processor's settings ask for, in its order.

    Args:
        kind: the kind of the processor.
        settings: its settings, with defaults for those that it leaves open.

    Raises:
        WrongModel: a setting is missing, or has a value that is not known.
    """
    steps = list[ModelStep]()
    if settings["do_resize"]:
        size = _size(_setting(settings, "size"), square=kind.square)
        steps.append(resize_step(size, _filter(_setting(settings, "resample"))))
    if settings["do_center_crop"]:
        window = _size(_setting(settings, "crop_size"), square=True)
        steps.append(crop_step(window))

    mean = None
    std = None
    if settings["do_normalize"]:
        mean = _setting(settings, "image_mean")
        std = _setting(settings, "image_std")
    scale = _scale(settings)
    # A step that changes nothing is not listed in a certificate.
    if mean is not None or std is not None or scale != 1.0:
        steps.append(normalise_step(mean, std, scale))
    return steps


def _setting(settings: Mapping[str, Any], name: str) -> Any:
    """Return the value of a setting, which must be there."""
    if name not in settings:
        raise WrongModel(f"it does not say {name!r}", field=name)
    return settings[name]


def _filter(number: Any) -> str:
    """Return the name of the interpolation to which Pillow gives a number."""
    if number not in FILTERS:
        known = " or ".join(f"{key} ({name})" for key, name in FILTERS.items())
        raise WrongModel(
            f"resample={shown(repr(number))}; expected {known}",
            field="resample",
            value=number,
        )
    return FILTERS[number]


def _scale(settings: Mapping[str, Any]) -> float:
    """Return the factor by which images in [0, 1] are multiplied.

    A processor takes pixels from 0 to 255, and multiplies them by its own factor, usually
    1/255.
    """
    if not settings["do_rescale"]:
        return 255.0
    scale = 255 * float(settings["rescale_factor"])
    return 1.0 if abs(scale - 1.0) < ROUNDING else scale


def _size(size: Any, *, square: bool) -> int | tuple[int, int]:
    """Return (height, width), or the length of the shorter side.

    Args:
        size: the size in the settings: a number, or lengths by name.
        square: whether a single number is the side of a square.
    """
    if isinstance(size, Mapping):
        if "shortest_edge" in size:
            return _side(size["shortest_edge"])
        return _side(_setting(size, "height")), _side(_setting(size, "width"))
    side = _side(size)
    return (side, side) if square else side


def _side(length: Any) -> int:
    """Return the length of a side, which must be a whole number in range."""
    is_whole = isinstance(length, int) and not isinstance(length, bool)
    if not is_whole or not 1 <= length <= LARGEST_SIDE:
        raise WrongModel(
            f"images of {shown(repr(length))} pixels; expected 1 to {LARGEST_SIDE:,} a "
            "side",
            field="size",
            value=length,
        )
    return int(length)
