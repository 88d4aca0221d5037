"""Sweep a grid: train, certify, measure and rank every model, and go on where it ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from randsmooth.atomic import claimed
from randsmooth.errors import BadValue, Problem
from randsmooth.launch.chains import Chain, carry_out, chains_of
from randsmooth.launch.model_steps import Certify
from randsmooth.launch.outcomes import in_step
from randsmooth.launch.slurm import Jobs, Submitted, check_slurm
from randsmooth.launch.slurm_resources import Resources
from randsmooth.launch.sweep_checks import check_steps
from randsmooth.launch.sweep_grid import SweepGrid
from randsmooth.launch.sweep_record import SweepRecord, check_same_sweep, settings_of
from randsmooth.launch.sweep_steps import steps_of
from randsmooth.launch.table_steps import Rank
from randsmooth.launch.workers import Workers
from randsmooth.progress import Progress, chosen_progress

# The page in the folder of a sweep that ranks its tables.
PAGE = "leaderboard.html"


@dataclass(frozen=True)
class Swept:
    """How a sweep ended.

    Attributes:
        folder: the folder of the sweep.
        chains: the chains of steps, one for each model.
        failed: the chain that failed -> the reason.
        blocked: the chain that could not run -> the failed one that it waits for.

    Example:
        >>> Swept(Path("runs/none"), (), {}, {}).tables
        []
    """

    folder: Path
    chains: tuple[Chain, ...]
    failed: Mapping[str, Problem]
    blocked: Mapping[str, str]

    @property
    def tables(self) -> list[Path]:
        """Return the certificates that there are, in the order of the grid."""
        return [step.makes for step in certifying(self.chains) if step.is_done()]

    @property
    def leaderboard(self) -> Path | None:
        """Return the page that ranks them; None where there is none."""
        page = self.folder / PAGE
        return page if page.exists() else None


def certifying(chains: Sequence[Chain]) -> list[Certify]:
    """Return the steps that certify."""
    return [
        step for chain in chains for step in chain.steps if isinstance(step, Certify)
    ]


def sweep(
    grid: SweepGrid | Mapping[str, Any] | Path | str,
    *,
    out: Path | str,
    at: float | None = None,
    workers: Workers | None = None,
    progress: Progress | bool | None = None,
) -> Swept:
    """Train, certify and measure every model of a grid, and rank them.

    What is finished in `out` stays, and what was interrupted goes on, whatever ended the
    earlier sweep. A model that fails does not stop those that do not need it. What a step
    prints is in a log beside its output.

    Args:
        grid: a YAML file, what it would hold (see `SweepGrid.read`), or a grid.
        out: the folder of the sweep.
        at: the radius whose certified accuracy ranks the tables, named before they were
            seen; None for one sigma of each setting.
        workers: the workers that share the models, such as `launch.Processes(2)`; by
            default this process does one after the other.
        progress: the display of progress, as for `train`.

    Raises:
        Problem: a grid, or a step of it, that cannot be used, which is found out before the
            first step begins; a folder that holds something else; another sweep runs in it.

    Example:
        >>> grid = {
        ...     "datasets": "digits",
        ...     "methods": "gaussian",
        ...     "sigmas": 0.25,
        ...     "certify": {"n": 5},
        ... }
        >>> sweep(grid, out="runs/sweep")
        Traceback (most recent call last):
        randsmooth.errors.TooFewSamples: digits-gaussian-0.25-seed0/n=5: alpha=0.001 needs ...
    """
    _check_at(at)
    chosen = grid if isinstance(grid, SweepGrid) else SweepGrid.read(grid)
    folder = Path(out)
    with begun(chosen, folder, here=workers is None) as chains:
        Jobs(folder).check_none()
        title = f"sweep {folder.name}"
        ended = carry_out(chains, workers, chosen_progress(progress), title)
        swept = Swept(folder, tuple(chains), ended.failed, ended.blocked)
        _rank(swept, at)
    return swept


def _check_at(at: float | None) -> None:
    """Raise Problem for a radius that ranks nothing."""
    if at is not None and not 0.0 <= at < math.inf:
        raise BadValue(field="at", value=at, expected="must be a finite radius >= 0")


def _rank(swept: Swept, at: float | None) -> None:
    """Rank the tables that there are at a radius.

    Raises:
        Problem: they cannot be ranked.
    """
    ranking = _ranking(swept.folder, swept.tables, at)
    if not swept.tables or ranking.is_done():
        return
    with ranking.logged():
        problem = ranking.run()
    if problem is not None:
        raise in_step("the tables could not be ranked", problem)


def _ranking(folder: Path, tables: Sequence[Path], at: float | None) -> Rank:
    """Return the step that ranks tables of a sweep."""
    return Rank(
        name="leaderboard",
        makes=folder / PAGE,
        folder=folder,
        tables=tuple(tables),
        at=at,
    )


@contextmanager
def begun(grid: SweepGrid, out: Path, *, here: bool = True) -> Iterator[list[Chain]]:
    """Check all of a sweep and write it down, for the one process that may carry it out.

    The context gives its chains.

    Args:
        here: whether the steps will run on this machine.

    Raises:
        Problem: a grid or a folder that `sweep` refuses.
    """
    if "://" in str(out) or ":/" in str(out):
        raise BadValue(
            field="out",
            value=str(out),
            expected=(
                "must be on a disk, since it is the folder of a sweep; its tables "
                "can be moved later"
            ),
        )
    steps = steps_of(grid, out)
    # The folder may be moved: its name is no part of the record.
    settings = settings_of(steps_of(grid, "OUT"))
    earlier = check_same_sweep(out, steps, settings)
    chains = chains_of(steps)
    check_steps(steps, here=here)
    with claimed(out / "sweep", output=out):
        SweepRecord(grid.document, {**earlier, **settings}).write(out)
        yield chains


def submit_sweep(
    grid: SweepGrid, out: Path, resources: Resources, at: float | None = None
) -> Submitted:
    """Submit what is missing of a sweep to Slurm.

    There is a job for each model, and one that ranks them all in the end.

    The arguments and errors are those of `sweep`; Slurm may refuse, too.
    """
    check_slurm()
    _check_at(at)
    with begun(grid, out, here=False) as chains:
        tables = [step.makes for step in certifying(chains)]
        if tables:
            every_step = tuple(step for chain in chains for step in chain.steps)
            ranking = replace(_ranking(out, tables, at), needs=every_step)
            chains.append(Chain("leaderboard", (ranking,)))
        return Jobs(out).submit(chains, resources)
