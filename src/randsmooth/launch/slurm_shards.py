"""A certification that tasks of Slurm share: each has a shard, and a last one merges."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from randsmooth.atomic import claimed
from randsmooth.certificates import Shard, merge, read_parquet
from randsmooth.certificates.journal import journal_path
from randsmooth.certification import check_same
from randsmooth.certification.certifying import certify_into, header_of, is_finished
from randsmooth.certification.run import RunSpec
from randsmooth.errors import OUT, OVERWRITE, OutputExists, Problem
from randsmooth.launch.chains import chains_of
from randsmooth.launch.shards import ShardFolder
from randsmooth.launch.slurm import Jobs, Submitted, check_slurm
from randsmooth.launch.slurm_resources import Resources
from randsmooth.launch.step import Step
from randsmooth.progress import console


@dataclass(frozen=True, kw_only=True)
class CertifyShard(Step):
    """The step that certifies a shard of a run into the table `makes`.

    Attributes:
        spec: returns what is certified. It is called where the step is carried out, so
            that a model is opened there, and not sent.
        shard: which share of the images.
        command: the words of the command that certifies, which the table keeps for those
            who miss a shard.
    """

    verb: ClassVar[str] = "certify"

    spec: Callable[[], RunSpec]
    shard: Shard
    command: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        # The words of the command, without the first, which is its name.
        return list(self.command[1:])

    def options(self) -> dict[str, Any]:
        return {"shard": str(self.shard), "out": str(self.makes), "resume": True}

    def is_done(self) -> bool:
        return is_finished(self.makes)

    def make(self, device: str) -> None:
        whole = self.spec().like(header_of(self.makes))
        spec = replace(whole, shard=self.shard, command=self.command or None)
        certify_into(spec, self.makes, console)


@dataclass(frozen=True, kw_only=True)
class MergeShards(Step):
    """The step that makes one table of all shards.

    Attributes:
        shards: the files of the shards.
    """

    verb: ClassVar[str] = "merge"
    is_quick: ClassVar[bool] = True

    shards: tuple[Path, ...]

    def arguments(self) -> list[str]:
        return [str(shard) for shard in self.shards]

    def options(self) -> dict[str, Any]:
        return {"out": str(self.makes), "overwrite": True}

    def is_done(self) -> bool:
        return self.makes.exists()

    def make(self, device: str) -> None:
        merge(self.shards, out=self.makes, overwrite=True)


def submit_shards(
    spec: Callable[[], RunSpec],
    out: Path,
    of: int,
    command: Sequence[str],
    resources: Resources,
    *,
    at_once: int | None = None,
) -> Submitted:
    """Submit the shards of a run that are missing to Slurm, and a job that merges them.

    Args:
        spec: a function that returns the run to certify; model and data are looked at,
            the model is not tried out.
        out: the file of the whole table.
        of: the number of shards.
        command: the words of the command that certifies, but for its shard and its
            files.
        resources: the resources that each task asks for.
        at_once: the number of tasks that may run at once.

    Raises:
        Problem: what can be known to be unusable; other shards are there; Slurm refuses.
    """
    check_slurm()
    asked = spec()
    inputs = asked.open_inputs()
    indices, _ = asked.choose(len(inputs.images))
    # It refuses more shards than images.
    Shard(1, of).share(indices)
    folder = ShardFolder.begun(out) or ShardFolder(out, of)
    if folder.of != of:
        raise OutputExists(
            f"{folder.path} holds {folder.of} shards",
            fix=("ask for as many, give another ", OUT, ", or remove it"),
            file=folder.path,
        )
    with claimed(folder.path, output=out):
        if out.exists():
            check_same(inputs.model, read_parquet(out), asked.identity)
            return Submitted({}, {})
        if journal_path(out).exists():
            raise OutputExists(
                f"{journal_path(out)} was begun by one process",
                fix=("give another ", OUT, ", or ", OVERWRITE),
                file=out,
            )
        folder.begin()
        steps = steps_of_shards(folder, spec, tuple(command))
        jobs = Jobs(folder.path)
        try:
            return jobs.submit(chains_of(steps), resources, at_once=at_once)
        except Problem:
            # Where nothing was begun, nothing is to stand in the way of the next try.
            if not jobs.read() and not folder.count_certified(len(indices)):
                shutil.rmtree(folder.path)
            raise


def steps_of_shards(
    folder: ShardFolder, spec: Callable[[], RunSpec], command: tuple[str, ...]
) -> list[Step]:
    """Return the steps that certify each shard, and the one that merges them."""
    shards = tuple(
        CertifyShard(
            name=f"{shard}/certify",
            makes=folder.file(shard),
            spec=spec,
            shard=shard,
            command=command,
        )
        for shard in folder.shards
    )
    merging = MergeShards(
        name="merge/merge",
        makes=folder.out,
        needs=shards,
        shards=tuple(step.makes for step in shards),
    )
    return [*shards, merging]
