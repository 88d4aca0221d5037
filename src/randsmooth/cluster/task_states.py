"""How far each task of a submission is, wherever it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from randsmooth.atomic import held
from randsmooth.certificates.partial import journal_path
from randsmooth.cluster.slurm_queue import Alive, alive, log_of_job
from randsmooth.cluster.step_processes import failure, log_of
from randsmooth.cluster.submission import LOGS, MERGE, Submission
from randsmooth.errors import InputError

DONE, RUNNING, WAITING, FAILED, OPEN = "done", "running", "waiting", "failed", "not begun"
UNDER_WAY = {
    "RUNNING",
    "COMPLETING",
    "STAGE_OUT",
    "SIGNALING",
    "STOPPED",
    "SUSPENDED",
}  # what else Slurm says is waiting


class Task(NamedTuple):
    """How far a task is.

    Attributes:
        name: its shard, as 3/16, or "merge".
        state: done, running, waiting, failed or not begun.
        certified, images: how many images are certified, of how many.
        job: of Slurm; empty on this machine.
        words: where it runs, what it waits for, or why it failed.
    """

    name: str
    state: str
    certified: int
    images: int
    job: str
    words: str


def tasks(submission: Submission) -> list[Task]:
    """How far each task is; where Slurm has any, the one that merges is the last."""
    queued = alive(submission.all_jobs())
    found = [_task(submission, shard, queued) for shard in submission.numbers]
    if submission.merge is None:
        return found
    log, job = log_of_job(submission.folder / LOGS, submission.merge), queued.get(submission.merge)
    state, words = (DONE, str(submission.out)) if submission.merge_step().is_done() else _of_a_job(job, log)
    return [*found, Task(MERGE, state, 0, 0, submission.merge, words)]


def _task(submission: Submission, shard: int, queued: Mapping[str, Alive]) -> Task:
    job, step = submission.jobs.get(shard, ""), submission.step(shard)
    log = log_of_job(submission.folder / LOGS, job) if job else log_of(step)
    if step.is_done():
        state, words = DONE, ""
    elif job not in queued and _is_locked(journal_path(step.makes)):
        state, words = RUNNING, "on this machine"
    elif job or log.exists():
        state, words = _of_a_job(queued.get(job), log)
    else:
        state, words = OPEN, ""
    return Task(step.name, state, submission.certified(shard), submission.images_of(shard), job, words)


def _of_a_job(job: Alive | None, log: Path) -> tuple[str, str]:
    """State and words of a job whose output is not there."""
    if job is None:
        return FAILED, f"{failure(1, log)} (log: {log})" if log.exists() else f"it wrote no log at {log}"
    if job.state in UNDER_WAY:
        return RUNNING, f"on {job.node} for {job.since}"
    return WAITING, "" if job.reason == "None" else job.reason


def _is_locked(journal: Path) -> bool:
    """Whether a process of this machine certifies into a journal."""
    try:
        with held(journal):
            return False
    except FileNotFoundError:
        return False
    except InputError:
        return True
