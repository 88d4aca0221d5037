"""The tasks of a submission as an array of Slurm: what is missing is submitted, and a job that merges it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from randsmooth.cluster.slurm_queue import SlurmQueue, alive, cancel
from randsmooth.cluster.submission import Submission
from randsmooth.errors import InputError


class Submitted(NamedTuple):
    """What became of a submission.

    Attributes:
        submission: as it is recorded now.
        new: the jobs of tasks that were submitted now.
        queued: the jobs of tasks that were queued or running before.
        merge: the job that merges; None where nothing is left to do.
    """

    submission: Submission
    new: list[str]
    queued: list[str]
    merge: str | None


def submit_missing(submission: Submission, queue: SlurmQueue, *, at_once: int | None = None) -> Submitted:
    """Submit the tasks that are neither done nor queued, and a job that merges all once they have ended.

    The merging job runs however the tasks end: where one failed, its log names the images that are missing.

    Args:
        submission: what was submitted before, if anything.
        queue: where to.
        at_once: how many tasks may run at once.

    Raises:
        InputError: Slurm refuses, or does not answer.
    """
    there = alive(submission.all_jobs())
    shards = [shard for shard in submission.missing() if submission.jobs.get(shard) not in there]
    queued = [job for job in submission.jobs.values() if job in there]
    new: list[str] = []
    if shards:
        new = queue.submit(
            [submission.step(shard).words() for shard in shards], name=_name(submission), at_once=at_once
        )
        submission = replace(submission, jobs={**submission.jobs, **dict(zip(shards, new, strict=True))})
        submission.write()
    elif submission.merge in there:
        return Submitted(submission, [], queued, submission.merge)
    elif submission.merge_step().is_done():
        return Submitted(submission, [], queued, None)
    if submission.merge in there:  # it waits for the earlier tasks alone
        cancel([submission.merge])
    submission = replace(submission, merge=_submit_merge(submission, queue, after=[*queued, *new]))
    submission.write()
    return Submitted(submission, new, queued, submission.merge)


def arrays(jobs: Collection[str]) -> list[str]:
    """The arrays that jobs belong to, as one can name them to Slurm.

    Example:
        >>> arrays(["12_0", "12_1", "15"])
        ['12', '15']
    """
    return sorted({job.partition("_")[0] for job in jobs}, key=int)


def _submit_merge(submission: Submission, queue: SlurmQueue, *, after: Sequence[str]) -> str:
    """Merging needs no GPU; where Slurm refuses a job without one, it is given what a task has."""
    command, name = [submission.merge_step().words()], f"{_name(submission)} (merge)"
    light = replace(queue, resources=queue.resources.without_gpus())
    try:
        return light.submit(command, name=name, after=arrays(after), all_well=False)[0]
    except InputError:
        if not queue.resources.gpus:
            raise
        return queue.submit(command, name=name, after=arrays(after), all_well=False)[0]


def _name(submission: Submission) -> str:
    return f"randsmooth {submission.out.stem}"
