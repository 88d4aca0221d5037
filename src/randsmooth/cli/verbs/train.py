"""`randsmooth train`: a base classifier into a model folder."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Self

from pydantic import model_validator

from randsmooth import certification, training
from randsmooth.cli.options import NoiseNamed
from randsmooth.cli.printed_commands import command_words
from randsmooth.cli.settings import Given, Listed, Pairs, Settings, option
from randsmooth.cli.training import Trained, default_folder, train_into
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.data.registry import DATASETS
from randsmooth.models.registry import check_arch
from randsmooth.training import HowToTrain, TrainingOptions, TrainingSettings
from randsmooth.urls import Place


class TrainingNoise(Settings):
    """The noise to train under.

    Attributes:
        sigma: Standard deviation of the noise, for pixels in [0, 1]. (default: the
            preset's)
    """

    sigma: float | None = None
    noise: NoiseNamed = option(TrainingSettings.model_fields["noise"].description or "")


class Train(Trained, HowToTrain, TrainingNoise):
    """Settings of `randsmooth train`: how to train, where it runs, and where it writes.

    Attributes:
        out: Folder or URL for the model, its checkpoint and curves. (default:
            runs/DATASET-METHOD-NOISE, or -PRESET-)
        expert: Train a router: certificates of an expert on training images. Give one
            for each expert, in order. Each image is labelled with the expert that
            certifies it furthest. Repeatable.
    """

    set: Pairs = option(f"{HowToTrain.model_fields['set'].description} Repeatable.", {})
    out: Place | None = None
    expert: Annotated[list[Place] | None, Listed, Given(metavar="FILE")] = None

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        """Raise Problem for settings of no training, before anything is opened."""
        # Made for its checks alone; `training.train` makes the settings of the run.
        self.of_training()
        return self

    def of_training(self) -> TrainingSettings:
        """Return the settings that decide the result of the training."""
        names = {*TrainingOptions.__optional_keys__}
        return TrainingSettings(**self.model_dump(include=names))


def run(settings: Train) -> None:
    """Train a base classifier into a model folder.

    Example: randsmooth train mnist --method gaussian --sigma 0.5 --epochs 5 --out
    runs/gaussian

    With the settings of a paper: randsmooth train mnist --preset
    cat-rs/smoothmix/table1 --sigma 1.0

    With the preset's sigma: randsmooth train digits

    Under another noise, for certificates in L1: randsmooth train mnist --method
    stability --noise uniform=0.6

    On all GPUs of a machine: randsmooth train cifar10 --method smoothadv --sigma 0.5
    --devices 8
    """
    # Before torch is loaded.
    check_dataset(settings.dataset)
    if settings.arch is not None:
        check_arch(settings.arch)

    trained = settings.method or "gaussian"
    if settings.preset:
        trained = settings.preset.replace("/", "-")
    out = settings.out or default_folder(
        settings.dataset, trained, settings.sigma, settings.noise
    )
    way_on = f"certify it with: {_command_to_certify(settings, out)}"
    if settings.expert is not None:
        way_on = (
            f"certify with: randsmooth certify --router {shlex.quote(str(out))} EXPERT "
            "EXPERT ..."
        )
    train_into(out, _train, settings, trained="model", way_on=way_on)


def _train(dataset: str, *, expert: list[Place] | None, **values: Any) -> object:
    """Train as `training.train` does; with `expert` on images labelled with experts."""
    if expert is None:
        return training.train(dataset, **values)
    names = ("resize", "crop", "image_column", "label_column")
    reading = {name: values.pop(name) for name in names}
    labelled = certification.router_data(dataset, expert, **reading)
    return training.train(labelled, **values)


def _command_to_certify(settings: Train, out: Place) -> str:
    """Return the command that certifies the model just trained."""
    needed = {"image_column", "label_column"}
    # `certify` opens the named data set of a model by itself, but no folder.
    if settings.dataset not in DATASETS:
        needed.add("dataset")
    words = command_words("certify", [str(out)], settings.model_dump(include=needed))
    command = f"randsmooth {shlex.join(words)}"
    # A classifier that was trained without noise needs a denoiser.
    if settings.sigma == 0:
        return f"{command} --denoiser DENOISER"
    return command
