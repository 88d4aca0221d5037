"""`randsmooth train`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from randsmooth.cli.settings import Settings, argument, listed, option, pairs
from randsmooth.cli.shared_options import DEVICE, DEVICES, LOGGER, NODES, REPEATABLE, SYNC_BATCH_NORM
from randsmooth.escape import printable, say
from randsmooth.training import TrainingSettings
from randsmooth.urls import Place, name_of


class Train(Settings, TrainingSettings):
    """Settings of `randsmooth train`: those of training, and where to train and to write."""

    dataset: str = argument("Name (see `randsmooth data list`), or path to a folder of images or Parquet files.")
    set: Annotated[dict[str, Any], BeforeValidator(pairs)] = option(
        f"{TrainingSettings.model_fields['set'].description} Repeatable.",
        {},
        json_schema_extra={"cli": list[str], "metavar": "KEY=VALUE"},
    )
    device: str = option(DEVICE, "auto")
    devices: int | None = option(DEVICES)
    nodes: int = option(NODES, 1)
    sync_batch_norm: bool = option(SYNC_BATCH_NORM, False)
    out: Place | None = option(
        "Folder or URL for the model, its checkpoint and curves. (default: runs/DATASET-METHOD-SIGMA, or -PRESET-)"
    )
    logger: Annotated[list[str] | None, BeforeValidator(listed)] = option(LOGGER, json_schema_extra=REPEATABLE)
    resume: bool = option("Go on with an interrupted run in the folder.", False)
    accept_changes: bool = option("With --resume: go on under the settings given, where they differ.", False)
    overwrite: bool = option("Discard an earlier run in the folder.", False)


def train(settings: Train) -> None:
    """Train a base classifier into a model folder.

    Example: randsmooth train mnist --method gaussian --sigma 0.5 --epochs 5 --out runs/gaussian

    As a paper trained: randsmooth train mnist --preset cat-rs/smoothmix/table1 --sigma 1.0

    Without --sigma, with the preset's: randsmooth train digits

    On all GPUs of a machine: randsmooth train cifar10 --method smoothadv --sigma 0.5 --devices 8
    """
    from randsmooth.data.registry import check_dataset
    from randsmooth.models.registry import check_arch
    from randsmooth.progress import console

    check_dataset(settings.dataset)  # this and the following before torch is loaded
    if settings.arch is not None:
        check_arch(settings.arch)
    from randsmooth.training import train as run
    from randsmooth.training.devices import leads

    values = settings.model_dump() | {"out": settings.out or default_folder(settings)}
    run(**values, progress=console)
    if leads():
        say(printable(f"model in {values['out']}; certify it with: randsmooth certify {_to_certify(settings, values)}"))


def _to_certify(settings: Train, values: dict[str, Any]) -> str:
    """The arguments of `certify` for the model just trained: a data set without a name is not opened unasked."""
    from randsmooth.data.registry import DATASETS

    words = [str(values["out"])]
    if settings.dataset not in DATASETS:
        words += ["--dataset", settings.dataset]
    for name in ("image_column", "label_column", "resize", "crop"):
        if values[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(values[name])]
    return shlex.join(words) + (" --denoiser DENOISER" if settings.sigma == 0 else "")


def default_folder(settings: Train) -> Path:
    what = settings.preset.replace("/", "-") if settings.preset else settings.method or "gaussian"
    sigma = "" if settings.sigma is None else f"-{settings.sigma:g}"  # the preset's, where none is named
    return Path("runs") / f"{name_of(settings.dataset)}-{what}{sigma}"
