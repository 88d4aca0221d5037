"""Everything in a sweep that can be checked before its first step, as `train` and `certify` would check it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from randsmooth.errors import InputError
from randsmooth.launch.steps import TRAINING, Step

READING = ("image_column", "label_column", "resize", "crop")


def check_steps(steps: Sequence[Step], *, here: bool = True) -> None:
    """Check every step that trains or certifies, and that its data can be opened.

    Args:
        steps: those of the sweep, whose models need not be there yet.
        here: the steps will run on this machine, so that their devices are looked for as well.

    Raises:
        InputError: a step could not run; the message begins with its name.
    """
    images = _Data()
    trained = {str(step.makes): step for step in steps if step.verb in TRAINING}
    for step in steps:
        if step.is_done() or step.verb not in CHECKS:
            continue
        with _called(step):
            if here:
                _check_device(step.options.get("device", "auto"))
            CHECKS[step.verb](step, images, trained)


@contextmanager
def _called(step: Step) -> Iterator[None]:
    """Let an error name the step."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{step.name}: {error}") from error


class _Data:
    """The data sets of a sweep, each opened once."""

    def __init__(self) -> None:
        self.opened = dict[tuple[Any, ...], Any]()

    def split(self, dataset: str, split: str, options: Mapping[str, Any]) -> Any:
        from randsmooth import data

        reading: dict[str, Any] = {key: options.get(key) for key in READING}
        key = (dataset, split, *reading.values())
        if key not in self.opened:
            self.opened[key] = data.load(dataset, split, stream=True, **reading)
        return self.opened[key]


def _check_device(device: str) -> None:
    from randsmooth import models

    models.pick_device(device)


def _check_training(step: Step, images: _Data, trained: Mapping[str, Step]) -> None:
    from randsmooth import data
    from randsmooth.models.registry import check_arch
    from randsmooth.training import TrainingSettings, resolve
    from randsmooth.training.run import weights_of_other_models
    from randsmooth.training.source import require_labels

    options = {key: value for key, value in step.options.items() if key in TrainingSettings.model_fields}
    settings = TrainingSettings(**options)
    dataset = str(step.argument)
    images.split(dataset, "train", settings.reading)
    spec = data.describe(dataset, **settings.reading)
    require_labels(spec)
    recipe, _ = resolve(dataset, settings, spec)
    check_arch(recipe.arch)
    to_come = {key: None for key in recipe.folders() if str(recipe.hyperparameters.get(key)) in trained}
    there = recipe.model_copy(update={"hyperparameters": recipe.hyperparameters | to_come})
    weights_of_other_models(there, spec)


def _check_denoiser_training(step: Step, images: _Data, trained: Mapping[str, Step]) -> None:
    from randsmooth.models.place import check_place
    from randsmooth.training import DenoiserSettings

    settings = DenoiserSettings(**{key: value for key, value in step.options.items() if key not in ("out", "device")})
    for folder in (settings.classifier, settings.start):
        if folder is not None and folder not in trained:
            check_place(folder)
    images.split(str(step.argument), "train", {})


def _check_certification(step: Step, images: _Data, trained: Mapping[str, Step]) -> None:
    from randsmooth.certificates import CertificationSettings
    from randsmooth.certification.backends import check_backend
    from randsmooth.certification.order import choose
    from randsmooth.models.place import check_place

    options = dict(step.options)
    model = trained[str(step.argument)]
    sigma = options.get("sigma", model.options.get("sigma"))
    if not sigma:
        raise InputError("the model is trained without noise: give certify a sigma")
    fields = {key: value for key, value in options.items() if key in CertificationSettings.model_fields}
    settings = CertificationSettings(**fields | {"sigma": sigma})
    settings.stopping_rule()
    check_backend(settings.backend)
    denoiser = options.get("denoiser")
    if denoiser is not None and str(denoiser) not in trained:
        check_place(str(denoiser))
    found = images.split(options["dataset"], options.get("split", "test"), options)
    choose(len(found), *(_count(key, options.get(key)) for key in ("take", "skip")))


def _count(name: str, value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise InputError(f"{name}={value!r} must be a whole number")
    return value


CHECKS = {
    "train": _check_training,
    "train-denoiser": _check_denoiser_training,
    "certify": _check_certification,
}
