"""The base classifier: a network behind its normalisation, with all that rebuilds it."""

from __future__ import annotations

import json
import math
from typing import Any

import torch
from huggingface_hub import ModelCard, PyTorchModelHubMixin
from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models import card
from randsmooth.models.registry import build


class Classifier(
    nn.Module,
    PyTorchModelHubMixin,
    library_name="randsmooth",
    tags=["randomized-smoothing", "certified-robustness"],
    license="apache-2.0",
    pipeline_tag="image-classification",
    model_card_template=card.TEMPLATE,
):
    """logits(x) = network((x - mean) / std): normalisation is the first layer, so noise comes before it.

    Args:
        arch: a name that `registry.build` knows.
        classes: the K class names, in the order of the logits.
        shape: (C, H, W) of an image, H = W.
        mean, std: C numbers each in [0, 1] units, or None for no normalisation.
        provenance: plain JSON, as the trainer wrote it: dataset, sigma, method, hyperparameters, seed,
            epochs, versions. It is copied; {} if unknown. (`training` is nn.Module's own flag.)

    Raises:
        InputError: any of these does not fit.
    """

    mean: Tensor | None
    std: Tensor | None
    _hub_mixin_config: dict[str, Any]  # what the mixin writes to config.json

    def __init__(
        self,
        *,
        arch: str,
        classes: list[str],
        shape: list[int] | tuple[int, int, int],
        mean: list[float] | None = None,
        std: list[float] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.arch = arch
        self.classes = _checked_classes(classes)
        self.shape = _checked_shape(shape)
        channels, side, _ = self.shape
        self.network = build(arch, in_channels=channels, image_size=side, num_classes=self.num_classes)
        _check_normalisation(mean, std, channels)
        self.register_buffer("mean", _per_channel(mean), persistent=False)
        self.register_buffer("std", _per_channel(std), persistent=False)
        self._hub_mixin_config = {"arch": arch, "classes": self.classes, "shape": list(self.shape)}
        self._hub_mixin_config |= {"mean": _listed(mean), "std": _listed(std)}
        self.provenance = provenance or {}

    @property
    def num_classes(self) -> int:
        """K, the number of logits."""
        return len(self.classes)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that rebuild this classifier, as plain JSON."""
        return self._hub_mixin_config

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the weights come from; assign a new dictionary to change it (it must be plain JSON)."""
        return self._hub_mixin_config["provenance"]  # type: ignore[no-any-return]

    @provenance.setter
    def provenance(self, value: dict[str, Any]) -> None:
        self._hub_mixin_config["provenance"] = _plain_json(value)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W): in [0, 1] before noise, any real numbers after it."""
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        return self.network(x)  # type: ignore[no-any-return]

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """The mixin's hook: our template with this model's provenance."""
        return super().generate_model_card(*args, **card.fields(self.config), **kwargs)

    @classmethod
    def _from_pretrained(cls, *, strict: bool = True, **kwargs: Any) -> Classifier:
        # The mixin is lenient by default: a layer without weights would stay random and be certified.
        return super()._from_pretrained(strict=strict, **kwargs)  # type: ignore[no-any-return]

    @classmethod
    def _load_as_pickle(cls, model: Any, model_file: str, map_location: str, strict: bool) -> Any:
        # The mixin falls back to pickle where safetensors are missing.
        raise InputError(f"{model_file}: pickle is never loaded, it can run code; convert it to model.safetensors")


def _checked_classes(classes: list[str]) -> list[str]:
    named = isinstance(classes, (list, tuple)) and all(isinstance(name, str) for name in classes)
    if not named or len(classes) < 2 or len(set(classes)) < len(classes):
        raise InputError(f"classes={classes!r}: expected at least two different names, such as ['0', '1']")
    return list(classes)


def _checked_shape(shape: list[int] | tuple[int, int, int]) -> tuple[int, int, int]:
    whole = isinstance(shape, (list, tuple)) and all(type(side) is int and side > 0 for side in shape)
    if not whole or len(shape) != 3 or shape[1] != shape[2]:
        raise InputError(f"shape={shape!r}: expected [C, H, W] with H = W, such as [3, 32, 32]; crop or pad to it")
    return shape[0], shape[1], shape[2]


def _check_normalisation(mean: list[float] | None, std: list[float] | None, channels: int) -> None:
    if (mean is None) != (std is None):
        raise InputError(f"mean={mean!r} and std={std!r}: give both, or neither for no normalisation")
    for name, values in (("mean", mean), ("std", std)):
        if values is not None and not _finite_numbers(values, channels):
            raise InputError(f"{name}={values!r}: expected {channels} finite numbers, one a channel")
    if std is not None and min(std) <= 0:
        raise InputError(f"std={std!r}: expected positive numbers; pass neither mean nor std to leave them out")


def _finite_numbers(values: Any, count: int) -> bool:
    numbers = isinstance(values, (list, tuple)) and all(type(v) in (int, float) for v in values)
    return numbers and len(values) == count and all(map(math.isfinite, values))


def _per_channel(values: list[float] | None) -> Tensor | None:
    return None if values is None else torch.tensor(values, dtype=torch.float32).reshape(1, -1, 1, 1)


def _listed(values: list[float] | None) -> list[float] | None:
    return None if values is None else list(values)


def _plain_json(provenance: dict[str, Any]) -> dict[str, Any]:
    """A copy as it will be read back from config.json (tuples become lists, keys strings)."""
    if not isinstance(provenance, dict):
        raise InputError(f"provenance={provenance!r}: expected a dictionary, {{}} if nothing is known")
    try:
        return json.loads(json.dumps(provenance, allow_nan=False))  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance is not plain JSON ({error}): use str, int, float, list and dict") from None
