"""`randsmooth train-denoiser`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from randsmooth.cli.settings import Settings, argument, listed, option
from randsmooth.cli.shared_options import DEVICE, DEVICES, LOGGER, NODES, REPEATABLE, SYNC_BATCH_NORM
from randsmooth.escape import printable, say
from randsmooth.training import DenoiserSettings
from randsmooth.urls import Place, name_of


class TrainDenoiser(Settings, DenoiserSettings):
    """Settings of `randsmooth train-denoiser`: those of training, and where to train and to write."""

    dataset: str = argument("Name (see `randsmooth data list`), or path to a folder of images or Parquet files.")
    device: str = option(DEVICE, "auto")
    devices: int | None = option(DEVICES)
    nodes: int = option(NODES, 1)
    sync_batch_norm: bool = option(SYNC_BATCH_NORM, False)
    out: Place | None = option(
        "Folder or URL for the denoiser, its checkpoint and curves. (default: runs/DATASET-denoiser-OBJECTIVE-SIGMA)"
    )
    logger: Annotated[list[str] | None, BeforeValidator(listed)] = option(LOGGER, json_schema_extra=REPEATABLE)
    resume: bool = option("Go on with an interrupted run in the folder.", False)
    accept_changes: bool = option("With --resume: go on under the settings given, where they differ.", False)
    overwrite: bool = option("Discard an earlier run in the folder.", False)


def train_denoiser(settings: TrainDenoiser) -> None:
    """Train a denoiser, which makes a classifier that never saw noise certifiable (denoised smoothing).

    On mse it learns the clean images and serves any classifier, on stability to keep what one classifier says.

    Example: randsmooth train-denoiser mnist --sigma 0.5 --arch dncnn-6x32 --epochs 5 --out runs/denoiser

    For one classifier, from that denoiser: randsmooth train-denoiser mnist --sigma 0.5 --arch dncnn-6x32 --epochs 2
    --objective stability --classifier runs/clean --start runs/denoiser --out runs/stability
    """
    from randsmooth.data.registry import check_dataset
    from randsmooth.progress import console

    check_dataset(settings.dataset)  # before torch is loaded
    from randsmooth.training import train_denoiser as run
    from randsmooth.training.devices import leads

    values = settings.model_dump() | {"out": settings.out or default_folder(settings)}
    run(**values, progress=console)
    if leads():
        say(printable(f"denoiser in {values['out']}: randsmooth certify CLASSIFIER --denoiser {values['out']}"))


def default_folder(settings: TrainDenoiser) -> Path:
    return Path("runs") / f"{name_of(settings.dataset)}-denoiser-{settings.objective}-{settings.sigma:g}"
