"""The training loop. Random numbers are addressed by (seed, epoch, step), so a resumed run draws the same ones."""

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
from randsmooth.errors import Problem, WrongFile
from randsmooth.methods import LossInputs, Method, Schedule
from randsmooth.models.answers import with_a_class
from randsmooth.models.folder import StoredModel
from randsmooth.noise import Stream
from randsmooth.progress import Reporter
from randsmooth.training.checkpoint import UNFIT, Checkpoint, write_signed
from randsmooth.training.devices import ALONE, Ranks
from randsmooth.training.folder import CHECKPOINT, HISTORY
from randsmooth.training.loggers import LoggerGroup
from randsmooth.training.predictions import make_probe, seen
from randsmooth.training.recipe import Recipe

BETA_2 = 0.999  # of Adam; its other beta is the recipe's momentum
PASSES = 3  # forward passes that a noisy copy costs in training, where its gradient is taken too
LOG_EVERY = 50  # steps; training waits for the device only then

# Given the metrics of an epoch and the model, in eval mode, when the epoch's checkpoint is written. `Any`: what `train`
# trains is a Classifier, what `train_denoiser` trains a Denoiser.
Callback = Callable[[dict[str, float], Any], object]


class TrainingDiverged(RuntimeError):
    """The loss or the logits are no longer finite. No checkpoint is made in that state.

    Example:
        >>> raise TrainingDiverged("the loss is nan in epoch 3")
        Traceback (most recent call last):
        randsmooth.training.loop.TrainingDiverged: the loss is nan in epoch 3
    """


@dataclass
class StepLog:
    """Collects the scalars of an epoch's steps, means over images; only `flush` waits for the device."""

    epoch: int
    epochs: int
    steps: int
    loggers: LoggerGroup
    names: list[str] = field(default_factory=list)
    waiting: list[Tensor] = field(
        default_factory=list
    )  # (names,) of each step since the last flush
    rows: list[NDArray[np.float64]] = field(default_factory=list)  # of each step before
    images: list[int] = field(
        default_factory=list
    )  # number of images in each step so far

    def add(self, scalars: dict[str, Tensor], images: int) -> None:
        """Add the scalars of one step on so many `images`: without gradient, all on one device."""
        self.names = list(scalars)
        self.waiting.append(
            torch.stack([scalar.float() for scalar in scalars.values()])
        )
        self.images.append(images)

    def flush(self) -> str:
        """Read the steps since the last flush, log their means, and return them as a line for the user.

        Raises:
            TrainingDiverged: a step's loss is not finite; the message names the first such step.
        """
        first = len(self.rows)
        self.rows += [*torch.stack(self.waiting).double().cpu().numpy()]
        self.waiting.clear()
        for step, row in enumerate(self.rows[first:], start=first):
            if not np.isfinite(row).all():
                values = ", ".join(
                    f"{name} {value:.4g}"
                    for name, value in zip(self.names, row, strict=True)
                )
                raise TrainingDiverged(
                    f"the loss is not finite in epoch {self.epoch} (from 0), step {step}: {values}"
                )
        means = self.means(first)
        at = self.epoch * self.steps + len(self.images) - 1
        self.loggers.log_metrics(
            {f"step/{name}": value for name, value in means.items()}, at
        )
        return "  ".join(
            [
                f"epoch {self.epoch + 1}/{self.epochs}",
                *(f"{name} {means[name]:.4f}" for name in means),
            ]
        )

    def means(self, first: int = 0) -> dict[str, float]:
        """Name -> mean over the images of the steps from `first` on that were flushed."""
        means = np.average(
            self.rows[first:], axis=0, weights=self.images[first : len(self.rows)]
        )
        return dict(zip(self.names, means.tolist(), strict=True))


