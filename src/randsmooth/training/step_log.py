"""What the steps of an epoch log. The device is read only once every so many steps."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from randsmooth.training.loggers import LoggerGroup


class TrainingDiverged(RuntimeError):
    """The loss or the logits are no longer finite. No checkpoint is made in that state.

    Example:
        >>> raise TrainingDiverged("the loss is nan in epoch 3")
        Traceback (most recent call last):
        randsmooth.training.step_log.TrainingDiverged: the loss is nan in epoch 3
    """


class StepLog:
    """Collects the scalars of an epoch's steps; only `flush` waits for the device.

    All values that it reports are means over images.
    """

    def __init__(self, epoch: int, epochs: int, steps: int, loggers: LoggerGroup) -> None:
        self.epoch, self.epochs, self.steps, self.loggers = epoch, epochs, steps, loggers
        self.names: list[str] = []
        self.waiting: list[Tensor] = []  # (names,) of each step since the last flush
        self.images: list[int] = []  # number of images in each step so far
        self.sums = np.zeros(0)

    def add(self, scalars: dict[str, Tensor], images: int) -> None:
        """Add the scalars of one step on so many `images`: without gradient, all on one device."""
        self.names = list(scalars)
        self.waiting.append(torch.stack([scalar.float() for scalar in scalars.values()]))
        self.images.append(images)

    def flush(self) -> str:
        """Read the steps since the last flush, log their means, and return them as a line for the user.

        Raises:
            TrainingDiverged: a step's loss is not finite; the message names the first such step.
        """
        rows = torch.stack(self.waiting).double().cpu().numpy()
        first = len(self.images) - len(rows)
        for step, row in enumerate(rows, start=first):
            if not np.isfinite(row).all():
                values = ", ".join(f"{name} {value:.4g}" for name, value in zip(self.names, row, strict=True))
                raise TrainingDiverged(f"the loss is not finite in epoch {self.epoch} (from 0), step {step}: {values}")
        images = np.array(self.images[first:])
        self.sums = images @ rows + (self.sums if first else 0.0)
        self.waiting.clear()
        means = dict(zip(self.names, images @ rows / images.sum(), strict=True))
        at = self.epoch * self.steps + len(self.images) - 1
        self.loggers.log_metrics({f"step/{name}": value for name, value in means.items()}, at)
        values = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        return f"epoch {self.epoch + 1}/{self.epochs}  {values}"

    def means(self) -> dict[str, float]:
        """Name -> mean over the images of all steps that were flushed."""
        return dict(zip(self.names, (self.sums / sum(self.images)).tolist(), strict=True))
