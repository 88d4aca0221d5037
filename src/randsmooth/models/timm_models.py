"""Image classifiers of timm, as base classifiers."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongModel
from randsmooth.extras import needs
from randsmooth.models.hub import HubClassifier
from randsmooth.models.image_steps import (
    ModelStep,
    crop_step,
    normalise_step,
    resize_step,
)
from randsmooth.models.library_folders import check_settings, read_settings

CONFIG = "config.json"

# The most tensors in a network of timm; the deepest have a few thousand.
MOST_TENSORS = 10_000

# What timm does where a configuration does not say it: it cuts out the centre, whose sides
# are this share of those of the resized image.
USUAL_SHARE = 0.875
USUAL_MODE = "center"


def from_timm(
    source: Path | str, *, classes: Sequence[str] | None = None
) -> HubClassifier:
    """Return the image classifier `timm:NAME`, behind its evaluation transform.

    Args:
        source: a name of timm, `timm:hf-hub:user/name`, or `timm:FOLDER` with its
            config.json and weights. Weights of a name are taken from the cache where
            there is no network.
        classes: the names of the classes in the data set, in the model's order;
            default: the model's own names, if any.

    Raises:
        Problem: timm cannot be imported, or it has no such model or weights.
    """
    named = str(source)
    name = named.removeprefix("timm:")
    try:
        # timm is an extra, and takes seconds to load.
        with needs(named, "timm itself needs a torchvision that fits your torch"):
            import timm.data

        config = Path(name) / CONFIG
        # A configuration in a folder may come from a stranger.
        if config.is_file():
            check_settings(read_settings(config), str(config), MOST_TENSORS)
        place = f"local-dir:{name}" if Path(name).is_dir() else name
        network: Any = timm.create_model(place, pretrained=True)
        data_config = timm.data.resolve_model_data_config(network)
    except Problem:
        raise
    # timm, the client of the hub, torch, and a torchvision for another torch all raise
    # errors of their own.
    except Exception as error:
        raise WrongModel(
            f"{named} cannot be made by timm ({type(error).__name__}: {shown(error)})",
            field="model",
            value=named,
            fix="check that timm has this name, and that torchvision fits your torch",
        ) from error

    own = network.pretrained_cfg.get("label_names")
    # Without names, the classes are called by their numbers.
    if not own:
        own = [str(k) for k in range(network.num_classes)]
    steps = timm_steps(data_config)
    return HubClassifier(network, steps, source=named, own=list(own), classes=classes)


def timm_steps(config: Mapping[str, Any]) -> list[ModelStep]:
    """Return timm's evaluation transform as steps on images in [0, 1].

    timm itself makes it by `timm.data.create_transform`, for 8-bit images.

    Args:
        config: a data configuration of timm.

    Raises:
        WrongModel: the transform does something else than resizing, cropping the middle
            and normalising.

    Example:
        >>> config = {"input_size": (3, 224, 224), "interpolation": "bicubic"}
        >>> config |= {"mean": (0.5,) * 3, "std": (0.5,) * 3}
        >>> steps = timm_steps(config | {"crop_pct": 0.9, "crop_mode": "center"})
        >>> [step.words for step in steps][:2]
        ['resized to 248 on the shorter side (bicubic)', 'the middle 224 x 224 cut out']
    """
    _, height, width = config["input_size"]
    share = config.get("crop_pct", USUAL_SHARE)
    mode = config.get("crop_mode", USUAL_MODE)
    # For sides that differ, "center" resizes in another way than below.
    if mode not in ("squash", "center") or (mode == "center" and height != width):
        raise WrongModel(
            f"crop_mode={mode!r} of timm for {height} x {width} is not known: expected "
            "center or squash",
            field="crop_mode",
            value=mode,
        )

    larger_height = math.floor(height / share)
    larger_width = math.floor(width / share)
    # "squash" gives all images these sides, "center" keeps their proportions.
    size = (larger_height, larger_width) if mode == "squash" else larger_height
    return [
        resize_step(size, config["interpolation"]),
        crop_step((height, width)),
        # timm's mean and std are for pixels in [0, 1].
        normalise_step(config["mean"], config["std"], scale=1.0),
    ]
