"""The process group of a run: joined by each of its ranks, and left again."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from torch.distributed import distributed_c10d

from randsmooth import models
from randsmooth.errors import InputError
from randsmooth.training.placement import Placement, RankEnvironment, devices_of
from randsmooth.training.ranks import RankLost, Ranks
from randsmooth.training.recipe import Recipe

JOINING = timedelta(minutes=10)  # until all ranks are there
WAITING = timedelta(hours=2)  # for a rank that is busy with something else, such as a callback
SET_BY_FABRIC = ("MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS")


def make_fabric(recipe: Recipe, placement: Placement | None = None, rank: RankEnvironment | None = None) -> Fabric:
    """The devices and precision to train with, for the `rank` that this process is of the `placement`'s.

    Without a rank, this process trains alone. Raises InputError if this machine has no such device.
    """
    precision = {"32": "32-true", "bf16-mixed": "bf16-mixed"}[recipe.precision]
    device = models.pick_device(recipe.device)
    if placement is None or rank is None:
        devices = 1 if device.index is None else [device.index]
        # The plugin keeps Fabric from looking for a launcher, and from asking for srun wherever Slurm is installed.
        alone = [RankEnvironment()]
        return Fabric(accelerator=device.type, devices=devices, precision=precision, plugins=alone)  # type: ignore[arg-type]
    strategy = DDPStrategy(parallel_devices=devices_of(placement), cluster_environment=rank, timeout=JOINING)
    return Fabric(
        accelerator=device.type,
        devices=placement.devices,
        num_nodes=placement.nodes,
        strategy=strategy,
        precision=precision,  # type: ignore[arg-type]
    )


@contextmanager
def joined(fabric: Fabric) -> Iterator[Ranks]:
    """The ranks of the run, for as long as the context lasts.

    Raises:
        InputError: this process belongs to another group already.
        RankLost: the others did not come.
    """
    ranks = Ranks.of(fabric)
    if ranks.alone:
        yield ranks
        return
    if torch.distributed.is_initialized():
        raise InputError("this process has a process group of torch.distributed already: destroy it before training")
    _join(fabric, ranks)
    try:
        yield ranks
    finally:
        torch.distributed.destroy_process_group()


def _join(fabric: Fabric, ranks: Ranks) -> None:
    """Join the others, with the environment and torch's threads as they were afterwards."""
    before, threads = {name: os.environ.get(name) for name in SET_BY_FABRIC}, torch.get_num_threads()
    logger = logging.getLogger("lightning_fabric")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        fabric.launch()
    except RuntimeError as error:
        raise RankLost(f"the {ranks.number} ranks of the run did not find each other: {error}") from error
    finally:
        logger.setLevel(level)
        torch.set_num_threads(threads)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    distributed_c10d._set_pg_timeout(WAITING)
    ranks.meet()
