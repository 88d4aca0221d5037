"""What classifiers and denoisers share: a configuration, the provenance of their weights, and a folder to keep both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import torch
from huggingface_hub import ModelCard, PyTorchModelHubMixin
from torch import nn

from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError
from randsmooth.models import stored
from randsmooth.models.size_limit import SizeLimit

MOST_PROVENANCE = 2**20  # bytes as JSON; a training run's takes a few hundred
M = TypeVar("M", bound=nn.Module)


class StoredModel(nn.Module, PyTorchModelHubMixin, library_name="randsmooth", license="apache-2.0"):
    """A network that is rebuilt from the plain JSON in `config` and its weights.

    A subclass names its `kind`, one of `stored.KINDS`; sets `_hub_mixin_config` to its arguments and then `provenance`;
    and tells its card's template what to print, in `card_fields`.
    """

    kind: ClassVar[str]
    _hub_mixin_config: dict[str, Any]  # what the mixin writes to config.json

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that rebuild this model, as plain JSON."""
        return self._hub_mixin_config

    @property
    def provenance(self) -> dict[str, Any]:
        """How the weights were trained. To change it, assign a new dictionary, which must be plain JSON."""
        return self._hub_mixin_config["provenance"]  # type: ignore[no-any-return]

    @provenance.setter
    def provenance(self, value: dict[str, Any]) -> None:
        self._hub_mixin_config["provenance"] = _plain_json(value)

    def card_fields(self) -> dict[str, Any]:
        """What the template of the model's card needs."""
        raise NotImplementedError

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """The mixin's hook: our template with this model's provenance."""
        return super().generate_model_card(*args, **self.card_fields(), **kwargs)

    def _save_pretrained(self, save_directory: Path) -> None:
        """The mixin's hook: the weights, and a config.json that vouches for them and for itself."""
        super()._save_pretrained(save_directory)
        stored.write_config(self.config, save_directory)

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: Path | str, *, map_location: torch.device | str = "cpu", **hub: Any
    ) -> Self:
        """As `models.load` and `models.load_denoiser`, which call this.

        Args:
            pretrained_model_name_or_path: a folder, or the hub's "user/name".
            map_location: the device to load to.
            hub: options of huggingface_hub's `snapshot_download`.
        """
        # The mixin's own would read config.json without limits, forgive layers without weights, and turn to pickle.
        folder = stored.local(pretrained_model_name_or_path, **hub)
        return moved(cls.from_stored(stored.read(folder), folder), map_location)

    @classmethod
    def from_stored(cls, content: stored.Stored, folder: Path) -> Self:
        """The model of a folder's `content`, in eval mode; InputError where its parts do not fit."""
        if content.kind != cls.kind:
            raise InputError(f"{folder} holds a {content.kind}, not a {cls.kind}: {stored.USES[content.kind]}")
        size = sum(tensor.numel() for tensor in content.weights.values())
        try:
            with torch.random.fork_rng(devices=[]), SizeLimit(size):  # the initial weights are overwritten below
                model = cls(**content.config)
        except InputError as error:
            raise InputError(f"{folder / stored.CONFIG}: {error}") from error
        except RuntimeError as error:  # there was not enough memory for a single layer
            reason = shown(str(error).partition("\n")[0])
            raise InputError(f"{folder / stored.CONFIG}: no such network can be built ({reason})") from error
        stored.check_fit(folder, model.state_dict(), content.weights)
        model.load_state_dict(content.weights)
        return model.eval()


def moved(model: M, device: torch.device | str) -> M:
    """`model` on `device`; InputError where that cannot be used."""
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that CUDA was compiled in
        reason = str(error).partition("\n")[0]
        raise InputError(f"device {str(device)!r} cannot be used ({reason}): device='cpu' always can") from error


def _plain_json(provenance: dict[str, Any]) -> dict[str, Any]:
    """A copy as it will be read back from config.json (tuples become lists, keys strings)."""
    if not isinstance(provenance, dict):
        raise InputError(f"provenance={shown(repr(provenance))}: expected a dictionary, {{}} if nothing is known")
    try:
        written = json.dumps({"provenance": provenance}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"provenance is not plain JSON ({shown(error)}): use str, int, float, list and dict") from None
    if len(written) > MOST_PROVENANCE:
        raise InputError(f"provenance takes {len(written):,} bytes as JSON; expected at most {MOST_PROVENANCE:,}")
    return parse_json(written, "provenance")["provenance"]  # type: ignore[no-any-return]
