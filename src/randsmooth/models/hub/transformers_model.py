"""Image classifiers of Hugging Face's transformers, and what their image processors do, as steps on tensors.

The processors themselves take 8-bit images, which noisy ones are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from torch import nn

from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.hub.classifier import HubClassifier
from randsmooth.models.wrapped import Step, crop_step, normalise_step, resize_step

PROCESSOR = "preprocessor_config.json"
FILES = ["config.json", PROCESSOR, "*.safetensors", "*.safetensors.index.json"]
# Processors that resize, crop, rescale and normalise as their settings say: whether a size that is one number is that
# of a square (else of the shorter side), and whether they crop where the settings do not say it.
KINDS = {
    **{"ViT": (True, False), "DeiT": (True, True), "Beit": (True, False), "Pvt": (True, False)},
    **{"ConvNext": (False, False), "Bit": (False, True), "CLIP": (False, True)},
}
USUAL = {"do_resize": True, "do_rescale": True, "do_normalize": True, "rescale_factor": 1 / 255}
FILTERS = {2: "bilinear", 3: "bicubic"}  # of Pillow, by their numbers
WARPED = 384  # from this side on ConvNeXt resizes without a crop


def from_transformers(source: Path | str, *, classes: Sequence[str] | None = None) -> HubClassifier:
    """The image classifier `hf:user/name` or `hf:FOLDER` of transformers, behind its processor's steps.

    Noise is added to the image of the data set; then it is resized, cropped, rescaled and normalised as the processor
    says, on tensors. Only safetensors are read, and no code of the repository.

    Args:
        source: a folder as `save_pretrained` writes it, with its processor, or an id on the hub. A model of the hub is
            taken from the cache where there is no network.
        classes: what its classes are called in the data set, in the model's order; default: its own names.

    Raises:
        InputError: it is not there, it is no image classifier with all of its weights, it needs code of its own, or
            its processor is not known.
    """
    named = str(source)
    folder = _local(named.removeprefix("hf:"))
    steps = steps_of(folder)
    network = _network(folder, named)
    labels = network.config.id2label
    own = [str(labels[k]) for k in range(len(labels))]
    channels = getattr(network.config, "num_channels", 3)
    return HubClassifier(network, steps, source=named, own=own, classes=classes, channels=channels)


def steps_of(folder: Path) -> list[Step]:
    """The steps of the processor whose configuration is in `folder`, for images in [0, 1].

    Raises:
        InputError: there is none, or it does something else than resizing, cropping, rescaling and normalising.
    """
    path = folder / PROCESSOR
    try:
        said = parse_json(read_file(path), path)
        name = str(said.get("image_processor_type", said.get("feature_extractor_type", "")))
        for ending in ("Pil", "Fast", "ImageProcessor", "FeatureExtractor"):
            name = name.removesuffix(ending)
        if name not in KINDS:
            raise InputError(f"it is a {shown(name or 'processor without a name')}, and known are {', '.join(KINDS)}")
        given = {key: value for key, value in said.items() if value is not None}
        settings = USUAL | {"do_center_crop": KINDS[name][1]} | given
        return [*_geometry(name, settings), *_values(settings)]
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path} does not say in a known way what is done to images before the network ({shown(error)}): certify "
            "it from Python, with the steps that it needs: rs.wrap(model, resize=..., mean=..., std=...)"
        ) from error


def _geometry(kind: str, settings: Mapping[str, Any]) -> list[Step]:
    steps: list[Step] = []
    if settings["do_resize"]:
        size, filter_ = _size(settings["size"], KINDS[kind][0]), FILTERS[settings["resample"]]
        if kind == "ConvNext" and isinstance(size, int) and size < WARPED:  # resized to more, and cropped to it
            steps += [resize_step(int(size / float(settings.get("crop_pct", 224 / 256))), filter_), crop_step(size)]
        elif kind == "ConvNext" and isinstance(size, int):
            steps.append(resize_step((size, size), filter_))
        else:
            steps.append(resize_step(size, filter_))
    return [*steps, crop_step(_size(settings["crop_size"], True))] if settings["do_center_crop"] else steps


def _values(settings: Mapping[str, Any]) -> list[Step]:
    """Rescaling and normalising; processors see pixels from 0 to 255."""
    scale = 255 * float(settings["rescale_factor"]) if settings["do_rescale"] else 255.0
    scale = 1.0 if abs(scale - 1.0) < 1e-6 else scale
    if settings["do_normalize"]:
        return [normalise_step(settings["image_mean"], settings["image_std"], scale)]
    return [] if scale == 1.0 else [normalise_step(None, None, scale)]


def _size(size: Any, square: bool) -> int | tuple[int, int]:
    """(height, width), or the length of the shorter side."""
    if isinstance(size, int):
        return (size, size) if square else size
    return int(size["shortest_edge"]) if "shortest_edge" in size else (int(size["height"]), int(size["width"]))


def _local(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(snapshot_download(name, allow_patterns=FILES))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"no folder {name}, and no such model came from the Hugging Face hub or its cache ({shown(reason)}): check "
            f"the name, or `hf download {name} --local-dir FOLDER` where there is a network, and hf:FOLDER here"
        ) from error


def _network(folder: Path, named: str) -> Any:
    """The network with its weights, in eval mode and float32."""
    with needs(named):
        import transformers
    kind = transformers.AutoModelForImageClassification
    try:
        network, loaded = kind.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,  # unless it is told so, transformers asks at the terminal
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        way_out = ""
        if "trust_remote_code" in str(error):
            way_out = "; Python code that comes with it is never run: if you trust it, name a function: file.py:NAME"
        raise InputError(
            f"{folder} cannot be loaded as an image classifier of transformers ({shown(error)}){way_out}"
        ) from error
    lacking = sorted(map(str, [*loaded["missing_keys"], *loaded["mismatched_keys"]]))
    if lacking:
        raise InputError(
            f"{folder} has no weights for {len(lacking)} tensors of the classifier, first {shown(lacking[0])}, which "
            "would be random: it was not trained to classify, or for another number of classes"
        )
    assert isinstance(network, nn.Module)
    return network.eval().requires_grad_(False)
