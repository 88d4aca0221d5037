"""`randsmooth sweep`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from randsmooth.cli.messages import FAILURE, say_lines
from randsmooth.cli.options import Slurm
from randsmooth.cli.planning import steps_plan
from randsmooth.cli.settings import Argument
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import InputError
from randsmooth.escape import printable, say, shortened, to_json

if TYPE_CHECKING:
    from randsmooth.launch import Swept
    from randsmooth.launch.sweeping import Status

STATUS = "status"
LONGEST = 160  # characters of what a table says of one model


class Sweep(Slurm):
    """Settings of `randsmooth sweep`.

    Attributes:
        grid: YAML file of a grid; or `status` and the folder of a sweep, to see how far it is.
        out: Folder of the sweep. (default: runs/GRID)
        plan: Say how long what is not done takes on this machine, in place of doing it.
        format: Of `sweep status`.
    """

    goes_on = "the same command goes on"
    grid: Argument[list[str]]
    out: Path | None = None
    plan: bool = False
    format: Literal["text", "json"] = "text"


def sweep(settings: Sweep) -> None:
    """Train, certify and evaluate the models of a grid of data sets, methods, sigmas, seeds and settings; rank them.

    Every list in the grid's YAML file is crossed with all others (docs/sweeps.md). All is checked before the first
    step begins. What fails does not stop the rest, and the same command goes on where it ended. The exit code is 0 if
    all is done.

    Example: randsmooth sweep grid.yaml --workers 2 --out runs/sweep

    How far it is: randsmooth sweep status runs/sweep
    """
    first, *rest = settings.grid
    if first == STATUS and rest:
        _status(rest, settings.format)
        return
    if first == STATUS and not Path(first).exists():
        raise InputError("sweep status needs the folder of a sweep, such as `randsmooth sweep status runs/grid`")
    if rest:
        raise InputError(f"{shortened(' '.join(settings.grid))}: give one grid, or `status` and the folder of a sweep")
    resources = settings.resources() if settings.slurm else None
    workers = settings.where()
    from randsmooth.launch import Grid
    from randsmooth.launch.sweeping import steps_of, submit_sweep

    grid, out = Grid.read(Path(first)), settings.out or Path("runs") / Path(first).stem
    if settings.plan:
        say_lines(steps_plan(steps_of(grid, out), settings.workers or 1))
        return
    if resources is not None:
        say_lines([*submit_sweep(grid, out, resources).lines("models"), f"to watch: randsmooth sweep status {out}"])
        return
    from randsmooth.launch import sweep as run
    from randsmooth.progress import console

    swept = run(grid, out=out, workers=workers, progress=console)
    say("\n".join(map(printable, summary(swept))))
    if swept.outcome.failed:
        raise typer.Exit(FAILURE)


def _status(words: Sequence[str], format: str) -> None:
    if len(words) > 1:
        raise InputError(f"sweep status takes one folder; got {shortened(' '.join(words))}")
    from randsmooth.launch.sweeping import status

    models = status(Path(words[0]))
    if format == "text":
        say("\n".join(status_lines(models)))
        return
    steps = [[{"name": s.name, "done": s.is_done(), "command": s.command()} for s in model.steps] for model in models]
    told = zip(models, steps, strict=True)
    say(to_json([{"name": m.name, "state": m.state, "says": m.words, "steps": its} for m, its in told]))


def status_lines(models: Sequence[Status]) -> Iterator[str]:
    """A line for each model: its name, its state, and what there is to say of it."""
    from randsmooth.launch.sweeping import counted

    width = max(len(model.name) for model in models)
    for model in models:
        yield printable(f"{model.name:{width}}  {model.state:8}{shortened(model.words, LONGEST)}").rstrip()
    yield ""
    yield counted(models)


def summary(swept: Swept) -> Iterator[str]:
    """What a person reads at the end: the ranking, what failed and the commands that repeat it."""
    if swept.leaderboard is not None:
        yield from ranking(swept.leaderboard.with_suffix(".json"))
        yield str(swept.leaderboard)
    outcome = swept.outcome
    if outcome.failed:
        yield ""
        yield f"{len(outcome.failed)} models failed; the same command tries them again, or one step alone:"
        for chain in swept.chains:
            for step in chain.missing():
                if why := step.failure():
                    yield f"  {step.name}: {why}"
                    yield f"    {step.command()}"
    if outcome.blocked:
        yield f"not tried, as they need what failed: {', '.join(outcome.blocked)}"


def ranking(path: Path) -> Iterator[str]:
    """The tables of a leaderboard in its order, one block for each setting in which they can be compared."""
    for setting, found in groupby(parse_json(read_file(path), path), key=lambda record: record["setting"]):
        records = list(found)
        width = max(len(record["file"]) for record in records)
        yield from (setting, f"  {'':{width}}  {'accuracy':>8}  {'ACR':>6}")
        for record in records:
            accuracy, radius = ((record[key] or {}).get("value") for key in ("smoothed_accuracy", "acr"))
            shown = "-" if accuracy is None else f"{accuracy:.1%}", "-" if radius is None else f"{radius:.3f}"
            yield f"  {record['file']:{width}}  {shown[0]:>8}  {shown[1]:>6}"
        yield ""
