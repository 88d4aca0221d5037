"""Steps as jobs of Slurm, each of which waits for those that it needs; no process of ours stays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from randsmooth.cluster.graph import Graph, Step
from randsmooth.cluster.resources import Resources
from randsmooth.cluster.slurm_array import arrays
from randsmooth.cluster.slurm_queue import SlurmQueue, alive, log_of_job
from randsmooth.cluster.step_jobs import StepJobs
from randsmooth.cluster.step_processes import failure
from randsmooth.cluster.sweep_folder import say_failed

LOGS = "slurm"  # folder of the jobs' logs, in that of the steps


@dataclass(frozen=True)
class SubmittedSteps:
    """What became of the steps: how many are done, which were queued or running, and which were submitted now.

    Each step of the last two with its job.
    """

    done: int
    queued: dict[str, str]
    new: dict[str, str]


def submit_steps(graph: Graph, folder: Path, resources: Resources) -> SubmittedSteps:
    """Submit every step that is neither done nor queued, to run once those that it needs have ended well.

    A job that fails takes those that need it out of the queue; submitting again tries them again. Which job each step
    became is kept in `folder`, beside the jobs' logs.

    Raises:
        InputError: Slurm refuses, or does not answer. What was submitted before that is remembered.
    """
    queue, record = SlurmQueue(folder / LOGS, resources), StepJobs(folder)
    jobs, done = record.read(), graph.done()
    there = alive(jobs.values())
    queued = {name: job for name, job in jobs.items() if job in there and name not in done}
    new: dict[str, str] = {}
    for step in graph.in_order():
        if step.name in done or step.name in queued:
            continue
        under_way = queued | new
        after = arrays([under_way[name] for name in step.needs if name in under_way])
        say_failed(step, "")
        (job,) = queue.submit(
            [step.words()], name=f"randsmooth {step.name}", after=after, all_well=not step.any_will_do
        )
        new[step.name] = job
        record.write(jobs | new)
    return SubmittedSteps(len(done), queued, new)


def failed_job(step: Step, folder: Path, job: str) -> str:
    """Why a job that is no longer in the queue has not made what it should; empty where it never began."""
    log = log_of_job(folder / LOGS, job)
    return "" if step.is_done() or not log.exists() else failure(1, log)
