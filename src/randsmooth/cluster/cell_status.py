"""How far a sweep is: read from its folder alone, whoever runs it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from randsmooth.certificates import journal_header
from randsmooth.certificates.partial import journal_path
from randsmooth.cluster.graph import TRAINING, Graph, Step
from randsmooth.cluster.step_jobs import StepJobs
from randsmooth.cluster.sweep_folder import SweepFolder, failure_of
from randsmooth.cluster.sweep_graph import graph_of
from randsmooth.errors import InputError

State = Literal["done", "running", "queued", "failed", "waiting"]
STATES: tuple[State, ...] = ("done", "running", "queued", "waiting", "failed")


@dataclass(frozen=True)
class StepStatus:
    """A step of a sweep: its state, and in words how far it is, why it failed or what it waits for.

    Example:
        >>> StepStatus("a/train", "running", "epoch 3 of 10 done", "randsmooth train ...").words
        'epoch 3 of 10 done'
    """

    name: str
    state: State
    words: str
    command: str


@dataclass(frozen=True)
class CellStatus:
    """A model of a sweep with all its steps, or the leaderboard.

    Example:
        >>> train = StepStatus("a/train", "running", "epoch 3 of 10 done", "randsmooth train ...")
        >>> cell = CellStatus("a", (train, StepStatus("a/n=1000", "waiting", "", "randsmooth certify ...")))
        >>> cell.state, cell.words
        ('running', 'train: epoch 3 of 10 done')
    """

    name: str
    steps: tuple[StepStatus, ...]

    @property
    def state(self) -> State:
        """Failed if a step is, else running or queued if one is, done if all are, and otherwise waiting."""
        states = {step.state for step in self.steps}
        first: tuple[State, ...] = ("failed", "running", "queued")
        return next((state for state in first if state in states), "done" if states == {"done"} else "waiting")

    @property
    def words(self) -> str:
        """What there is to say of the step that decides the state."""
        if self.state == "done":
            return ""
        step = next((step for step in self.steps if step.state == self.state and step.words), None)
        return "" if step is None else f"{step.name.rpartition('/')[2]}: {step.words}"


def cells_of(folder: Path | str) -> list[CellStatus]:
    """How far the sweep into `folder` is, model by model, in the order of its grid.

    Raises:
        InputError: the folder holds no sweep.

    Example:
        >>> from randsmooth.cluster import Grid
        >>> from randsmooth.cluster.sweep_folder import SweepFolder
        >>> grid = Grid.read({"datasets": "digits", "methods": "gaussian", "sigmas": [0.25, 0.5]})
        >>> SweepFolder(Path("runs")).begin(grid)
        >>> [(cell.name, cell.state) for cell in cells_of("runs")][:2]
        [('digits-gaussian-0.25-seed0', 'waiting'), ('digits-gaussian-0.5-seed0', 'waiting')]
    """
    sweep = SweepFolder(Path(folder))
    graph = graph_of(sweep.grid(), sweep.path)
    queued, failed = _in_slurm(sweep, graph)
    return _by_cell([*step_statuses(graph, sweep.running(), queued, failed)])


def counted(cells: Sequence[CellStatus]) -> str:
    """How many cells are in which state: 3 done, 1 running."""
    count = Counter(cell.state for cell in cells)
    return ", ".join(f"{count[state]} {state}" for state in STATES if count[state])


def step_statuses(
    graph: Graph, running: Mapping[str, float], queued: Mapping[str, str], lost: Mapping[str, str]
) -> Iterator[StepStatus]:
    """The steps of a graph, in its order.

    Args:
        graph: the steps.
        running: those that run.
        queued: those that a batch system has in its queue -> what it says of them.
        lost: those that it has no longer, though they are not done -> why they failed.
    """
    failed = {step.name: error for step in graph if (error := failure_of(step) or lost.get(step.name, ""))}
    failed = {name: error for name, error in failed.items() if name not in running and name not in queued}
    blocked = graph.blocked(failed)
    for step in graph:
        state, words = _state(step, running, queued, failed)
        if state == "waiting" and step.name in blocked:
            words = f"waits for {blocked[step.name]}, which failed"
        yield StepStatus(step.name, state, words, step.command())


def _state(
    step: Step, running: Mapping[str, float], queued: Mapping[str, str], failed: Mapping[str, str]
) -> tuple[State, str]:
    if step.is_done():
        return "done", ""
    if step.name in running or queued.get(step.name) == "RUNNING":
        return "running", progress_of(step) or "just begun"
    if step.name in queued:
        return "queued", queued[step.name].lower()
    if step.name in failed:
        return "failed", failed[step.name]
    far = progress_of(step)
    return "waiting", f"{far}, to be gone on with" if far else ""


def progress_of(step: Step) -> str:
    """How far an unfinished step is, in words, by what it has written; empty if it has written nothing."""
    if step.verb in TRAINING:
        epochs = _lines(step.makes / "history.csv") - 1
        of = f" of {step.options['epochs']}" if "epochs" in step.options else ""
        return f"epoch {epochs}{of} done" if epochs > 0 else ""
    if step.verb != "certify":
        return ""
    journal = journal_path(step.makes)
    images = _lines(journal) - 1
    return f"{images:,}{_of_all(journal)} images done" if images >= 0 else ""


def _lines(path: Path) -> int:
    """How many whole lines a file has; 0 where there is none."""
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
    except OSError:
        return 0


def _of_all(journal: Path) -> str:
    """` of 500`, as the journal's header says how many images were chosen."""
    try:
        header = journal_header(journal)
    except (InputError, OSError):
        return ""
    found = re.match(r"(take|all|one in) (\d+)(?: of (\d+))?", (header.selection or "") if header else "")
    if not found:
        return ""
    return f" of {-(-int(found[3]) // int(found[2])) if found[1] == 'one in' else int(found[2]):,}"


def _in_slurm(sweep: SweepFolder, graph: Graph) -> tuple[dict[str, str], dict[str, str]]:
    """The steps that Slurm has in its queue -> its word for their state; those that failed there -> why.

    Raises:
        InputError: steps were submitted, and Slurm does not answer.
    """
    jobs = StepJobs(sweep.path).read()
    if not jobs:
        return {}, {}
    from randsmooth.cluster.slurm_queue import alive
    from randsmooth.cluster.slurm_steps import failed_job

    found = alive(jobs.values())
    queued = {name: found[job].state for name, job in jobs.items() if job in found}
    gone = [(step, jobs[step.name]) for step in graph if step.name in jobs and step.name not in queued]
    return queued, {step.name: why for step, job in gone if (why := failed_job(step, sweep.path, job))}


def _by_cell(steps: Sequence[StepStatus]) -> list[CellStatus]:
    cells = dict[str, list[StepStatus]]()
    for step in steps:
        cells.setdefault(step.name.partition("/")[0], []).append(step)
    return [CellStatus(name, tuple(found)) for name, found in cells.items()]
