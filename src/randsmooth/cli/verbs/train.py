"""`randsmooth train` and `randsmooth train-denoiser`."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from randsmooth import training
from randsmooth.cli.options import Answered, NoiseNamed, Trained
from randsmooth.cli.output import note
from randsmooth.cli.printed_commands import command_words
from randsmooth.cli.settings import Argument, Pairs, option
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.data.registry import DATASETS
from randsmooth.models.registry import check_arch
from randsmooth.progress import console
from randsmooth.training import DenoiserSettings, TrainingSettings
from randsmooth.urls import Place, name_of

DATASET = (
    "Name (see `randsmooth data list`), or path to a folder of images or Parquet files."
)


class Train(Answered, Trained, TrainingSettings):
    """Settings of `randsmooth train`: those of training, and where to train and to write.

    Attributes:
        out: Folder or URL for the model, its checkpoint and curves. (default: runs/DATASET-METHOD-NOISE, or -PRESET-)
    """

    dataset: Argument[str] = option(DATASET, ...)
    noise: NoiseNamed = option(TrainingSettings.model_fields["noise"].description or "")
    set: Pairs = option(
        f"{TrainingSettings.model_fields['set'].description} Repeatable.", {}
    )
    out: Place | None = None


class TrainDenoiser(Answered, Trained, DenoiserSettings):
    """Settings of `randsmooth train-denoiser`: those of training, and where to train and to write.

    Attributes:
        out: Folder or URL for the denoiser, its checkpoint and curves. (default:
            runs/DATASET-denoiser-OBJECTIVE-SIGMA)
    """

    dataset: Argument[str] = option(DATASET, ...)
    out: Place | None = None


def train(settings: Train) -> None:
    """Train a base classifier into a model folder.

    Example: randsmooth train mnist --method gaussian --sigma 0.5 --epochs 5 --out runs/gaussian

    As a paper trained: randsmooth train mnist --preset cat-rs/smoothmix/table1 --sigma 1.0

    Without --sigma, with the preset's: randsmooth train digits

    Under another noise, for certificates in L1: randsmooth train mnist --method stability --noise uniform=0.6

    On all GPUs of a machine: randsmooth train cifar10 --method smoothadv --sigma 0.5 --devices 8
    """
    check_dataset(settings.dataset)  # this and the following before torch is loaded
    if settings.arch is not None:
        check_arch(settings.arch)
    what = (
        settings.preset.replace("/", "-")
        if settings.preset
        else settings.method or "gaussian"
    )
    out = settings.out or _folder(
        settings.dataset, what, settings.sigma, settings.noise
    )
    _run(training.train, settings, out, "model", _to_certify(settings, out))


def _run(
    run: Callable[..., object],
    settings: Train | TrainDenoiser,
    out: Place,
    made: str,
    way: str,
) -> None:
    """Train into `out`, and say what was made there and the `way` on."""
    from randsmooth.training.devices import leads

    run(**settings.model_dump(exclude={"format"}) | {"out": out}, progress=console)
    if leads():
        settings.answer([f"{made} in {out}"], lambda: {made: str(out)})
        note(way)


def _to_certify(settings: Train, out: Place) -> str:
    """How to certify the model just trained: a data set without a name is not opened unasked."""
    asked = {
        "image_column",
        "label_column",
        *(() if settings.dataset in DATASETS else ("dataset",)),
    }
    words = command_words("certify", [str(out)], settings.model_dump(include=asked))
    denoised = " --denoiser DENOISER" if settings.sigma == 0 else ""
    return f"certify it with: randsmooth {shlex.join(words)}{denoised}"


def train_denoiser(settings: TrainDenoiser) -> None:
    """Train a denoiser, which makes a classifier that never saw noise certifiable (denoised smoothing).

    On mse it learns the clean images and serves any classifier, on stability to keep what one classifier says.

    Example: randsmooth train-denoiser mnist --sigma 0.5 --arch dncnn-6x32 --epochs 5 --out runs/denoiser

    For one classifier, from that denoiser: randsmooth train-denoiser mnist --sigma 0.5 --arch dncnn-6x32 --epochs 2
    --objective stability --classifier runs/clean --start runs/denoiser --out runs/stability
    """
    check_dataset(settings.dataset)  # before torch is loaded
    out = settings.out or _folder(
        settings.dataset, f"denoiser-{settings.objective}", settings.sigma
    )
    way = f"put it before a classifier with: randsmooth certify CLASSIFIER --denoiser {out}"
    _run(training.train_denoiser, settings, out, "denoiser", way)


def _folder(dataset: str, what: str, sigma: float | None, noise: Any = None) -> Path:
    """runs/DATASET-WHAT-SIGMA, or with a noise in place of sigma; without the last where it is the preset's."""
    level = (
        noise.text.replace("=", "-") if noise else "" if sigma is None else f"{sigma:g}"
    )
    return Path("runs") / "-".join(filter(None, [name_of(dataset), what, level]))
