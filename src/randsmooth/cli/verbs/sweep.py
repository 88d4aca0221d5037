"""`randsmooth sweep`: the models of a grid, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from randsmooth import launch
from randsmooth.cli.output import FAILURE, note
from randsmooth.cli.printed_commands import command_of
from randsmooth.cli.settings import Argument
from randsmooth.cli.step_plans import (
    StepsVerb,
    answer_plan,
    failure_lines,
    failure_of,
)
from randsmooth.errors import BadValue
from randsmooth.escape import printable, shortened
from randsmooth.launch import SweepGrid
from randsmooth.launch.sweep_status import counted
from randsmooth.progress import console
from randsmooth.report.layouts import aligned

# The first word of `randsmooth sweep status FOLDER`.
STATUS = "status"
# Characters of the remark on a model in the list of a sweep's models.
LONGEST_REMARK = 160


class Sweep(StepsVerb):
    """Settings of `randsmooth sweep`.

    Attributes:
        grid: YAML file of a grid; or `status` and the folder of a sweep, to see how far
            it is.
        out: Folder of the sweep. (default: runs/GRID)
        at: The radius whose certified accuracy ranks the tables; name it before you see
            them. (default: one sigma of each setting)
        plan: Say how long what is not done takes on this machine, in place of doing it.
    """

    way_on = "the same command goes on"
    grid: Argument[list[str]]
    out: Path | None = None
    at: float | None = None
    plan: bool = False


def run(settings: Sweep) -> None:
    """Train, certify and rank the models of a grid of settings.

    The grid has data sets, methods, sigmas, seeds and settings. The command crosses
    every list in the grid's YAML file with all others (docs/sweeps.md). It checks the
    whole grid before the first step. A failed step does not stop the rest. The same
    command continues where it ended. The exit code is 0 if every step is done.

    Example: randsmooth sweep grid.yaml --workers 2 --out runs/sweep

    Show the progress: randsmooth sweep status runs/sweep
    """
    # One word is a grid, two are `status` and a folder.
    first = settings.grid[0]
    rest = settings.grid[1:]
    if first == STATUS and len(rest) == 1:
        answer_status(settings, Path(rest[0]))
    # A grid may have the name "status": it is read where such a file exists.
    elif rest or (first == STATUS and not Path(first).exists()):
        words = shortened(" ".join(settings.grid))
        raise BadValue(f"{words}: give one grid, or `status` and the folder of a sweep")
    else:
        run_grid(settings, Path(first))


def run_grid(settings: Sweep, file: Path) -> None:
    """Run the sweep of a grid, submit it to Slurm, or only estimate its time."""
    # Wrong settings are refused before torch is loaded, which takes seconds.
    resources = settings.resources() if settings.slurm else None
    workers = settings.chosen_workers()
    # Late, as they load torch.
    from randsmooth.launch.sweep_steps import steps_of
    from randsmooth.launch.sweeping import submit_sweep

    grid = SweepGrid.read(file)
    out = settings.out or Path("runs") / file.stem
    if settings.plan:
        answer_plan(settings, steps_of(grid, out))
        return
    if resources is not None:
        jobs = submit_sweep(grid, out, resources, at=settings.at)
        settings.answer(jobs.lines("models"), lambda: asdict(jobs))
        note(f"to watch: randsmooth sweep status {out}")
        return

    swept = launch.sweep(
        grid, out=out, at=settings.at, workers=workers, progress=console
    )
    settings.answer(summary(swept), lambda: as_json(swept))
    if swept.failed:
        raise SystemExit(FAILURE)


def as_json(swept: launch.Swept) -> dict[str, Any]:
    """Return how a sweep ended, for a program."""
    # It loads SciPy, which the help of this command does not need.
    from randsmooth.cli.rankings import records_of

    page = swept.leaderboard
    return {
        "leaderboard": None if page is None else str(page),
        "ranking": [] if page is None else records_of(page),
        "failed": {name: str(problem) for name, problem in swept.failed.items()},
        # The names of the models; each waits for a step that failed.
        "not_tried": [*swept.blocked],
    }


def answer_status(settings: Sweep, folder: Path) -> None:
    """Print how far the sweep into a folder is."""
    models = launch.status(folder)
    settings.answer(
        status_lines(models), lambda: [status_as_json(model) for model in models]
    )


def status_as_json(model: launch.Status) -> dict[str, Any]:
    """Return how far a model is, for a program."""
    steps = [
        {"name": step.name, "done": step.is_done(), "command": command_of(step)}
        for step in model.steps
    ]
    return {
        "name": model.name,
        "state": model.state,
        "remark": remark_on(model),
        "steps": steps,
    }


def status_lines(models: Sequence[launch.Status]) -> Iterator[str]:
    """Yield a line for each model, with its name, state and a remark; then the counts."""
    rows = []
    for model in models:
        remark = shortened(remark_on(model), LONGEST_REMARK)
        rows.append([printable(model.name), model.state, printable(remark)])
    yield from aligned(rows)
    yield ""
    yield counted(models)


def remark_on(model: launch.Status) -> str:
    """Return how far a model is, or why its steps failed."""
    if model.failure is None:
        return model.progress
    failures = [(step.title, failure_of(step)) for step in model.steps]
    remarks = [f"{title}: {sentence}" for title, sentence in failures if sentence]
    # A job of Slurm may have ended before a step could say why.
    return "; ".join(remarks) or str(model.failure)


def summary(swept: launch.Swept) -> Iterator[str]:
    """Yield the ranking, the models that failed, and the commands that repeat them."""
    # It loads SciPy, which the help of this command does not need.
    from randsmooth.cli.rankings import ranking_lines, records_of

    page = swept.leaderboard
    if page is not None:
        yield from ranking_lines(records_of(page))
        yield str(page)
    if swept.failed:
        yield ""
        yield (
            f"{len(swept.failed)} models failed; "
            "the same command tries them again, or one step alone:"
        )
        for chain in swept.chains:
            yield from failure_lines(chain.missing())
    if swept.blocked:
        yield f"not tried, because they need a failed step: {', '.join(swept.blocked)}"
