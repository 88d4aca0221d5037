"""Image classifiers of Hugging Face's transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from torch import nn

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.hub.classifier import HubClassifier, given_classes
from randsmooth.models.hub.image_processor import steps_of
from randsmooth.models.hub.places import HF

FILES = ["config.json", "preprocessor_config.json", "*.safetensors", "*.safetensors.index.json"]
LOADING = ("_weight_conversions",)  # attributes that remember how weights were loaded, and change no answer


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
    named = f"{source}"
    folder = _local(named.removeprefix(HF))
    steps = steps_of(folder)
    network = _network(folder, named)
    labels = network.config.id2label
    own = [str(labels[k]) for k in range(len(labels))]
    channels = getattr(network.config, "num_channels", 3)
    return HubClassifier(network, steps, source=named, classes=given_classes(own, classes, named), channels=channels)


def _local(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(snapshot_download(name, allow_patterns=FILES))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"no folder {name}, and no such model came from the Hugging Face hub or its cache ({shown(reason)}): "
            f"check the name; without a network, `hf download {name} --local-dir FOLDER` where there is one, "
            "and hf:FOLDER here"
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
        if "trust_remote_code" in str(error):
            raise InputError(
                f"{folder} needs Python code that comes with it, which is never run. If you trust it, load the model "
                "in a function of yours, and name that: file.py:NAME"
            ) from error
        raise InputError(
            f"{folder} cannot be loaded as an image classifier of transformers ({shown(error)})"
        ) from error
    lacking = sorted(map(str, [*loaded["missing_keys"], *loaded["mismatched_keys"]]))
    if lacking:
        raise InputError(
            f"{folder} has no weights for {len(lacking)} tensors of the classifier, first {shown(lacking[0])}, which "
            "would be random: it was not trained to classify, or for another number of classes"
        )
    assert isinstance(network, nn.Module)
    for name in LOADING:
        vars(network).pop(name, None)
    return network.eval().requires_grad_(False)
