"""A callback of Lightning that certifies some validation images while a module trains."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader

from randsmooth import metrics
from randsmooth.certificates import (
    Certificates,
    CertificationSettings,
    JournalRow,
)
from randsmooth.certificates.journal_rows import table_of
from randsmooth.certification.run import OpenRun, RunSpec
from randsmooth.errors import BadValue, MissingValue
from randsmooth.metrics.tracked import PREFIX
from randsmooth.noise import Noise

# Lightning's strategies that give each device a part of the module. They need packages
# or devices of their own, so that they are known by their names.
CUTTING_UP = ("FSDPStrategy", "DeepSpeedStrategy", "ModelParallelStrategy")


class CertifyCallback(Callback):  # type: ignore[misc]
    """Certifies validation images every few epochs, and logs what it finds.

    The figures are those of `metrics.scalars` without their intervals: certified accuracy
    at the radii, shares of p_A, abstention, ACR. They go to the logger of the trainer. A `ModelCheckpoint` may
    monitor "certified/accuracy_at_0.5"; give it the same `every_n_epochs`.

    The certificates are about a copy of the module in eval mode. The random numbers of
    the training stay as they are. The noise of an image depends on its pixels and `seed`
    alone, so that the same weights have the same figures, also after a resume.

    All processes of a trainer share the images among them. Each must hold the whole
    module, as with one device or DDP.

    Args:
        sigma, noise: the noise, as in `CertificationSettings`.
        dataset: the images with labels: anything that `data.load` takes, which a name
            opens at its validation split; `data.load(name, "test")` names another.
            Default: the data set of the first validation loader.
        take: how many images to certify, evenly spread over the data set; all, if it
            has fewer.
        radii: the radii of the certified accuracies.
        every_n_epochs: certify at the validation after every so many epochs.
        n0, n, alpha, rule, batch, seed: as in `CertificationSettings`, with a smaller n.
        network: returns the base classifier of the module, which takes images in [0, 1].
            Default: the module itself, by its `forward`.
        prefix: what the names of the figures begin with. Two callbacks need two.

    Attributes:
        table: the certificates of the last time; None before the first.

    Raises:
        Problem: a setting cannot be used, or a radius lies beyond what n samples can
            certify. Before the training starts: the strategy cuts the module up, or the
            trainer does not validate; or, in Lightning's sanity check, there are no
            images, or the module does not take them.

    A checkpoint that was chosen by these figures looks too good on the same images.
    Certify others, such as the test split, to report it.

    Example:
        >>> certify = CertifyCallback(sigma=0.5, radii=[0.5], take=50, every_n_epochs=5)
        >>> certify.settings.n, certify.table is None
        (1000, True)
        >>> CertifyCallback(sigma=0.5, radii=[2.0])
        Traceback (most recent call last):
        randsmooth.errors.BadValue: radii=2.0 is beyond 1.23, the farthest that ...
    """

    def __init__(
        self,
        *,
        sigma: float | None = None,
        noise: Noise | str | None = None,
        dataset: Any = None,
        take: int = 100,
        radii: Sequence[float] = (0.0,),
        every_n_epochs: int = 1,
        n0: int = 100,
        n: int = 1000,
        alpha: float = 0.001,
        rule: str = "fixed",
        batch: int | None = None,
        seed: int = 0,
        network: Callable[[LightningModule], nn.Module] | None = None,
        prefix: str = PREFIX,
    ) -> None:
        super().__init__()
        self.settings = CertificationSettings(
            sigma=sigma,
            noise=noise,
            n0=n0,
            n=n,
            alpha=alpha,
            rule=rule,
            batch=batch,
            seed=seed,
        )
        self.radii = _reachable(radii, self.settings)
        self.take = _at_least_one("take", take)
        self.every_n_epochs = _at_least_one("every_n_epochs", every_n_epochs)
        self.dataset = dataset
        self.network = network
        self.prefix = prefix
        self.table: Certificates | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse strategies by which no process holds the whole module."""
        strategy = type(trainer.strategy).__name__
        if strategy in CUTTING_UP:
            raise BadValue(
                field="strategy",
                value=strategy,
                expected="leaves no process the whole module, which is certified",
                fix="train with DDP, or certify a checkpoint afterwards",
            )

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse a training without validation, after which nothing would certify."""
        if not trainer.enable_validation:
            raise MissingValue(
                "the trainer does not validate, and certificates follow a validation",
                field="val_dataloaders",
                fix="give `fit` val_dataloaders, and the module a validation_step, which "
                "may be empty",
            )

    def on_validation_epoch_end(
        self, trainer: Trainer, pl_module: LightningModule
    ) -> None:
        """Certify, and log the figures, where this epoch is one of those to do so."""
        fitting = trainer.state.fn == "fit"
        epochs = trainer.current_epoch + 1
        due = not fitting or epochs % self.every_n_epochs == 0
        if not due and not trainer.sanity_checking:
            return
        run = self._open(trainer, pl_module)
        # The sanity check has shown that the module and the images can be certified.
        if trainer.sanity_checking:
            return
        table = _certified(run, trainer.global_rank, trainer.world_size)
        self.table = table.renamed(f"epoch {epochs}")
        figures = metrics.scalars(
            self.table, self.radii, prefix=self.prefix, intervals=False
        )
        # All processes have the same figures, and monitors look at them in each.
        pl_module.log_dict(figures, sync_dist=trainer.world_size > 1)

    def _open(self, trainer: Trainer, pl_module: LightningModule) -> OpenRun:
        """Open the run that certifies the module as it is now."""
        dataset = self.dataset
        if dataset is None:
            dataset = _first_dataset(trainer.val_dataloaders)
        network = pl_module if self.network is None else self.network(pl_module)
        spec = RunSpec.of(
            # Its own modes stay, also where only a part of it was in eval mode.
            copy.deepcopy(network).eval(),
            dataset,
            self.settings,
            split="validation",
            device=str(pl_module.device),
        )
        inputs = spec.open_inputs()
        take = min(self.take, len(inputs.images))
        return replace(spec, take=take).open(inputs)


def _certified(run: OpenRun, process: int, processes: int) -> Certificates:
    """Return the table of a run that so many processes share.

    Args:
        run: the run, open in each of them alike.
        process: the number of this one, from 0 on.
        processes: how many there are.
    """
    rows = list(run.certify(run.indices[process::processes]))
    if processes > 1:
        rows = _gathered(rows, processes)
    row_of_image = {row.idx: row for row in rows}
    return table_of(run.header, [row_of_image[index] for index in run.indices])


def _gathered(rows: list[JournalRow], processes: int) -> list[JournalRow]:
    """Return the rows of all processes, in each of them."""
    rows_of_processes: list[Any] = [None] * processes
    torch.distributed.all_gather_object(rows_of_processes, rows)
    return [row for rows in rows_of_processes for row in rows]


def _first_dataset(loaders: Any) -> Any:
    """Return the data set of the first validation loader.

    Lightning may have given the loader a sampler that cuts its items up among processes,
    so that the data set is taken and not the loader.
    """
    first = loaders
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if not isinstance(first, DataLoader):
        raise MissingValue(
            "the trainer has no DataLoader for validation, whose images could be "
            "certified",
            field="dataset",
            fix="give CertifyCallback images: dataset=(x, y), or a name",
        )
    return first.dataset


def _reachable(
    radii: Sequence[float], settings: CertificationSettings
) -> tuple[float, ...]:
    """Return the radii, once it is clear that the settings can certify them.

    Raises:
        Problem: one cannot be certified, or the settings say no noise.
    """
    noise = settings.known_noise()
    metrics.check_radius(*radii)
    if noise.ready and radii:
        farthest = settings.stopping_rule().farthest
        largest = max(radii)
        if largest > farthest:
            raise BadValue(
                field="radii",
                value=largest,
                expected=f"is beyond {farthest:.3g}, the farthest that these settings "
                "certify",
                fix="raise n or the noise",
            )
    return tuple(float(radius) for radius in radii)


def _at_least_one(field: str, value: int) -> int:
    """Return a number of things, once it is clear that it is a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValue(
            field=field, value=value, expected="must be a whole number of 1 or more"
        )
    return value
