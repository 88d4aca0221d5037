"""Everything that decides the weights of a denoiser."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from randsmooth.data import DatasetSpec
from randsmooth.methods import Method
from randsmooth.methods.denoising import OBJECTIVES, SOURCE
from randsmooth.methods.hyperparameters import Noise
from randsmooth.training.denoiser_settings import DenoiserSettings
from randsmooth.training.recipe import Recipe

METHOD = "denoised-smoothing"
# The learning rate drops after a third and two thirds of the run, as in the authors' code: 30 and 60 of 90 epochs.
USUAL: dict[str, Any] = {"lr_factor": 0.1, "momentum": 0.9, "weight_decay": 1e-4}


class DenoiserRecipe(Recipe):
    """As `Recipe`, for a denoiser: a `method` with objectives of its own, and Adam.

    Attributes:
        objective: "mse" or "stability".
        classifier: folder of the classifier that it is trained for.
        start: folder of the denoiser that it is trained from.
    """

    optimiser: ClassVar[str] = "adam"

    objective: str
    classifier: str | None = None
    start: str | None = None

    def build_method(self) -> Method:
        return OBJECTIVES[self.objective](**self.hyperparameters)

    def folders(self) -> Mapping[str, Noise | None]:
        return {"classifier": None, "start": None}

    def summary(self) -> str:
        for_classifier = f" for {self.classifier}" if self.classifier else ""
        start = f", from {self.start}" if self.start else ""
        drops = f", x{self.lr_factor:g} at {', '.join(map(str, self.lr_drops))}" if self.lr_drops else ""
        schedule = f"{self.epochs} epochs of Adam, batch {self.batch}, lr {self.lr:g}{drops}"
        return f"{self.arch} on {self.objective}{for_classifier}{start}; {schedule}"


def resolve_denoiser(dataset: str, settings: DenoiserSettings, spec: DatasetSpec, *, device: str) -> DenoiserRecipe:
    """The recipe of a run on `dataset`, which `spec` describes."""
    method = OBJECTIVES[settings.objective]()
    own = ("take", "sigma", "arch", "epochs", "batch", "lr", "precision", "seed", "compile", "objective", "start")
    return DenoiserRecipe(
        **settings.model_dump(include={*own, "classifier"}),
        **USUAL,
        dataset=dataset,
        device=device,
        method=METHOD,
        hyperparameters=dataclasses.asdict(method),
        preset=SOURCE,
        lr_drops=tuple(sorted({drop for third in (1, 2) if (drop := third * settings.epochs // 3) > 0})),
    )
