"""How far a sweep is, as its folder and the queue of Slurm say, whoever runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth.errors import NotFound, Problem, SeveralProblems
from randsmooth.launch.chains import Chain, chains_of
from randsmooth.launch.outcomes import in_step
from randsmooth.launch.slurm import Jobs
from randsmooth.launch.step import Step
from randsmooth.launch.sweep_grid import SweepGrid
from randsmooth.launch.sweep_record import SweepRecord
from randsmooth.launch.sweep_steps import steps_of

# The states of a model of a sweep.
STATES = ("done", "running", "queued", "waiting", "failed")


@dataclass(frozen=True)
class Status:
    """How far a model of a sweep is.

    Attributes:
        name: the name of the model.
        state: the state of the model, one of STATES.
        progress: the progress of the model, in words; empty where there is nothing to
            say.
        failure: the reason why it failed, in the state "failed".
        steps: the steps that make it.

    Example:
        >>> running = Status("a", "running", "train: epoch 3 of 10 done")
        >>> counted([running, Status("b", "waiting")])
        '1 running, 1 waiting'
    """

    name: str
    state: str
    progress: str = ""
    failure: Problem | None = None
    steps: tuple[Step, ...] = ()


def status(folder: Path | str) -> list[Status]:
    """Return how far the sweep into `folder` is, model by model, whoever runs it.

    Raises:
        Problem: the folder holds no sweep.

    Example:
        >>> from randsmooth.launch.sweeping import begun
        >>> grid = SweepGrid.read(
        ...     {"datasets": "digits", "methods": "gaussian", "sigmas": [0.25, 0.5]}
        ... )
        >>> with begun(grid, Path("runs")):
        ...     [model.state for model in status("runs")]
        ['waiting', 'waiting']
    """
    folder = Path(folder)
    record = SweepRecord.read(folder)
    if record is None:
        raise NotFound(
            f"{folder} holds no sweep: give the folder that `randsmooth sweep` wrote to"
        )
    jobs = Jobs(folder)
    queued = jobs.alive()
    chains = chains_of(steps_of(SweepGrid.read(record.grid), folder))
    return [_status(chain, queued.get(chain.name), jobs) for chain in chains]


def _status(chain: Chain, job_state: str | None, jobs: Jobs) -> Status:
    """Return how far a chain is.

    Args:
        job_state: Slurm's name for the state of its job; None where it is not queued.
    """
    missing = chain.missing()
    if not missing:
        return Status(chain.name, "done", steps=chain.steps)

    parts = [(step.title, step.progress()) for step in missing]
    progress = "; ".join(f"{title}: {words}" for title, words in parts if words)
    if job_state == "RUNNING" or any(step.is_running() for step in missing):
        words = progress or "just begun"
        return Status(chain.name, "running", words, steps=chain.steps)
    if job_state is not None:
        return Status(chain.name, "queued", job_state.lower(), steps=chain.steps)

    failure = _failure(missing) or jobs.ended_early(chain.name)
    if failure is not None:
        return Status(chain.name, "failed", failure=failure, steps=chain.steps)
    words = f"{progress}, to be resumed" if progress else ""
    return Status(chain.name, "waiting", words, steps=chain.steps)


def _failure(steps: Sequence[Step]) -> Problem | None:
    """Return why steps failed, each named; None where none did."""
    problems = []
    for step in steps:
        failure = step.failure()
        if failure is not None:
            problems.append(in_step(step.title, failure))
    return SeveralProblems(*problems) if problems else None


def counted(models: Sequence[Status]) -> str:
    """Return how many models are in which state, such as `3 done, 1 running`."""
    count = Counter(model.state for model in models)
    return ", ".join(f"{count[state]} {state}" for state in STATES if count[state])
