"""What the steps of an epoch log, read from the device in one go every so many steps."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter

REMEDY = "Checkpoints of earlier epochs are kept; a lower learning rate (--set lr=...) is the usual remedy"


class TrainingDiverged(RuntimeError):
    """The loss or the logits are no longer finite numbers. No checkpoint was made of them."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. {REMEDY}")


class StepLog:
    """Collects the scalars of an epoch's steps; `flush` is the only wait for the device."""

    def __init__(self, epoch: int, epochs: int, steps: int, writer: SummaryWriter) -> None:
        self.epoch, self.epochs, self.steps, self.writer = epoch, epochs, steps, writer
        self.names: list[str] = []
        self.waiting: list[Tensor] = []  # (names,) of each step since the last flush
        self.read = 0
        self.sums: dict[str, float] = {}

    def add(self, scalars: dict[str, Tensor]) -> None:
        """Take the scalars of one step, all without gradient and on one device."""
        self.names = list(scalars)
        self.waiting.append(torch.stack([scalar.float() for scalar in scalars.values()]))

    def flush(self) -> str:
        """Read the steps that wait, write the last one's curves, and tell it in a line.

        Raises:
            TrainingDiverged: a step's loss is not finite; the first such step is named.
        """
        for row in torch.stack(self.waiting).tolist():
            values = dict(zip(self.names, row, strict=True))
            if not all(map(math.isfinite, row)):
                raise TrainingDiverged(f"the loss is not finite in epoch {self.epoch}, step {self.read}: {values}")
            for name, value in values.items():
                self.sums[name] = self.sums.get(name, 0.0) + value
            self.read += 1
        self.waiting.clear()
        for name, value in values.items():
            self.writer.add_scalar(f"step/{name}", value, self.epoch * self.steps + self.read - 1)
        told = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
        return f"epoch {self.epoch + 1}/{self.epochs}  {told}"

    def means(self) -> dict[str, float]:
        """Name -> mean over the steps read."""
        return {name: total / self.read for name, total in self.sums.items()}
