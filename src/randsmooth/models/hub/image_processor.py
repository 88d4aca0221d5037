"""What an image processor of transformers does to images, as steps on tensors; read from its configuration.

The processors themselves take 8-bit images, which noisy ones are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import InputError
from randsmooth.models.steps import Crop, Normalise, Resize, Step

FILE = "preprocessor_config.json"
# Processors that resize, crop, rescale and normalise as their settings say: whether a size that is one number is that
# of a square (else of the shorter side), and whether they crop where the settings do not say it.
KINDS = {
    "ViT": (True, False),
    "DeiT": (True, True),
    "Beit": (True, False),
    "Pvt": (True, False),
    "ConvNext": (False, False),
    "Bit": (False, True),
    "CLIP": (False, True),
}
USUAL = {"do_resize": True, "do_rescale": True, "do_normalize": True, "rescale_factor": 1 / 255}
FILTERS = {2: "bilinear", 3: "bicubic"}  # of Pillow, by their numbers
WARPED = 384  # from this side on ConvNeXt resizes without a crop
WAY_ON = "certify it from Python, with the steps that it needs: rs.wrap(model, resize=..., mean=..., std=...)"


def steps_of(folder: Path) -> list[Step]:
    """The steps of the processor whose configuration is in `folder`, for images in [0, 1].

    Raises:
        InputError: there is none, or it does something else than resizing, cropping, rescaling and normalising.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{path} is missing, so it is not known what is done to images before the network: {WAY_ON}")
    said = parse_json(read_file(path), path)
    if not isinstance(said, dict):
        raise InputError(f"{path} holds no settings of an image processor: {WAY_ON}")
    name = str(said.get("image_processor_type", said.get("feature_extractor_type", "")))
    kind = name.removesuffix("Pil").removesuffix("Fast").removesuffix("ImageProcessor").removesuffix("FeatureExtractor")
    if kind not in KINDS:
        known = ", ".join(f"{each}ImageProcessor" for each in KINDS)
        raise InputError(f"{path} is of a {shown(name or 'processor without a name')}; known are {known}: {WAY_ON}")
    settings = (
        USUAL | {"do_center_crop": KINDS[kind][1]} | {key: value for key, value in said.items() if value is not None}
    )
    try:
        return [*_geometry(kind, settings), *_values(settings)]
    except KeyError as error:
        raise InputError(f"{path} does not say its {error}: {WAY_ON}") from error
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f"{path} cannot be used ({shown(error)}): {WAY_ON}") from error


def _geometry(kind: str, settings: Mapping[str, Any]) -> list[Step]:
    steps: list[Step] = []
    if settings["do_resize"]:
        if settings["resample"] not in FILTERS:
            raise InputError(f"resample={settings['resample']!r} must be one of {FILTERS}")
        size, filter_ = _size(settings["size"], KINDS[kind][0]), FILTERS[settings["resample"]]
        if kind == "ConvNext" and isinstance(size, int):
            steps += _convnext(size, float(settings.get("crop_pct", 224 / 256)), filter_)
        else:
            steps.append(Resize(size, filter_))
    if settings["do_center_crop"]:
        steps.append(Crop(_size(settings["crop_size"], True)))
    return steps


def _convnext(side: int, share: float, filter_: str) -> list[Step]:
    """ConvNeXt's: small images are resized to more than `side` and cropped to it; large ones are warped."""
    if side >= WARPED:
        return [Resize((side, side), filter_)]
    return [Resize(int(side / share), filter_), Crop(side)]


def _values(settings: Mapping[str, Any]) -> list[Step]:
    """Rescaling and normalising; processors see pixels from 0 to 255."""
    scale = 255 * float(settings["rescale_factor"]) if settings["do_rescale"] else 255.0
    scale = 1.0 if abs(scale - 1.0) < 1e-6 else scale
    if settings["do_normalize"]:
        return [Normalise(settings["image_mean"], settings["image_std"], scale)]
    return [] if scale == 1.0 else [Normalise(None, None, scale)]


def _size(size: Any, square: bool) -> int | tuple[int, int]:
    """(height, width), or the length of the shorter side."""
    if isinstance(size, int):
        return (size, size) if square else size
    if isinstance(size, dict) and {"height", "width"} <= size.keys():
        return int(size["height"]), int(size["width"])
    if isinstance(size, dict) and size.keys() == {"shortest_edge"}:
        return int(size["shortest_edge"])
    raise InputError(f"size {size!r} must have height and width, or shortest_edge")
