"""Checks of a sweep before its first step: settings, data and folders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from randsmooth import data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.certification.run import choose
from randsmooth.errors import BadValue
from randsmooth.launch.model_steps import Certify, Train
from randsmooth.launch.outcomes import problems_in
from randsmooth.launch.step import Step
from randsmooth.models.places import check_place
from randsmooth.models.registry import check_arch
from randsmooth.training.settings import NO_NOISE, Reading


def check_steps(steps: Sequence[Step], *, here: bool = True) -> None:
    """Check every step that trains or certifies, and that its data can be opened.

    Args:
        steps: the steps of the sweep, whose models need not be there yet.
        here: whether the steps will run on this machine, so that their devices are
            looked for as well.

    Raises:
        Problem: a step could not run; the message begins with its name.
    """
    checks = _Checks([step for step in steps if isinstance(step, Train)], here=here)
    for step in steps:
        if step.is_done():
            continue
        with problems_in(step.name):
            if isinstance(step, Train):
                checks.check_training(step)
            elif isinstance(step, Certify):
                checks.check_certification(step)


class _Checks:
    """Checks steps as `train` and `certify` would, of models to come their places alone.

    Attributes:
        here: whether the steps will run on this machine.
        training: folder of a model to come -> the step that trains it.
        sizes: the number of images of each split; each split is opened once.
    """

    def __init__(self, training: Iterable[Train], *, here: bool) -> None:
        self.here = here
        self.training = {str(step.makes): step for step in training}
        self.sizes: dict[tuple[object, ...], int] = {}

    def check_training(self, step: Train) -> None:
        self._check_device(step.device)
        recipe = step.recipe()
        check_arch(recipe.arch)
        self._size(step.dataset, "train", step.settings.reading)
        for key in recipe.folders():
            self._check_folder(recipe.hyperparameters.get(key))

    def check_certification(self, step: Certify) -> None:
        self._check_device(step.images.get("device", "auto"))
        spec = step.spec()
        self._with_noise(step).stopping_rule()
        for name in ("take", "skip"):
            value = step.images.get(name)
            if value is not None and type(value) is not int:
                raise BadValue(
                    field=name, value=value, expected="must be a whole number"
                )
        reading = {key: step.images.get(key) for key in Reading.model_fields}
        images = self._size(str(spec.dataset), spec.split, reading)
        choose(images, spec.take, spec.skip)
        self._check_folder(step.denoiser)

    def _with_noise(self, step: Certify) -> CertificationSettings:
        """Return the settings of a step, with the noise of training where they name none."""
        if step.settings.noise is not None:
            return step.settings
        noise = self.training[step.model].settings.noise
        if noise in (None, NO_NOISE):
            raise BadValue(
                "the model is trained without noise: give certify a sigma, or a noise"
            )
        return step.settings.replace(noise=noise)

    def _check_device(self, device: str) -> None:
        if self.here:
            models.pick_device(device)

    def _check_folder(self, folder: object) -> None:
        """Raise Problem for a place where there is no model, and none will be."""
        if folder and str(folder) not in self.training:
            check_place(str(folder))

    def _size(self, dataset: str, split: str, reading: dict[str, Any]) -> int:
        """Return how many images a split has."""
        key = (dataset, split, *reading.items())
        if key not in self.sizes:
            self.sizes[key] = len(data.load(dataset, split, stream=True, **reading))
        return self.sizes[key]
