"""The part that `train` and `train-denoiser` share: their devices and messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from randsmooth.cli.options import DEVICE, Answered
from randsmooth.cli.output import note
from randsmooth.cli.settings import Argument, Given, Listed, option
from randsmooth.noise import Deviations, Gaussian, Noise
from randsmooth.number_text import shortest
from randsmooth.progress import console
from randsmooth.urls import Place, name_of

DATASET = (
    "Name (see `randsmooth data list`), or path to a folder of images or Parquet files."
)


class Trained(Answered):
    """Settings of a verb that trains.

    Attributes:
        devices: Devices of each machine that share every batch: GPUs or, with --device
            cpu, processes. (default: as many as torchrun started, else 1)
        nodes: Machines with so many devices each. torchrun starts this command on each.
        sync_batch_norm: Normalise by the statistics of the whole batch, not of each
            device's part.
        logger: Where metrics go besides history.csv: tensorboard or csv. Repeatable.
            (default: tensorboard, where it is installed; those that a resumed run had)
        resume: Resume an interrupted run in the folder.
        accept_changes: With --resume: use the given settings, also where they differ
            from the run's.
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
    """Train into `out`, and print where the result is and what to do next.

    Args:
        out: the folder, or its URL.
        train: `training.train` or `training.train_denoiser`.
        settings: the settings of the verb, whose names are the keywords of `train`.
        trained: the word for the thing that is trained, such as "model".
        way_on: a sentence that says what to do next.
    """
    # Late, as it loads torch, which the help of a verb does not need.
    from randsmooth.training.devices import leads

    # `out` may be a default, which the settings do not have.
    values = settings.model_dump(exclude={"format", "out"})
    train(**values, out=out, progress=console)
    # Of the processes that torchrun started, one prints.
    if leads():
        settings.answer([f"{trained} in {out}"], lambda: {trained: str(out)})
        note(way_on)


def default_folder(
    dataset: str,
    trained: str,
    sigma: float | None,
    noise: Noise | Deviations | None = None,
) -> Path:
    """Return the folder runs/DATASET-TRAINED-SIGMA.

    Args:
        dataset: the name or path of the data set.
        trained: the name of what is trained, such as a method.
        sigma: the sigma; None where it is the preset's, and the folder does not have it.
        noise: a noise, which the folder has in place of sigma.
    """
    parts = [name_of(dataset), trained]
    if isinstance(noise, Gaussian):
        parts.append(shortest(noise.sigma))
    elif noise is not None:
        parts.append(noise.text.replace("=", "-"))
    elif sigma is not None:
        parts.append(shortest(sigma))
    return Path("runs") / "-".join(parts)
