"""The option of the verbs that can put a denoiser before their model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.urls import fetched, has_protocol, is_url, name_of

if TYPE_CHECKING:
    from randsmooth.models import BaseClassifier, Ensemble

DENOISER = (
    "Folder of a denoiser that every noisy image passes before the model: of `randsmooth train-denoiser`, or of a "
    "diffusion model that diffusers saved, which takes one step."
)


def check_denoiser(denoiser: str | None) -> None:
    """Raise InputError for a denoiser that cannot be loaded, as far as that is known without loading torch."""
    from randsmooth.models.place import check_place

    if denoiser is not None:
        check_place(fetched(denoiser) if has_protocol(denoiser) else denoiser)


def base_classifier(
    model: str | Ensemble, model_args: dict[str, Any], denoiser: str | None, sigma: float | None
) -> BaseClassifier:
    """The model that is given or named, behind the denoiser in a folder, if any; `sigma` of the noise, if known."""
    from randsmooth import models
    from randsmooth.certification import load_model

    base = load_model(model, **model_args) if isinstance(model, str) else model
    return base if denoiser is None else models.Denoised(models.load_denoiser(denoiser, sigma=sigma), base)


def default_out(model: str, denoiser: str | None) -> Path:
    """The file of certificates for a model: MODEL.parquet, or MODEL+DENOISER.parquet; of a URL, in this folder."""
    behind = "" if denoiser is None else f"+{name_of(denoiser)}"
    if is_url(model):
        return Path(f"{name_of(model)}{behind}.parquet")
    return Path(model.rstrip("/").replace(":", "-") + f"{behind}.parquet")
