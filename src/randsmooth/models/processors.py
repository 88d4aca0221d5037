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

# The number of a filter of Pillow -> its name.
FILTERS = {2: "bilinear", 3: "bicubic"}

# Rounding leaves a product of a processor's factor and 255 so far from 1.
ROUNDING = 1e-6


class ProcessorKind(NamedTuple):
    """What a kind of processors does where its settings do not say it.

    Attributes:
        square: whether a size that is one number is that of a square, else of the
            shorter side.
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
# What all of them do where their settings do not say it.
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
    """Return the steps of the processor in `folder`, for images in [0, 1].

    Raises:
        WrongModel: there is no configuration of one, or it does something else than
            resizing, cropping, rescaling and normalising.
    """
    path = folder / PROCESSOR
    try:
        settings = read_settings(path)
        kind = _kind_of(settings)
        said = {name: value for name, value in settings.items() if value is not None}
        return _steps(kind, USUAL | {"do_center_crop": kind.crops} | said)
    except Problem as error:
        reason = str(error)
        cause: Exception = error
    # A setting of an odd value may raise anything.
    except Exception as error:
        reason = "a setting has a value that no processor has"
        cause = error
    raise WrongModel(
        f"{path} does not say in a known way what images need ({shown(reason)})",
        file=path,
        fix=WRAP,
    ) from cause


def _kind_of(settings: Mapping[str, Any]) -> ProcessorKind:
    """Return the kind of the processor that has these settings."""
    name = settings.get("image_processor_type")
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
    """Return the steps that a processor's settings say."""
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
    if mean is not None or std is not None or scale != 1.0:
        steps.append(normalise_step(mean, std, scale))
    return steps


def _setting(settings: Mapping[str, Any], name: str) -> Any:
    if name not in settings:
        raise WrongModel(f"it does not say {name!r}", field=name)
    return settings[name]


def _filter(number: Any) -> str:
    """Return the interpolation that Pillow has under a number."""
    if number not in FILTERS:
        known = " or ".join(f"{key} ({name})" for key, name in FILTERS.items())
        raise WrongModel(
            f"resample={shown(repr(number))}; expected {known}",
            field="resample",
            value=number,
        )
    return FILTERS[number]


def _scale(settings: Mapping[str, Any]) -> float:
    """Return what pixels in [0, 1] are multiplied by.

    A processor sees them from 0 to 255.
    """
    if not settings["do_rescale"]:
        return 255.0
    scale = 255 * float(settings["rescale_factor"])
    return 1.0 if abs(scale - 1.0) < ROUNDING else scale


def _size(size: Any, *, square: bool) -> int | tuple[int, int]:
    """Return (height, width), or the length of the shorter side.

    Args:
        size: the size in the settings.
        square: whether one number is the side of a square.
    """
    if isinstance(size, Mapping):
        if "shortest_edge" in size:
            return _side(size["shortest_edge"])
        return _side(_setting(size, "height")), _side(_setting(size, "width"))
    side = _side(size)
    return (side, side) if square else side


def _side(length: Any) -> int:
    """Return the length of a side, once it is sure that it is one."""
    whole = isinstance(length, int) and not isinstance(length, bool)
    if not whole or not 1 <= length <= LARGEST_SIDE:
        raise WrongModel(
            f"images of {shown(repr(length))} pixels; expected 1 to {LARGEST_SIDE:,} a "
            "side",
            field="size",
            value=length,
        )
    return int(length)
