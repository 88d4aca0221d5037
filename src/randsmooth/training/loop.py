"""The training loop.

Random numbers are addressed by (seed, epoch, step), so a resumed run draws the same
ones.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from randsmooth.atomic import write_atomically
from randsmooth.attacks import frozen
from randsmooth.data import Draws, Images
from randsmooth.documents import shown
from randsmooth.errors import (
    OVERWRITE,
    RESUME,
    Problem,
    RunFailed,
    Setting,
    Words,
    WrongFile,
)
from randsmooth.methods import LossInputs, Method, Schedule
from randsmooth.models.answers import with_a_class
from randsmooth.models.folder import StoredModel
from randsmooth.noise import Stream
from randsmooth.progress import Reporter
from randsmooth.training.checkpoint import (
    ERRORS_OF_ANOTHER_RUN,
    Checkpoint,
    write_signed,
)
from randsmooth.training.devices import ALONE, Ranks
from randsmooth.training.folder import CHECKPOINT, HISTORY
from randsmooth.training.loggers import LoggerGroup
from randsmooth.training.predictions import ModelProbe, clear_and_offsets
from randsmooth.training.recipe import Recipe
from randsmooth.training.schedule import counted_epochs

# Adam's second beta; its first is the recipe's momentum.
ADAM_BETA_2 = 0.999
# Forward passes that a noisy copy costs in training, where its gradient is taken too.
PASSES_PER_TRAINED_COPY = 3
# Training waits for the device only where it logs.
STEPS_BETWEEN_LOGS = 50

# Called with the metrics of an epoch and the model, in eval mode, when the epoch's
# checkpoint is written. `Any`: `train` trains a Classifier, `train_denoiser` a
# Denoiser.
Callback = Callable[[dict[str, float], Any], object]


class TrainingDiverged(RunFailed):
    """The loss or the logits are no longer finite. No checkpoint is made in that state.

    Attributes:
        untrained: whether the optimiser had not taken a single step.

    Example:
        >>> raise TrainingDiverged("the loss is nan in epoch 3")
        Traceback (most recent call last):
        randsmooth.training.loop.TrainingDiverged: the loss is nan in epoch 3
    """

    def __init__(self, message: str, *, untrained: bool = False) -> None:
        super().__init__(message)
        self.untrained = untrained


@dataclass
class StepLog:
    """Collects the scalars of an epoch's steps; only `flush` waits for the device.

    The scalars are means over the images of a step.

    Attributes:
        epoch: counted from 0.
        epochs: the number of epochs of the run.
        steps: the number of steps of an epoch.
        loggers: they are told the means at every `flush`.
    """

    epoch: int
    epochs: int
    steps: int
    loggers: LoggerGroup
    names: list[str] = field(default_factory=list)
    # (names,) of each step since the last flush
    waiting: list[Tensor] = field(default_factory=list)
    # (names,) of each step before
    rows: list[NDArray[np.float64]] = field(default_factory=list)
    # The number of images in each step so far.
    images: list[int] = field(default_factory=list)

    def add(self, scalars: dict[str, Tensor], images: int) -> None:
        """Add the scalars, without gradient, of one step on so many `images`."""
        self.names = list(scalars)
        self.waiting.append(
            torch.stack([scalar.float() for scalar in scalars.values()])
        )
        self.images.append(images)

    def flush(self) -> str:
        """Read the steps since the last flush, and log their means.

        Returns:
            The means, as a line for the user.

        Raises:
            TrainingDiverged: a step's loss is not finite; the message names the first
                such step.
        """
        first = len(self.rows)
        self.rows += [*torch.stack(self.waiting).double().cpu().numpy()]
        self.waiting.clear()
        for step, row in enumerate(self.rows[first:], start=first):
            if not np.isfinite(row).all():
                named = zip(self.names, row, strict=True)
                values = ", ".join(f"{name} {value:.4g}" for name, value in named)
                raise TrainingDiverged(
                    f"the loss is not finite in epoch {self.epoch} (from 0), "
                    f"step {step}: {values}",
                    untrained=self.epoch == 0 and step == 0,
                )
        means = self.means(first)
        metrics = {f"step/{name}": mean for name, mean in means.items()}
        step_of_run = self.epoch * self.steps + len(self.images) - 1
        self.loggers.log_metrics(metrics, step_of_run)
        figures = [f"{name} {mean:.4f}" for name, mean in means.items()]
        return "  ".join([f"epoch {self.epoch + 1}/{self.epochs}", *figures])

    def means(self, first: int = 0) -> dict[str, float]:
        """Return name -> mean over the images of the flushed steps from `first` on."""
        images = self.images[first : len(self.rows)]
        means = np.average(self.rows[first:], axis=0, weights=images)
        return dict(zip(self.names, means.tolist(), strict=True))


@dataclass(eq=False)
class Trainer:
    """One training run: SGD or Adam on the method's objective.

    Attributes:
        recipe: the recipe that decides the weights.
        images: the training split.
        weights: the model, of which `model` is the compiled form where the recipe asks
            for it.
        schedule: the values that the method keeps from epoch to epoch.
        folder: the folder of the run.
        fabric: where it is computed, and in which precision.
        reporter: shows how far it is.
        classifier: the one that a denoiser is trained for, where its objective asks
            one.
        ranks: where several train together, each takes its part of every batch, and all
            have the same weights after every step.
        history: a row for each epoch that is done.
    """

    recipe: Recipe
    images: Images
    weights: StoredModel
    schedule: Schedule
    folder: Path
    fabric: Fabric
    reporter: Reporter
    classifier: nn.Module | None = None
    ranks: Ranks = ALONE
    history: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        layout = torch.channels_last
        self.weights.to(self.fabric.device, memory_format=layout)  # type: ignore[call-overload]
        if self.classifier is not None:
            self.classifier.to(self.fabric.device)
        # Not set up by Fabric, whose wrapper refuses the gradients with respect to the
        # input that attacks need.
        self.model: nn.Module = self.weights
        if self.recipe.compile:
            self.model = cast(nn.Module, torch.compile(self.weights))
        self.steps_per_epoch = math.ceil(len(self.images) / self.recipe.images_per_step)
        optimizer = make_optimiser(self.recipe, self.weights.parameters())
        self.optimizer = cast(Optimizer, self.fabric.setup_optimizers(optimizer))

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from the checkpoint.

        Raises:
            Problem: its weights are those of another network, or its schedule is that
                of another run.
        """
        # The optimiser's settings are the recipe's, which the user may have changed.
        groups = self.optimizer.state_dict()["param_groups"]
        try:
            state = {"state": checkpoint.optimizer["state"], "param_groups": groups}
            self.optimizer.load_state_dict(state)
            self.weights.load_state_dict(checkpoint.model)
            self.schedule.restore(checkpoint.schedule, len(self.images))
        except ERRORS_OF_ANOTHER_RUN as error:
            raise WrongFile(
                f"{self.folder / CHECKPOINT} does not fit: it is of another network or "
                f"run ({shown(error)})"
            ) from error
        self.history = checkpoint.history

    @property
    def steps_taken(self) -> int:
        """Count the steps that the optimiser took in all epochs so far."""
        return len(self.history) * self.steps_per_epoch

    def fit(self, loggers: LoggerGroup, callback: Callback | None = None) -> None:
        """Train the remaining epochs.

        After each, write a checkpoint and call the `callback`.

        Raises:
            TrainingDiverged: the loss or the logits became NaN or infinite.
            Problem: the method cannot train with its settings (all images would be
                discarded, say).
        """
        if self.history and self.ranks.is_first:
            # The run may have been killed after its last checkpoint.
            self._write_history()
        for epoch in range(len(self.history), self.recipe.epochs):
            row = self._one_epoch(epoch, loggers)
            self.history.append(row)
            if not self.ranks.is_first:
                continue
            self._write_checkpoint()
            self._write_history()
            loggers.log_metrics(_named_for_loggers(row), self.steps_taken - 1)
            loggers.each(lambda logger: logger.save())
            if callback is not None:
                with frozen(self.weights):
                    callback(dict(row), self.weights)

    def _one_epoch(self, epoch: int, loggers: LoggerGroup) -> dict[str, float]:
        """Train one epoch, and return its row of the history."""
        start = time.perf_counter()
        try:
            figures = self._steps_of(epoch, loggers)
        except Problem as error:
            if not error.fix:
                untrained = isinstance(error, TrainingDiverged) and error.untrained
                error.fix = self._way_out(epoch, untrained=untrained)
            raise
        return {
            "epoch": epoch,
            "lr": self.recipe.lr_at(epoch),
            **figures,
            "seconds": round(time.perf_counter() - start, 3),
        }

    def _way_out(self, epoch: int, *, untrained: bool) -> Words:
        """Say what to try after `epoch` failed, and what is kept of the run.

        The learning rate is not to blame where the optimiser has not taken a step.
        """
        settings = "try other settings; "
        if not untrained:
            rate = f"lr, now {self.recipe.lr:g}"
            settings = f"try a lower learning rate ({rate}) or other settings; "
        if epoch == 0:
            return settings, OVERWRITE, " begins anew"
        return (
            settings,
            f"{counted_epochs(epoch)} kept: ",
            Setting("accept_changes", True),
            " with ",
            RESUME,
            " goes on from there",
        )

    def _write_checkpoint(self) -> None:
        content = {
            "recipe": self.recipe.model_dump(mode="json"),
            "history": self.history,
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state(),
            "model": self.weights.state_dict(),
        }
        write_signed(self.folder / CHECKPOINT, content)

    def _write_history(self) -> None:
        text = pd.DataFrame(self.history).to_csv(index=False)
        write_atomically(self.folder / HISTORY, text.encode())

    def _steps_of(self, epoch: int, loggers: LoggerGroup) -> dict[str, float]:
        """Prepare the schedule for an epoch, and take its steps.

        Returns:
            The means of what its steps logged, and the schedule's figures.
        """
        with self.fabric.autocast():
            figures = self._advance(epoch)
        loggers.log_histograms(self.schedule.histograms(), self.steps_taken)
        objective = self.schedule.objective(epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr_at(epoch)
        self.model.train()
        log = StepLog(epoch, self.recipe.epochs, self.steps_per_epoch, loggers)
        for step, (indices, x, y) in enumerate(self._batches(epoch)):
            images = self._images_in(step)
            log.add(self.step(objective, x, y, indices, epoch, step), images)
            is_last = step + 1 == self.steps_per_epoch
            status = ""
            if is_last or (step + 1) % STEPS_BETWEEN_LOGS == 0:
                status = log.flush()
            self.reporter.advance(images, status)
            if is_last:
                self._check_logits(epoch, x)
        return log.means() | figures

    def _advance(self, epoch: int) -> dict[str, float]:
        """Let the schedule prepare the epoch, and return its figures.

        The copies that it asks the model about are reported as images of training.
        """
        images_of_epoch = len(self.images)
        expected_images = work(self.schedule, epoch, images_of_epoch) - images_of_epoch
        copies_per_image = PASSES_PER_TRAINED_COPY * self.schedule.method.m
        copies = 0
        reported_images = 0
        progress = f"epoch {epoch + 1}/{self.recipe.epochs}"

        def report(copies_of_this_rank: int) -> None:
            nonlocal copies, reported_images
            # The ranks share the copies evenly.
            copies += copies_of_this_rank * self.ranks.number
            images = min(expected_images, copies // copies_per_image)
            self.reporter.advance(
                images - reported_images,
                f"{progress}  asking which images are easy: {copies:,} noisy copies",
            )
            reported_images = images

        probe = ModelProbe(
            model=self.weights,
            images=self.images,
            noise=self.recipe.noise,
            stream=self._stream("probe", epoch),
            device=self.fabric.device,
            ranks=self.ranks,
            report=report,
        )
        figures = self.schedule.advance(epoch, len(self.images), probe)
        if expected_images:
            # Fewer copies may be asked about than expected; the work is done
            # nevertheless.
            self.reporter.advance(expected_images - reported_images, progress)
        if self.schedule.remark:
            self.reporter.say(f"{progress}: {self.schedule.remark}")
        return figures

    def _images_in(self, step: int) -> int:
        """Count the images in the batch of a step, on all ranks together."""
        left = len(self.images) - step * self.recipe.images_per_step
        return min(self.recipe.images_per_step, left)

    def _batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield this rank's part of the epoch's batches, in their order.

        Each is indices (B,), augmented x (B, C, H, W) and y (B,).
        """
        stream = self._stream("order", epoch)
        order = self.schedule.order(epoch, len(self.images), stream)
        if not self.images.streams:
            # All at once, so that no step waits for its indices.
            order = order.to(self.fabric.device)
        whole_batches = order.split(self.recipe.images_per_step)
        parts = [whole[self.ranks.rows(len(whole))] for whole in whole_batches]

        def draws_of(step: int) -> Draws:
            """Return the batch's random numbers, from this rank's part on."""
            total = len(whole_batches[step])
            generator = self._stream("augment", epoch, step).torch(self.fabric.device)
            return Draws(generator, self.ranks.rows(total).start, total)

        batches = self.images.batches(parts, draws_of)
        for indices, (x, y) in zip(parts, batches, strict=True):
            yield indices, x, y

    def step(
        self,
        method: Method,
        x: Tensor,
        y: Tensor,
        indices: Tensor,
        epoch: int,
        step: int,
    ) -> dict[str, Tensor]:
        """Take one step of the optimiser on this rank's part of a batch.

        Random numbers are drawn for the whole batch: those of an image do not depend on
        how many ranks share it.

        Returns:
            What to log about the step, still on the device.
        """
        device = self.fabric.device
        total = len(x) if self.ranks.alone else self._images_in(step)
        rows = self.ranks.rows(total)
        stream = self._stream("noise", epoch, step)
        if not self.ranks.alone:
            x = _among_zeros(x, rows, total)
        clear, noise = clear_and_offsets(x, self.recipe.noise, method.m, stream)
        x = clear[rows]  # (B, C, H, W)
        noise = noise[:, rows]  # (m, B, C, H, W)

        # The name "aside" must stay: the numbers of seeded runs depend on it.
        generator = self._stream("aside", epoch, step).torch(device)
        u = torch.rand(total, generator=generator, device=device)[rows]
        inputs = LossInputs(
            u=u,
            target=self.schedule.target(indices),
            sigma=self.recipe.sigma,
            classifier=self.classifier,
        )
        with self.fabric.autocast():
            loss = method.loss(self.model, x, y, noise, inputs)
        self.optimizer.zero_grad()
        share = len(x) / total
        self.fabric.backward(loss.total if self.ranks.alone else loss.total * share)
        scalars = loss.terms | loss.figures
        logged = {name: value.float() for name, value in scalars.items()}
        logged = self.ranks.join_step(self.weights, logged, share)
        self.optimizer.step()
        return logged

    @torch.inference_mode()
    def _check_logits(self, epoch: int, x: Tensor) -> None:
        """Raise TrainingDiverged if the epoch's last step broke the model.

        No loss has shown it yet.
        """
        if self.recipe.noise is not None:
            x = self.recipe.noise.clear(x)
        with frozen(self.model), self.fabric.autocast():
            logits = self.model(x)
            broken = ~with_a_class(logits).all()
            if self.ranks.sum(broken.float()):
                raise TrainingDiverged(
                    f"the model's logits are not finite after epoch {epoch}"
                )

    def _stream(self, name: str, *position: int) -> Stream:
        return Stream(self.recipe.seed, f"train/{name}").at(*position)


def _among_zeros(x: Tensor, rows: slice, total: int) -> Tensor:
    """Return a batch of `total` images that has `x` at its `rows`, and zeros else."""
    before = x.new_zeros(rows.start, *x.shape[1:])
    behind = x.new_zeros(total - rows.stop, *x.shape[1:])
    return torch.cat([before, x, behind])


def work(schedule: Schedule, epoch: int, images: int) -> int:
    """Count the images of training that `epoch` is as much work as.

    These are its own images, and the copies that the schedule asks about before it.
    """
    copies_per_image = PASSES_PER_TRAINED_COPY * schedule.method.m
    return images + images * schedule.copies(epoch) // copies_per_image


def _named_for_loggers(row: dict[str, float]) -> dict[str, float]:
    """Return the figures of an epoch by the names that loggers are told.

    No name may be a folder of others, as "epoch" would be: MLflow makes files of them.
    """
    named = {f"epoch/{name}": value for name, value in row.items() if name != "epoch"}
    return {"epoch/number": row["epoch"], **named}


def make_optimiser(recipe: Recipe, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """Return the optimiser of `recipe` for the `parameters` of its network."""
    if recipe.optimiser == "adam":
        return Adam(
            parameters,
            recipe.lr,
            betas=(recipe.momentum, ADAM_BETA_2),
            weight_decay=recipe.weight_decay,
            fused=True,
        )
    return SGD(
        parameters,
        recipe.lr,
        recipe.momentum,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
