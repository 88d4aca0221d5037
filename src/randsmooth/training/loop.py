"""The training loop. Every random number is addressed by (seed, epoch, step), so a resumed run is the same run."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import SGD
from torch.utils.tensorboard import SummaryWriter

from randsmooth.data import Images
from randsmooth.models import Classifier
from randsmooth.noise import Stream, draw
from randsmooth.progress import Reporter
from randsmooth.training.checkpoint import Checkpoint, save
from randsmooth.training.folder import CHECKPOINT, EVENTS
from randsmooth.training.probe import make_probe
from randsmooth.training.recipe import Recipe

LOG_EVERY = 50  # steps; a step waits for the device at no other time


class TrainingDiverged(RuntimeError):
    """The loss is no longer a finite number. The last checkpoint is from before it happened."""


class Trainer:
    """One training run: SGD on the method's objective with the learning rate dropped at given epochs."""

    def __init__(
        self,
        recipe: Recipe,
        images: Images,
        model: Classifier,
        folder: Path,
        fabric: Fabric,
        reporter: Reporter,
    ) -> None:
        self.recipe, self.images, self.folder = recipe, images, folder
        self.fabric, self.reporter = fabric, reporter
        self.weights: Classifier = model.to(fabric.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        optimizer = SGD(model.parameters(), recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay)
        network = cast(nn.Module, torch.compile(model)) if recipe.compile else model
        self.model, self.optimizer = fabric.setup(network, optimizer)
        self.schedule = recipe.build_method().schedule()
        self.history: list[dict[str, float]] = []
        self.epoch = 0

    @property
    def steps_an_epoch(self) -> int:
        return math.ceil(len(self.images) / self.recipe.images_a_step)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take up the run where the checkpoint left it."""
        self.weights.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.schedule.restore(checkpoint["schedule"])
        self.history, self.epoch = checkpoint["history"], checkpoint["epoch"]

    def fit(self) -> None:
        """Train what is left of the epochs, with a checkpoint after each.

        Raises:
            TrainingDiverged: the loss became NaN or infinite.
            InputError: the method found that its settings fit no training (all images discarded, say).
        """
        with SummaryWriter(self.folder / EVENTS, purge_step=self.epoch * self.steps_an_epoch) as writer:
            for epoch in range(self.epoch, self.recipe.epochs):
                self._train(epoch, writer)
                self.epoch = epoch + 1
                save(self._checkpoint(), self.folder / CHECKPOINT)

    def _train(self, epoch: int, writer: SummaryWriter) -> None:
        start = time.perf_counter()
        total = len(self.images)
        figures = self.schedule.advance(epoch, total, self._probe(epoch))
        objective = self.schedule.objective(epoch)
        order = self.schedule.order(epoch, total, self._stream("order", epoch))
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr_at(epoch)
        self.model.train()
        sums: dict[str, Tensor] = defaultdict(lambda: torch.zeros((), device=self.fabric.device))
        batches = self.images.batches(
            list(order.split(self.recipe.images_a_step)),
            augment_for=lambda step: self._stream("augment", epoch, step).torch(self.fabric.device),
        )
        for step, (x, y) in enumerate(batches):
            noise = draw(
                (objective.m, *x.shape),
                self.recipe.sigma,
                stream=self._stream("noise", epoch, step),
                device=self.fabric.device,
            )
            loss = objective.loss(self.model, x, y, noise)
            self.optimizer.zero_grad()
            self.fabric.backward(loss.total)
            self.optimizer.step()
            for name, term in loss.terms.items():
                sums[name] += term
            info = ""
            if (step + 1) % LOG_EVERY == 0 or step + 1 == self.steps_an_epoch:
                info = self._log(epoch, step, loss.terms, writer)
            self.reporter.advance(len(x), info)
        means = {name: float(value) / self.steps_an_epoch for name, value in sums.items()}
        seconds = time.perf_counter() - start
        row = {
            "epoch": epoch,
            "lr": self.recipe.lr_at(epoch),
            **means,
            **figures,
            "seconds": round(seconds, 3),
        }
        self.history.append(row)
        for name, value in row.items():
            writer.add_scalar(f"epoch/{name}", value, epoch)

    def _log(self, epoch: int, step: int, terms: dict[str, Tensor], writer: SummaryWriter) -> str:
        values = {name: float(term) for name, term in terms.items()}
        if not all(math.isfinite(value) for value in values.values()):
            raise TrainingDiverged(
                f"the loss is not finite in epoch {epoch}, step {step}: {values}. The checkpoint of the epoch "
                "before is kept; a lower learning rate (--set lr=...) is the usual remedy"
            )
        for name, value in values.items():
            writer.add_scalar(f"step/{name}", value, epoch * self.steps_an_epoch + step)
        return f"epoch {epoch + 1}/{self.recipe.epochs}  " + "  ".join(f"{k} {v:.4f}" for k, v in values.items())

    def _stream(self, name: str, *position: int) -> Stream:
        return Stream(self.recipe.seed, f"train/{name}").at(*position)

    def _probe(self, epoch: int) -> Any:
        stream = self._stream("probe", epoch)
        return make_probe(self.model, self.images, self.recipe.sigma, stream, self.fabric.device)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            recipe=self.recipe.model_dump(mode="json"),
            epoch=self.epoch,
            model=self.weights.state_dict(),
            optimizer=self.optimizer.state_dict(),
            schedule=self.schedule.state(),
            history=self.history,
        )
