"""Sweep a grid: train, certify and evaluate every model, then rank them, and go on where an earlier try ended."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cluster.carry_out import Executor, Outcome, carry_out
from randsmooth.cluster.cell_status import progress_of
from randsmooth.cluster.graph import Graph, Step
from randsmooth.cluster.grid import Grid
from randsmooth.cluster.step_jobs import StepJobs
from randsmooth.cluster.step_processes import processes_here
from randsmooth.cluster.sweep_checks import check_steps
from randsmooth.cluster.sweep_folder import SweepFolder, say_failed
from randsmooth.cluster.sweep_graph import graph_of
from randsmooth.errors import InputError, Note
from randsmooth.progress import Progress, Reporter, chosen_progress

if TYPE_CHECKING:
    from randsmooth.cluster.resources import Resources
    from randsmooth.cluster.slurm_steps import SubmittedSteps


@dataclass(frozen=True)
class Swept:
    """How a sweep ended.

    Attributes:
        folder: where everything is.
        graph: the steps.
        outcome: which of them are done, failed and blocked.

    Example:
        >>> graph = graph_of(Grid.read({"datasets": "digits", "methods": "macer", "sigmas": 0.5}), Path("a"))
        >>> failed = {"digits-macer-0.5-seed0/train": "the loss became NaN"}
        >>> Swept(Path("a"), graph, Outcome(frozenset(), failed, graph.blocked(failed))).tables
        []
    """

    folder: Path
    graph: Graph
    outcome: Outcome

    @property
    def tables(self) -> list[Path]:
        """The certificates that there are, in the order of the grid."""
        return [step.makes for step in self.graph if step.verb == "certify" and step.name in self.outcome.done]

    @property
    def leaderboard(self) -> Path | None:
        """The page that ranks them; None where there is none."""
        page = self.folder / "leaderboard.html"
        return page if page.exists() else None


def sweep(
    grid: Grid | Mapping[str, Any] | Path | str,
    *,
    out: Path | str,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress | bool | None = None,
) -> Swept:
    """Train, certify and evaluate every model of a grid, rank them, and return how each step ended.

    What is finished in `out` stays, and what was interrupted goes on, whatever ended the earlier sweep. A step that
    fails does not stop those that do not need it. What a step says is in a log beside its output.

    Args:
        grid: a YAML file, what it would hold (see `Grid.read`), or a grid.
        out: the folder of the sweep.
        workers: how many steps run side by side on this machine, each with its share of the threads or a GPU.
        executor: where steps run instead.
        progress: as for `train`.

    Raises:
        InputError: a grid, or a step of it, that cannot be used, which is found out before the first step begins; a
            folder that holds something else; another sweep runs in it.

    Example:
        >>> import tempfile
        >>> grid = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.25, "certify": {"n": 5}}
        >>> sweep(grid, out="runs/sweep")
        Traceback (most recent call last):
        randsmooth.errors.InputError: digits-gaussian-0.25-seed0/n=5: alpha=0.001 needs n >= 10 to certify anything; ...
    """
    chosen = grid if isinstance(grid, Grid) else Grid.read(grid)
    useful = workers_for(chosen, workers)
    with _begun(chosen, Path(out), here=executor is None) as (folder, graph):
        StepJobs(folder.path).leave()
        where = executor or processes_here(useful)
        with chosen_progress(progress)(f"sweep {folder.path.name}", len(graph), "steps") as reporter:
            reporter.skip(len(graph.done()))
            outcome = carry_out(graph, where, _Watch(folder, reporter, graph))
    return Swept(folder.path, graph, outcome)


def submit_sweep(grid: Grid, *, out: Path, resources: Resources) -> SubmittedSteps:
    """Submit what is missing of a sweep to Slurm, step by step, each to run after those that it needs.

    Arguments and errors as for `sweep`; or Slurm refuses.
    """
    from randsmooth.cluster.slurm_steps import submit_steps

    with _begun(grid, out, here=False) as (folder, graph):
        return submit_steps(graph, folder.path, resources)


@contextmanager
def _begun(grid: Grid, out: Path, *, here: bool) -> Iterator[tuple[SweepFolder, Graph]]:
    """The folder and the steps of a sweep, all of it checked, for the one process that may carry them out."""
    folder = SweepFolder(out)
    graph = graph_of(grid, out)
    folder.check(grid)
    check_steps(graph, here=here)
    with folder.held():
        folder.begin(grid)
        yield folder, graph


def workers_for(grid: Grid, workers: int) -> int:
    """As many workers as are of use. InputError for fewer than one."""
    if workers < 1:
        raise InputError(f"workers={workers} must be at least 1")
    most = max(1, len(grid.cells) * max(1, len(grid.certifications)))
    if workers > most:
        warnings.warn(f"{most} of {workers} workers have something to do: the grid has no more", Note, stacklevel=3)
    return min(workers, most)


class _Watch:
    """Shows how a sweep goes on, and keeps what its folder should say of it."""

    def __init__(self, folder: SweepFolder, reporter: Reporter, graph: Graph) -> None:
        self.folder, self.reporter, self.graph = folder, reporter, graph
        self.running = dict[str, float]()

    def began(self, step: Step) -> None:
        say_failed(step, "")
        self.running[step.name] = time.time()
        self.folder.say_running(self.running)
        self.reporter.say(f"begin  {step.name}")

    def ended(self, step: Step, error: str) -> None:
        say_failed(step, error)
        self.running.pop(step.name, None)
        self.folder.say_running(self.running)
        self.reporter.say(f"failed {step.name}: {error}" if error else f"done   {step.name}")
        self.reporter.advance(1, self._far())

    def looked(self, running: Collection[str]) -> None:
        self.folder.say_running(self.running)
        self.reporter.advance(0, self._far())

    def _far(self) -> str:
        """How far the steps are that run."""
        far = ((name, progress_of(self.graph[name])) for name in self.running)
        return "; ".join(f"{name}: {words}" for name, words in far if words) or f"{len(self.running)} running"
