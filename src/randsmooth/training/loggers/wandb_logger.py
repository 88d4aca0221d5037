"""Weights & Biases: a run of the project that WANDB_PROJECT names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wandb
from lightning_fabric.loggers.logger import Logger

from randsmooth.training.loggers import LoggedRun

STEP = "step"  # the axis of all curves: W&B's own steps must rise with every call
EXIT_CODES = {"success": 0, "failed": 1, "aborted": 255}


class WandbRun(Logger):
    """A run of W&B, called as the folder of the training run; a resumed one goes on in the same run.

    W&B's own variables say where: WANDB_PROJECT, WANDB_ENTITY, WANDB_DIR, and WANDB_MODE=offline for no network.
    """

    name, version = "wandb", ""  # W&B's id of the run

    def __init__(self, run: LoggedRun) -> None:
        how: Any = {"resume": None if run.tracked_as is None else "allow", "settings": wandb.Settings(console="off")}
        self.run = wandb.init(id=run.tracked_as, name=run.folder.resolve().name, **how)
        self.version = str(self.run.id)
        self.run.define_metric("*", step_metric=STEP)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self.run.log(dict(metrics) | {STEP: step})

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        self.run.config.update(dict(params), allow_val_change=True)

    def finalize(self, status: str) -> None:
        self.run.finish(exit_code=EXIT_CODES[status])
