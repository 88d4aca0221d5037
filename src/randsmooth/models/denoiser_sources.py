"""Denoisers from where users keep them: our model folders, and diffusion models as `diffusers` saves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.diffusion import DiffusionDenoiser
from randsmooth.models.stored import MOST_BYTES
from randsmooth.models.stored_model import moved
from randsmooth.urls import fetched, has_protocol

PIPELINE, SCHEDULER, CONFIG = "model_index.json", "scheduler_config.json", "config.json"
NETWORK = "UNet2DModel"  # the class of diffusers that predicts from an image and a timestep alone


def load_denoiser(
    source: Path | str, *, sigma: float | None = None, device: torch.device | str = "cpu"
) -> Denoiser | DiffusionDenoiser:
    """The denoiser in a folder, in eval mode on `device`.

    Args:
        source: a folder of `train-denoiser`, or the hub's "user/name" of one; or the folder of an unconditional
            diffusion model as `diffusers` saves it: a DDPMPipeline, or a UNet2DModel with its `scheduler_config.json`.
        sigma: of the noise to remove, which a diffusion model must know.
        device: where to load it to.

    Raises:
        InputError: there is no such denoiser, it is damaged, or a diffusion model is not told sigma.

    Example:
        >>> import tempfile
        >>> from randsmooth import models
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(Denoiser(channels=1, arch="dncnn-5x16"), folder)
        ...     load_denoiser(folder).arch
        'dncnn-5x16'
    """
    source = fetched(source) if has_protocol(source) else source
    folder = Path(source)
    if _is_diffusers(folder):
        if sigma is None:
            raise InputError(
                f"{folder} is a diffusion model, which must know the noise to remove: give sigma (--sigma)"
            )
        return moved(_diffusion(folder, sigma), device).eval()
    return Denoiser.from_pretrained(source, map_location=device)


def _is_diffusers(folder: Path) -> bool:
    if (folder / PIPELINE).is_file():
        return True
    return (folder / CONFIG).is_file() and "_class_name" in _document(folder / CONFIG)


def _diffusion(folder: Path, sigma: float) -> DiffusionDenoiser:
    pipeline = (folder / PIPELINE).is_file()
    network, scheduler = (folder / "unet", folder / "scheduler") if pipeline else (folder, folder)
    kind = _document(network / CONFIG).get("_class_name")
    if kind != NETWORK:
        raise InputError(
            f"{network} holds a {shown(repr(kind))} of diffusers; expected a {NETWORK}, which needs no text or class: "
            "pass others in Python, as a function of x_t and timesteps, to randsmooth.DiffusionDenoiser"
        )
    settings = _document(scheduler / SCHEDULER)
    with needs("a diffusion model of diffusers"):
        from diffusers import DDPMScheduler, UNet2DModel
    try:
        unet: nn.Module = UNet2DModel.from_pretrained(str(network), local_files_only=True, use_safetensors=True)
        schedule = DDPMScheduler.from_config(settings)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise InputError(f"{network} cannot be loaded by diffusers ({shown(error)})") from error
    return DiffusionDenoiser(
        unet.eval(), sigma=sigma, alphas_cumprod=schedule.alphas_cumprod, prediction=schedule.config.prediction_type
    )


def _document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(
            f"{path} is missing: expected a DDPMPipeline of diffusers, or a {NETWORK} with the {SCHEDULER} of its "
            "scheduler"
        )
    content = parse_json(read_file(path, MOST_BYTES), path)
    return content if isinstance(content, dict) else {}
