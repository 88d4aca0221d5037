"""The part that `train` and `train-denoiser` share: their devices and messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from randsmooth.cli.options import DEVICE, Answered
from randsmooth.cli.output import note
from randsmooth.cli.settings import Argument, Given, Listed, option
from randsmooth.noise import Deviations, Gaussian, Noise
from randsmooth.progress import console
from randsmooth.urls import Place, name_of

DATASET = (
    "Name (see `randsmooth data list`), or path to a folder of images or Parquet files."
)


class Trained(Answered):
    """What is trained on, where a training runs, what it logs, and how it goes on.

    Attributes:
        devices: Devices of each machine that share every batch: GPUs or, with --device
            cpu, processes. (default: as many as torchrun started, else 1)
        nodes: Machines with so many devices each, on all of which torchrun starts this
            command.
        sync_batch_norm: Normalise by the whole batch's statistics, not on each device
            by those of its part of the batch.
        logger: Where metrics go besides history.csv: tensorboard or csv. Repeatable.
            (default: tensorboard, where it is installed; those that a resumed run had)
        resume: Go on with an interrupted run in the folder.
        accept_changes: With --resume: go on under the settings given, where they
            differ.
        overwrite: Discard an earlier run in the folder.
    """

    dataset: Argument[str] = option(DATASET, ...)
    device: str = option(DEVICE, "auto")
    devices: int | None = None
    nodes: int = 1
    sync_batch_norm: bool = False
    logger: Annotated[list[str] | None, Listed, Given(metavar="NAME")] = None
    resume: bool = False
    accept_changes: bool = False
    overwrite: bool = False


def train_into(
    out: Place,
    train: Callable[..., object],
    settings: Trained,
    *,
    trained: str,
    way_on: str,
) -> None:
    """Train into `out`, and say what is there and what can be done with it.

    Args:
        out: folder or URL.
        train: `training.train` or `training.train_denoiser`.
        settings: the arguments of `train`.
        trained: the word for the thing that is trained.
        way_on: a sentence that says what to do next.
    """
    from randsmooth.training.devices import leads

    values = settings.model_dump(exclude={"format", "out"})
    train(**values, out=out, progress=console)
    if leads():
        settings.answer([f"{trained} in {out}"], lambda: {trained: str(out)})
        note(way_on)


def default_folder(
    dataset: str,
    trained: str,
    sigma: float | None,
    noise: Noise | Deviations | None = None,
) -> Path:
    """Return runs/DATASET-TRAINED-SIGMA, or with a noise in place of sigma.

    Where neither is given, they are the preset's, and the last part is left out.
    """
    parts = [name_of(dataset), trained]
    if isinstance(noise, Gaussian):
        parts.append(f"{noise.sigma:g}")
    elif noise is not None:
        parts.append(noise.text.replace("=", "-"))
    elif sigma is not None:
        parts.append(f"{sigma:g}")
    return Path("runs") / "-".join(parts)
