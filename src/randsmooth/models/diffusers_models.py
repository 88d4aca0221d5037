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

# The class of networks that need nothing but an image and a timestep. Others take a text or
# a class too.
NETWORK = "UNet2DModel"


def is_pipeline(folder: Path) -> bool:
    """Return whether a folder holds a pipeline of diffusers."""
    return (folder / PIPELINE).is_file()


def from_diffusers(folder: Path, sigma: float | None) -> DiffusionDenoiser:
    """Return the unconditional diffusion model in a folder as a denoiser, in eval mode.

    Args:
        folder: a folder, as the DDPMPipeline of diffusers saves it.
        sigma: the sigma of the noise to remove; None: the user gave none, which is refused.

    Raises:
        Problem: the folder holds another model, or a damaged one, or sigma is missing.
    """
    if sigma is None:
        raise MissingValue(
            f"{folder} is a diffusion model, which must be told the noise to remove",
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
    """Return the scheduler of diffusers that a file describes, with its noise levels.

    Raises:
        Problem: the file is missing or damaged, or diffusers cannot build the scheduler.
    """
    settings = read_settings(path)
    # A schedule has no weights with whose number its numbers could be compared.
    check_settings(settings, str(path), tensors=ALWAYS_ALLOWED_LAYERS)
    # diffusers is an extra, and takes seconds to load.
    with needs("a diffusion model of diffusers"):
        from diffusers import DDPMScheduler
    with building("the schedule", path, "diffusers"), silent("diffusers"):
        return DDPMScheduler.from_config(settings)


def _network(folder: Path, settings: dict[str, Any]) -> Any:
    """Return the network in a folder, with all of its weights.

    Args:
        folder: the folder of the network.
        settings: the contents of its configuration.

    Raises:
        Problem: the weights are not there, are not harmless or do not fit.
    """
    weights = checked_weights(
        folder, settings, config=CONFIG, name="diffusion_pytorch_model"
    )
    # diffusers is an extra, and takes seconds to load.
    with needs("a diffusion model of diffusers"):
        from diffusers import UNet2DModel
    # New weights are drawn from torch's generator, which `fork_rng` leaves as it is.
    with (
        building(f"the {NETWORK}", folder / CONFIG, "diffusers"),
        silent("diffusers"),
        torch.random.fork_rng(devices=[]),
    ):
        # The network is first built without memory, and thrown away: this only checks that
        # it is not too large.
        with no_larger_than(weights), torch.device("meta"):
            UNet2DModel.from_config(settings)
        network, loaded = UNet2DModel.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    check_loaded(
        loaded, folder, what="the diffusion model", reason="save the whole network"
    )
    return network
