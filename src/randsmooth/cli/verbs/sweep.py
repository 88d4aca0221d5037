"""`randsmooth sweep` and `randsmooth reproduce`: many models, and what they will take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from randsmooth import launch, papers
from randsmooth.cli.options import Answered, Slurm
from randsmooth.cli.output import FAILURE, note
from randsmooth.cli.settings import Argument, Given
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import BadValue
from randsmooth.escape import printable, shortened
from randsmooth.launch import Step, SweepGrid
from randsmooth.papers.objects import ALIASES, OBJECTS, TEXTS, find_object
from randsmooth.papers.rows import named
from randsmooth.progress import clock, console

if TYPE_CHECKING:
    from randsmooth.launch.forecast import GraphPlan

STATUS = "status"
COMMANDS = 3  # that are printed of those that make what is missing
LONGEST = 160  # characters of what a table says of one model
SUPPOSED = (
    "measured: each network on a few images here, in float32, with random weights; supposed: one step after the other, "
    "every epoch at the method's full strength, all samples of every image (a rule that stops early takes fewer)"
)


class Sweep(Answered, Slurm):
    """Settings of `randsmooth sweep`.

    Attributes:
        grid: YAML file of a grid; or `status` and the folder of a sweep, to see how far it is.
        out: Folder of the sweep. (default: runs/GRID)
        plan: Say how long what is not done takes on this machine, in place of doing it.
    """

    goes_on = "the same command goes on"
    grid: Argument[list[str]]
    out: Path | None = None
    plan: bool = False


def sweep(settings: Sweep) -> None:
    """Train, certify and evaluate the models of a grid of data sets, methods, sigmas, seeds and settings; rank them.

    Every list in the grid's YAML file is crossed with all others (docs/sweeps.md). All is checked before the first
    step begins. What fails does not stop the rest, and the same command goes on where it ended. The exit code is 0 if
    all is done.

    Example: randsmooth sweep grid.yaml --workers 2 --out runs/sweep

    How far it is: randsmooth sweep status runs/sweep
    """
    first, *rest = settings.grid
    if first == STATUS and len(rest) == 1:
        _status(Path(rest[0]), settings)
        return
    if rest or (first == STATUS and not Path(first).exists()):
        raise BadValue(
            f"{shortened(' '.join(settings.grid))}: give one grid, or `status` and the folder of a sweep"
        )
    resources = settings.resources() if settings.slurm else None
    workers = settings.where()
    from randsmooth.launch.sweeping import steps_of, submit_sweep

    grid, out = (
        SweepGrid.read(Path(first)),
        settings.out or Path("runs") / Path(first).stem,
    )
    if settings.plan:
        answer_plan(settings, steps_of(grid, out))
        return
    if resources is not None:
        jobs = submit_sweep(grid, out, resources)
        settings.answer(jobs.lines("models"), jobs._asdict)
        note(f"to watch: randsmooth sweep status {out}")
        return
    swept = launch.sweep(grid, out=out, workers=workers, progress=console)
    settings.answer(summary(swept), lambda: ended(swept))
    if swept.failed:
        raise typer.Exit(FAILURE)


def ended(swept: launch.Swept) -> dict[str, Any]:
    """How a sweep ended, for a program."""
    page = swept.leaderboard
    return {
        "leaderboard": page and str(page),
        "ranking": [] if page is None else read_json(page.with_suffix(".json")),
        "failed": {name: str(why) for name, why in swept.failed.items()},
        "not_tried": [*swept.blocked],
    }


def _status(folder: Path, settings: Sweep) -> None:
    models, content = launch.status(folder), list[dict[str, Any]]()
    for model in models:
        steps = [
            {"name": step.name, "done": step.is_done(), "command": step.command()}
            for step in model.steps
        ]
        content.append(
            {
                "name": model.name,
                "state": model.state,
                "says": model.words,
                "steps": steps,
            }
        )
    settings.answer(status_lines(models), lambda: content)


def status_lines(models: Sequence[launch.Status]) -> Iterator[str]:
    """A line for each model: its name, its state, and what there is to say of it."""
    from randsmooth.launch.sweeping import counted

    width = max(len(model.name) for model in models)
    for model in models:
        yield printable(
            f"{model.name:{width}}  {model.state:8}{shortened(model.words, LONGEST)}"
        ).rstrip()
    yield ""
    yield counted(models)


def summary(swept: launch.Swept) -> Iterator[str]:
    """What a person reads at the end: the ranking, what failed and the commands that repeat it."""
    if swept.leaderboard is not None:
        yield from ranking(swept.leaderboard.with_suffix(".json"))
        yield str(swept.leaderboard)
    if swept.failed:
        yield ""
        yield f"{len(swept.failed)} models failed; the same command tries them again, or one step alone:"
        for chain in swept.chains:
            for step in chain.missing():
                if why := step.failure():
                    yield f"  {step.name}: {why}"
                    yield f"    {step.command()}"
    if swept.blocked:
        yield f"not tried, as they need what failed: {', '.join(swept.blocked)}"


def read_json(path: Path) -> Any:
    return parse_json(read_file(path), path)


def ranking(path: Path) -> Iterator[str]:
    """The tables of a leaderboard in its order, one block for each setting in which they can be compared."""
    for setting, found in groupby(
        read_json(path), key=lambda record: record["setting"]
    ):
        records = list(found)
        width = max(len(record["file"]) for record in records)
        yield from (setting, f"  {'':{width}}  {'accuracy':>8}  {'ACR':>6}")
        for record in records:
            accuracy, radius = (
                (record[key] or {}).get("value") for key in ("smoothed_accuracy", "acr")
            )
            shown = (
                "-" if accuracy is None else f"{accuracy:.1%}",
                "-" if radius is None else f"{radius:.3f}",
            )
            yield f"  {record['file']:{width}}  {shown[0]:>8}  {shown[1]:>6}"
        if len(records) > 1:
            yield f"  {of_the_first(records)}"
        yield ""


def of_the_first(records: Sequence[dict[str, Any]]) -> str:
    """What a reader must know of the first of several tables: that these images chose it."""
    said = f"The first of {len(records)} was chosen by these images and looks too good"
    chosen = records[0]["smoothed_accuracy_if_chosen"]
    if chosen is None:
        return f"{said}."
    return f"{said}; allowing for that, its accuracy is {chosen['low']:.1%} to {chosen['high']:.1%} (95%)."


def answer_plan(settings: Sweep | Reproduce, steps: Iterable[Step]) -> None:
    """Print how long the steps take that are not done."""
    from randsmooth.launch.forecast import plan_steps

    planned, workers = (
        plan_steps(step for step in steps if not step.is_done()),
        settings.workers or 1,
    )
    content = {
        **asdict(planned),
        "seconds": planned.on_workers(workers),
        "workers": workers,
    }
    settings.answer(steps_plan(planned, workers), lambda: content)


def steps_plan(planned: GraphPlan, workers: int) -> Iterator[str]:
    """The lines of a plan: each step, and all together."""
    width = max(map(len, planned.steps), default=0)
    yield from (
        f"{name:{width}}  {clock(seconds)}" for name, seconds in planned.steps.items()
    )
    training, certification, together = map(clock, planned.sums)
    shared = (
        f"; on {workers} workers like this machine {clock(planned.on_workers(workers))}"
        if workers > 1
        else ""
    )
    yield from (
        "",
        f"training {training}, certification {certification}",
        f"together {together}{shared}",
    )
    yield SUPPOSED


def objects_plan(scale: str) -> Iterator[str]:
    """A line for each table and figure of the papers: the hours of all that it needs, made from nothing."""
    from randsmooth.launch.forecast import plan_steps
    from randsmooth.papers.context import Context
    from randsmooth.papers.reproduction import steps_for_rows
    from randsmooth.papers.runs import SCALES

    nowhere, every = (
        Context((), SCALES[scale], Path("reproduced") / scale),
        dict[str, Step](),
    )
    yield f"{'object':18} {'models':>6} {'training':>14} {'certification':>14} {'together':>14}"
    for thing in OBJECTS:
        steps = {step.name: step for step in steps_for_rows(thing.rows(), nowhere)}
        every |= steps
        planned = plan_steps(steps.values())
        yield f"{thing.name:18} {len(planned.training):>6} {' '.join(f'{clock(took):>14}' for took in planned.sums)}"
    yield f"all, each model once: {clock(plan_steps(every.values()).sums[-1])} at scale {scale}"
    yield SUPPOSED


class Reproduce(Answered, Slurm):
    """Settings of `randsmooth reproduce`.

    Attributes:
        object: A table or figure as PAPER/OBJECT, such as acr/table2 (see --list); or a folder, such as a clone of a
            repository of logs, of which it says what it fills of all tables.
        source: Folder of certificates or logs, laid out as DATASET-sigmaSIGMA/METHOD.tsv or as the authors released
            theirs.
        scale: Size of the runs that make what is missing: tiny (digits, in seconds), cpu (8 epochs), or paper.
        run: Train and certify what is missing. An interrupted run goes on where it stopped; one that fails does not
            stop the others.
        plan: Say how long all that is missing takes on this machine, in place of making it; with --list, how long each
            table and figure takes from nothing.
        show: Print all tables and figures, and what each needs.
        out: Folder of the results; models and certificates go to its subfolder SCALE.
    """

    goes_on = "the same command goes on"
    object: Argument[str | None] = None
    source: Annotated[Path | None, Given(flag="from")] = None
    scale: Literal["tiny", "cpu", "paper"] = "paper"
    run: bool = False
    plan: bool = False
    show: Annotated[bool, Given(flag="list")] = False
    out: Path = Path("reproduced")


def reproduce(settings: Reproduce) -> None:
    """Draw a table or figure of the papers from certificates, beside what the paper prints.

    Example: randsmooth reproduce acr/table2 --from published-logs

    What a clone fills of all tables: randsmooth reproduce smoothing-catrs

    Train and certify everything that it needs, at the smallest size: randsmooth reproduce acr/table3 --scale tiny --run
    """
    if settings.show:
        its = [
            {
                "object": t.name,
                "title": t.title,
                "models": len(t.rows()),
                "trains": t.needs_models,
                "text": t.text,
            }
            for t in OBJECTS
        ]
        settings.answer(
            objects_plan(settings.scale) if settings.plan else listing(), lambda: its
        )
        return
    folder = settings.source if settings.object is None else Path(settings.object)
    if folder is None:
        raise BadValue(
            "no table or figure named, such as acr/table2: randsmooth reproduce --list prints them all"
        )
    if settings.object is None or folder.exists():
        if settings.run or (settings.object and settings.source):
            alone = f"{folder} names no table: a folder goes alone, without --from and --run"
            raise BadValue(
                f"{alone}, or behind a table, as in randsmooth reproduce acr/table2 --from FOLDER"
            )
        show_survey(folder, settings)
        return
    assert settings.object is not None
    workers = settings.where() if settings.run else None
    resources = settings.resources() if settings.slurm else None
    find_object(settings.object)  # refuses an unknown name before pandas is loaded
    from randsmooth.papers import reproduction

    name, how = settings.object, settings.model_dump(include={"source", "out", "scale"})
    if settings.plan:
        answer_plan(settings, reproduction.missing_steps(name, **how))
    elif resources is not None:
        jobs = reproduction.submit_missing(name, **how, resources=resources)
        settings.answer(jobs.lines("models"), jobs._asdict)
        note(
            "once they have ended, the same command without --slurm draws what there is"
        )
    else:
        result = reproduction.reproduce(
            name, **how, run_missing=settings.run, workers=workers, progress=console
        )
        content = {
            "object": name,
            "text": result.object.text,
            "files": [*map(str, result.files)],
            "missing": result.missing[0],
        }
        content |= {
            "commands": [step.command() for step in result.steps],
            "failed": dict(result.failed),
        }
        settings.answer("\n".join(described(result)).split("\n"), lambda: content)
        for sentence in [*(result.made.notes if result.made else []), *result.skipped]:
            note(sentence)
        if result.failed:
            raise typer.Exit(FAILURE)


def show_survey(folder: Path, settings: Reproduce) -> None:
    """Print what the tables are that a folder fills; their cells are written to --out."""
    from randsmooth.papers.output import write_cells

    found = papers.survey(folder)
    cells = settings.out / f"{folder.resolve().name}-cells.csv"
    written = [str(write_cells(found.frame(), cells))] if found.drawn else []
    rows = [
        {"object": t.object.name, "rows": len(t.filled), "of": len(t.cells.rows)}
        for t in found.drawn
    ]
    settings.answer(
        [*surveyed(found), *written], lambda: {"tables": rows, "written": written}
    )
    for sentence in found.skipped:
        note(sentence)


def surveyed(found: papers.Survey) -> Iterator[str]:
    """What a person reads of the tables that a folder fills."""
    from randsmooth.papers.coverage import kinds

    for table in found.drawn:
        yield from (f"{table.object.name}: {table.object.title}", f"  {table.said}")
        yield from (
            f"  {what}: {named(theirs)}"
            for what, theirs in sorted(table.lacking.items(), reverse=True)
        )
    if empty := [
        table.object.name for table in found.tables if table not in found.drawn
    ]:
        yield from ("", f"nothing at all of {', '.join(empty)}")
    yield f"{len(found.files):,} certificate tables, {len(found.unused):,} of which stand in no row of these tables"
    yield from [f"  {kinds(found.unused)}"] * bool(found.unused)


def listing() -> Iterator[str]:
    """A line an object: its name, what it shows and what it needs."""
    for thing in OBJECTS:
        rows = len(thing.rows())
        what = "models and certificates" if thing.needs_models else "certificates"
        needs = f"{what} of {rows} model{'s' * (rows != 1)}" if rows else "nothing"
        yield f"{thing.name:16} {thing.title}; needs {needs}"
    yield ""
    for paper, text in TEXTS.items():
        yield f"{paper}: numbered, and with the figures, as in {text}"
    yield f"as ICML 2025 numbers them: {', '.join(f'{name} is {own}' for name, own in ALIASES.items())}"


def described(result: papers.Reproduction) -> Iterator[str]:
    """What a person reads of it, with line breaks in its tables."""
    from randsmooth.papers.output import to_text

    yield f"{result.object.name}: {result.object.title}"
    yield from (f"numbered, and with the figures, as in {result.object.text}", "")
    if result.made is not None:
        yield from map(to_text, result.made.tables.values())
        yield from [f"{result.agreed}\n"] * bool(result.agreed)
        yield from map(str, result.files)
    elif not result.object.needs_models:
        yield "nothing to draw it from: --from FOLDER takes certificates or logs (docs/published.md has published ones)"
    missing, total = result.missing
    if missing:
        yield from ("", f"missing: {missing} of {total} models")
        yield from (f"  {what}: {named(rows)}" for what, rows in result.lacking.items())
        yield "To make them (--run does, --plan says how long it takes; each can be resumed):"
        yield from (f"  {step.command()}" for step in result.steps[:COMMANDS])
        if (more := len(result.steps) - COMMANDS) > 0:
            yield f"  and {more} more: --format json has them all"
    if result.failed:
        yield from (
            "",
            f"{len(result.failed)} of these failed; what does not need them was done all the same:",
        )
        yield from (
            f"  {name}: {printable(error)}" for name, error in result.failed.items()
        )