@dataclass(eq=False)
class Trainer:
    """One training run: SGD or Adam on the method's objective, with the learning rate dropped at given epochs.

    Attributes:
        weights: the model, of which `model` is the compiled form where the recipe asks for it.
        classifier: the one that a denoiser is trained for, where its objective asks one.
        ranks: where several train together, each takes its part of every batch, and all have the same weights after
            every step.
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
        self.weights.to(self.fabric.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.classifier is not None:
            self.classifier.to(self.fabric.device)
        # Not set up by Fabric, whose wrapper refuses the gradients with respect to the input that attacks need.
        self.model = (
            cast(nn.Module, torch.compile(self.weights))
            if self.recipe.compile
            else self.weights
        )
        self.steps_per_epoch = math.ceil(len(self.images) / self.recipe.images_per_step)
        optimizer = make_optimiser(self.recipe, self.weights.parameters())
        self.optimizer = cast(Optimizer, self.fabric.setup_optimizers(optimizer))

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from the checkpoint.

        Raises:
            Problem: its weights are those of another network, or its schedule is that of another run.
        """
        try:
            groups = self.optimizer.state_dict()[
                "param_groups"
            ]  # the recipe's, which the user may have changed
            self.optimizer.load_state_dict(
                {"state": checkpoint.optimizer["state"], "param_groups": groups}
            )
            self.weights.load_state_dict(checkpoint.model)
            self.schedule.restore(checkpoint.schedule, len(self.images))
        except UNFIT as error:
            what = f"does not fit: it is of another network or run ({shown(error)})"
            raise WrongFile(f"{self.folder / CHECKPOINT} {what}") from error
        self.history = checkpoint.history

    @property
    def steps_taken(self) -> int:
        """By the optimiser, in all epochs so far."""
        return len(self.history) * self.steps_per_epoch

    def fit(self, loggers: LoggerGroup, callback: Callback | None = None) -> None:
        """Train the remaining epochs, with a checkpoint after each, and then the `callback`, if any.

        Raises:
            TrainingDiverged: the loss or the logits became NaN or infinite.
            Problem: the method cannot train with its settings (all images would be discarded, say).
        """
        if (
            self.history and self.ranks.is_first
        ):  # the run may have been killed after its last checkpoint
            self._write_history()
        for epoch in range(len(self.history), self.recipe.epochs):
            self.history.append(row := self._one_epoch(epoch, loggers))
            if not self.ranks.is_first:
                continue
            state = {
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state(),
            }
            facts = {
                "recipe": self.recipe.model_dump(mode="json"),
                "history": self.history,
            }
            write_signed(
                self.folder / CHECKPOINT,
                facts | state | {"model": self.weights.state_dict()},
            )
            self._write_history()
            # No name may be a folder of others: MLflow makes files of them.
            named = {
                f"epoch/{'number' if name == 'epoch' else name}": value
                for name, value in row.items()
            }
            loggers.log_metrics(named, self.steps_taken - 1)
            loggers.each(lambda logger: logger.save())
            if callback is not None:
                with frozen(self.weights):
                    callback(dict(row), self.weights)

    def _one_epoch(self, epoch: int, loggers: LoggerGroup) -> dict[str, float]:
        """Train one epoch; its row of the history."""
        start = time.perf_counter()
        try:
            figures = self._train(epoch, loggers)
        except (TrainingDiverged, Problem) as error:
            kept = (
                f"{epoch} epochs are kept: --resume --accept-changes goes on from them"
                if epoch
                else "--overwrite"
            )
            slower = f"a lower learning rate (--set lr=..., now {self.recipe.lr:g}) or "
            slower *= " 0 (from 0), step 0: " not in str(
                error
            )  # before which the optimiser has taken no step
            raise type(error)(f"{error}. Try {slower}other settings; {kept}") from error
        seconds = round(time.perf_counter() - start, 3)
        return {
            "epoch": epoch,
            "lr": self.recipe.lr_at(epoch),
            **figures,
            "seconds": seconds,
        }

    def _write_history(self) -> None:
        write_atomically(
            self.folder / HISTORY,
            pd.DataFrame(self.history).to_csv(index=False).encode(),
        )

    def _train(self, epoch: int, loggers: LoggerGroup) -> dict[str, float]:
        """Train one epoch; returns the means of what its steps logged, and the schedule's figures."""
        with self.fabric.autocast():
            figures = self._advance(epoch)
        loggers.log_histograms(self.schedule.histograms(), self.steps_taken)
        objective = self.schedule.objective(epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr_at(epoch)
        self.model.train()
        log = StepLog(epoch, self.recipe.epochs, self.steps_per_epoch, loggers)
        for step, (indices, x, y) in enumerate(self._batches(epoch)):
            log.add(
                self.step(objective, x, y, indices, epoch, step), self._images_in(step)
            )
            last = step + 1 == self.steps_per_epoch
            status = log.flush() if (step + 1) % LOG_EVERY == 0 or last else ""
            self.reporter.advance(self._images_in(step), status)
            if last:
                self._check_logits(epoch, x)
        return log.means() | figures

    def _advance(self, epoch: int) -> dict[str, float]:
        """Let the schedule prepare the epoch, and report what it asks the model about as images of training."""
        due, copies, done = (
            work(self.schedule, epoch, len(self.images)) - len(self.images),
            0,
            0,
        )
        here = f"epoch {epoch + 1}/{self.recipe.epochs}"

        def asked(some: int) -> None:
            nonlocal copies, done
            copies += some * self.ranks.number
            more = min(due, copies // (PASSES * self.schedule.method.m)) - done
            self.reporter.advance(
                more, f"{here}  asking which images are easy: {copies:,} noisy copies"
            )
            done += more

        stream = self._stream("probe", epoch)
        of = (
            self.weights,
            self.images,
            self.recipe.smoothing,
            stream,
            self.fabric.device,
            self.ranks,
        )
        figures = self.schedule.advance(epoch, len(self.images), make_probe(*of, asked))
        if due:
            self.reporter.advance(due - done, here)
        if self.schedule.remark:
            self.reporter.say(f"{here}: {self.schedule.remark}")
        return figures

    def _images_in(self, step: int) -> int:
        """Of how many images the batch of a step is, on all ranks together."""
        return min(
            self.recipe.images_per_step,
            len(self.images) - step * self.recipe.images_per_step,
        )

    def _batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """This rank's part of the epoch's batches in its order: indices (B,), augmented x (B, C, H, W) and y (B,)."""
        order = self.schedule.order(
            epoch, len(self.images), self._stream("order", epoch)
        )
        if not self.images.streams:
            order = order.to(
                self.fabric.device
            )  # all at once, so that no step waits for its indices
        wholes = order.split(self.recipe.images_per_step)
        chunks = [whole[self.ranks.rows(len(whole))] for whole in wholes]

        def draws_of(step: int) -> Draws:
            total = len(wholes[step])
            generator = self._stream("augment", epoch, step).torch(self.fabric.device)
            return Draws(generator, self.ranks.rows(total).start, total)

        batches = self.images.batches(chunks, draws_of)
        yield from (
            (indices, x, y) for indices, (x, y) in zip(chunks, batches, strict=True)
        )

    def step(
        self,
        method: Method,
        x: Tensor,
        y: Tensor,
        indices: Tensor,
        epoch: int,
        step: int,
    ) -> dict[str, Tensor]:
        """Take one step of the optimiser on this rank's part of a batch; what to log about it, still on the device.

        Random numbers are drawn for the whole batch: those of an image do not depend on how many ranks share it.
        """
        device = self.fabric.device
        total = len(x) if self.ranks.alone else self._images_in(step)
        rows = self.ranks.rows(total)
        stream = self._stream("noise", epoch, step)
        if not self.ranks.alone:
            x = torch.cat(
                [
                    x.new_zeros(rows.start, *x.shape[1:]),
                    x,
                    x.new_zeros(total - rows.stop, *x.shape[1:]),
                ]
            )
        x, noise = (
            part[..., rows, :, :, :]
            for part in seen(x, self.recipe.smoothing, method.m, stream)
        )
        # The name "aside" must stay: the numbers of seeded runs depend on it.
        u = torch.rand(
            total,
            generator=self._stream("aside", epoch, step).torch(device),
            device=device,
        )[rows]
        target = self.schedule.target(indices)
        inputs = LossInputs(
            u=u, target=target, sigma=self.recipe.sigma, classifier=self.classifier
        )
        with self.fabric.autocast():
            loss = method.loss(self.model, x, y, noise, inputs)
        self.optimizer.zero_grad()
        share = len(x) / total
        self.fabric.backward(loss.total if self.ranks.alone else loss.total * share)
        logged = {
            name: value.float() for name, value in (loss.terms | loss.figures).items()
        }
        logged = self.ranks.join_step(self.weights, logged, share)
        self.optimizer.step()
        return logged

    @torch.inference_mode()
    def _check_logits(self, epoch: int, x: Tensor) -> None:
        """Raise TrainingDiverged if the epoch's last step broke the model, which no loss has shown yet."""
        with frozen(self.model), self.fabric.autocast():
            logits = self.model(
                self.recipe.smoothing.clear(x) if self.recipe.smoothing else x
            )
            broken = ~with_a_class(logits).all()
            if self.ranks.sum(broken.float()):
                raise TrainingDiverged(
                    f"the model's logits are not finite after epoch {epoch}"
                )

    def _stream(self, name: str, *position: int) -> Stream:
        return Stream(self.recipe.seed, f"train/{name}").at(*position)


def work(schedule: Schedule, epoch: int, images: int) -> int:
    """How many images of training `epoch` is as much work as: its own, and what the schedule asks before it."""
    return images + images * schedule.copies(epoch) // (PASSES * schedule.method.m)


def make_optimiser(recipe: Recipe, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """The optimiser of `recipe` for the `parameters` of its network."""
    if recipe.optimiser == "adam":
        betas = (recipe.momentum, BETA_2)
        return Adam(
            parameters,
            recipe.lr,
            betas=betas,
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
