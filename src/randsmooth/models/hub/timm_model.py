"""Image classifiers of timm, whose own import needs a torchvision that fits torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.hub.classifier import HubClassifier
from randsmooth.models.wrapped import Step, crop_step, normalise_step, resize_step


def from_timm(source: Path | str, *, classes: Sequence[str] | None = None) -> HubClassifier:
    """The image classifier `timm:NAME` of timm, behind its evaluation transform.

    Args:
        source: a name of timm, `timm:hf-hub:user/name`, or `timm:FOLDER` with its config.json and weights. Weights of a
            name are taken from the cache where there is no network.
        classes: what its classes are called in the data set, in the model's order; default: its own names, if any.

    Raises:
        InputError: timm cannot be imported, or it has no such model or weights.
    """
    named, name = str(source), str(source).removeprefix("timm:")
    with needs(named, "timm itself needs a torchvision that fits your torch"):
        try:
            import timm
            import timm.data
        except Exception as error:  # a torchvision for another torch raises what it likes
            if isinstance(error, ModuleNotFoundError) and error.name != "torchvision":
                raise
            raise InputError(
                f"timm cannot be imported ({shown(error)}): install the torchvision for your torch"
            ) from error
    try:
        network: nn.Module = timm.create_model(f"local-dir:{name}" if Path(name).is_dir() else name, pretrained=True)
    except Exception as error:  # timm, its hub client and torch each raise errors of their own
        raise InputError(f"{named} cannot be made by timm ({type(error).__name__}: {shown(error)})") from error
    said: Any = network.pretrained_cfg
    config = timm.data.resolve_model_data_config(network)
    own = list(said.get("label_names") or map(str, range(int(getattr(network, "num_classes", 0)))))
    return HubClassifier(
        network.requires_grad_(False),
        timm_steps(config),
        source=named,
        own=own,
        classes=classes,
        channels=int(config["input_size"][0]),
    )


def timm_steps(config: Mapping[str, Any]) -> list[Step]:
    """The evaluation transform that `timm.data.create_transform` makes of a data configuration, for images in [0, 1].

    Raises:
        InputError: it does something else than resizing, cropping the middle and normalising.

    Example:
        >>> config = {"input_size": (3, 224, 224), "interpolation": "bicubic", "mean": (0.5,) * 3, "std": (0.5,) * 3}
        >>> [step.words for step in timm_steps(config | {"crop_pct": 0.9, "crop_mode": "center"})][:2]
        ['resized to 248 on the shorter side (bicubic)', 'the middle 224 x 224 cut out']
    """
    _, height, width = config["input_size"]
    share, mode = config.get("crop_pct", 0.875), config.get("crop_mode", "center")
    larger = math.floor(height / share), math.floor(width / share)
    if mode not in ("squash", "center") or (mode == "center" and height != width):
        raise InputError(f"crop_mode={mode!r} of timm for {height} x {width} is not known: expected center or squash")
    resize = resize_step(larger if mode == "squash" else larger[0], config["interpolation"])
    return [resize, crop_step((height, width)), normalise_step(config["mean"], config["std"], 1.0)]
