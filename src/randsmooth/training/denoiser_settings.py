"""What a user chooses for training a denoiser."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import Field, model_validator

from randsmooth import bounds
from randsmooth.errors import InputError
from randsmooth.frozen_record import FrozenRecord
from randsmooth.training.settings import TrainingPrecision

Objective = Literal["mse", "stability"]
MOST = 10**6  # epochs, or images per step


class DenoiserSettings(FrozenRecord):
    """Settings of `train_denoiser`; the defaults are those of Salman et al. 2020, which take days without a GPU.

    Raises:
        InputError: an unknown setting, or a value of a wrong type or out of its range; or the objective "stability"
            without a classifier.

    Example:
        >>> DenoiserSettings(sigma=0.5, epochs=5).objective
        'mse'
        >>> DenoiserSettings(sigma=0.5, objective="stability")
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: objective='stability' is about what a classifier says: name one ...
    """

    sigma: float = Field(description="Standard deviation of the noise to remove, for pixels in [0, 1].")
    objective: Objective = Field(
        default="mse",
        description="mse: the clean image back. stability: a classifier's class of the clean image back.",
    )
    classifier: str | None = Field(
        default=None, description="Model folder of the classifier that the objective stability is about; it is kept."
    )
    start: str | None = Field(
        default=None, description="Folder of a denoiser to begin with, such as one trained on mse. (default: untrained)"
    )
    arch: str = Field(default="dncnn-17x64", description="The network: dncnn-DEPTHxWIDTH.")
    epochs: int = Field(default=90, description="Epochs; the learning rate drops x0.1 after one and two thirds.")
    batch: int = Field(default=256, description="Images per step.")
    lr: float = Field(default=1e-3, description="Learning rate of Adam.")
    take: int | None = Field(
        default=None, description="Train on this many images, evenly spread over the file. (default: all)"
    )
    precision: TrainingPrecision = Field(default="32", description="Arithmetic: 32 or bf16-mixed.")
    compile: bool = Field(default=False, description="Compile the network with torch.compile.")
    seed: int = Field(default=0, description="Seed of initialisation, order, augmentation and noise.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        bounds.check_sigma(self.sigma)
        for name in ("epochs", "batch"):
            if not 1 <= (value := getattr(self, name)) <= MOST:
                raise InputError(f"{name}={value} must lie from 1 to {MOST:,}")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise InputError(f"lr={self.lr} must be a finite number above 0")
        if self.seed < 0:
            raise InputError(f"seed={self.seed} must be 0 or more")
        if self.objective == "stability" and self.classifier is None:
            raise InputError(
                "objective='stability' is about what a classifier says: name one (--classifier FOLDER on the command "
                "line)"
            )
        if self.objective == "mse" and self.classifier is not None:
            raise InputError("objective='mse' asks no classifier: leave it out, or choose objective='stability'")
        return self
