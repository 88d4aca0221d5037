"""Unconditional diffusion models in folders of the library `diffusers`."""

from pathlib import Path
from typing import Any

import torch

from randsmooth.documents import shown
from randsmooth.errors import MissingValue, Setting, WrongFile
from randsmooth.extras import needs
from randsmooth.models.diffusion import DiffusionDenoiser
from randsmooth.models.library_folders import (
    ALWAYS_ALLOWED_LAYERS,
    building,
    check_loaded,
    check_settings,
    checked_weights,
    no_larger_than,
    read_settings,
    silent,
)

PIPELINE = "model_index.json"
CONFIG = "config.json"
SCHEDULER_CONFIG = "scheduler_config.json"

# The class that predicts from an image and a timestep alone.
NETWORK = "UNet2DModel"


def is_pipeline(folder: Path) -> bool:
    """Return whether a folder holds a pipeline of diffusers."""
    return (folder / PIPELINE).is_file()


def from_diffusers(folder: Path, sigma: float | None) -> DiffusionDenoiser:
    """Return the unconditional diffusion model in a folder, in eval mode.

    Args:
        folder: a folder, as the DDPMPipeline of diffusers saves it.
        sigma: the sigma of the noise to remove.

    Raises:
        Problem: it is another model, is damaged, or is not told sigma.
    """
    if sigma is None:
        raise MissingValue(
            f"{folder} is a diffusion model, which must know the noise to remove",
            field="sigma",
            file=folder,
            fix=("give ", Setting("sigma")),
        )

    network_folder = folder / "unet"
    settings = read_settings(network_folder / CONFIG)
    kind = settings.get("_class_name")
    if kind != NETWORK:
        raise WrongFile(
            f"{network_folder} holds a {shown(repr(kind))}; expected a {NETWORK} (no "
            "text or class)",
            field="_class_name",
            value=kind,
            file=network_folder,
            fix="pass others as a function of x_t and timesteps to "
            "randsmooth.DiffusionDenoiser",
        )
    schedule = _schedule(folder / "scheduler" / SCHEDULER_CONFIG)
    network = _network(network_folder, settings)
    return DiffusionDenoiser(
        network.eval(),
        sigma=sigma,
        alphas_cumprod=schedule.alphas_cumprod,
        prediction=schedule.config.prediction_type,
    )


def _schedule(path: Path) -> Any:
    """Return the schedule of noise that a file describes."""
    settings = read_settings(path)
    check_settings(settings, str(path), ALWAYS_ALLOWED_LAYERS)
    with needs("a diffusion model of diffusers"):
        from diffusers import DDPMScheduler
    with building("the schedule", path, "diffusers"), silent("diffusers"):
        return DDPMScheduler.from_config(settings)


def _network(folder: Path, settings: dict[str, Any]) -> Any:
    """Return the network in a folder, with all of its weights.

    Args:
        folder: the folder of the network.
        settings: the contents of its configuration.
    """
    weights = checked_weights(folder, settings, CONFIG, "diffusion_pytorch_model")
    with needs("a diffusion model of diffusers"):
        from diffusers import UNet2DModel
    # torch's generator stays as it is.
    with (
        building(f"the {NETWORK}", folder / CONFIG, "diffusers"),
        silent("diffusers"),
        torch.random.fork_rng(devices=[]),
    ):
        # First without memory, so that none is taken for a network that is too large.
        with no_larger_than(weights), torch.device("meta"):
            UNet2DModel.from_config(settings)
        network, loaded = UNet2DModel.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    check_loaded(loaded, folder, "the diffusion model", "save the whole network")
    return network
