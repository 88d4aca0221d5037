"""What the steps of an epoch log, read from the device in one go every so many steps."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from randsmooth.training.curves import Writer


class TrainingDiverged(RuntimeError):
    """The loss or the logits are no longer finite numbers. No checkpoint was made of them.

    Example:
        >>> raise TrainingDiverged("the loss is nan in epoch 3")
        Traceback (most recent call last):
        randsmooth.training.steps.TrainingDiverged: the loss is nan in epoch 3
    """


class StepLog:
    """Collects the scalars of an epoch's steps; `flush` is the only wait for the device.

    All that it tells are means over images.
    """

    def __init__(self, epoch: int, epochs: int, steps: int, writer: Writer) -> None:
        self.epoch, self.epochs, self.steps, self.writer = epoch, epochs, steps, writer
        self.names: list[str] = []
        self.waiting: list[Tensor] = []  # (names,) of each step since the last flush
        self.images: list[int] = []  # of each step so far
        self.sums = np.zeros(0)

    def add(self, scalars: dict[str, Tensor], images: int) -> None:
        """Take the scalars of one step on so many images, all without gradient and on one device."""
        self.names = list(scalars)
        self.waiting.append(torch.stack([scalar.float() for scalar in scalars.values()]))
        self.images.append(images)

    def flush(self) -> str:
        """Read the steps that wait, draw their means as curves, and tell them in a line.

        Raises:
            TrainingDiverged: a step's loss is not finite; the first such step is named.
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
        for name, value in means.items():
            self.writer.add_scalar(f"step/{name}", value, self.epoch * self.steps + len(self.images) - 1)
        told = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        return f"epoch {self.epoch + 1}/{self.epochs}  {told}"

    def means(self) -> dict[str, float]:
        """Name -> mean over the images read."""
        return dict(zip(self.names, (self.sums / sum(self.images)).tolist(), strict=True))
