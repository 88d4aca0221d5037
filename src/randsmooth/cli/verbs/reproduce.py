"""`randsmooth reproduce`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from randsmooth.cli.messages import FAILURE, say_lines
from randsmooth.cli.options import Slurm
from randsmooth.cli.planning import objects_plan, steps_plan
from randsmooth.cli.settings import Argument, Given
from randsmooth.errors import InputError
from randsmooth.escape import printable, say

if TYPE_CHECKING:
    from randsmooth.papers.reproduction import Reproduction


class Reproduce(Slurm):
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
        say_lines(objects_plan(settings.scale) if settings.plan else listing())
        return
    folder = settings.source if settings.object is None else Path(settings.object)
    if folder is None:
        raise InputError(
            "no table or figure named: give one such as acr/table2; randsmooth reproduce --list prints them all"
        )
    if settings.object is None or folder.is_dir():
        if settings.run or (settings.object and settings.source):
            raise InputError(
                f"{folder} is a folder: of its certificates all tables are listed, without --from and --run; name a "
                "table beside --from, as in randsmooth reproduce acr/table2 --from FOLDER"
            )
        say_lines(surveyed(folder, settings.out))
        return
    assert settings.object is not None
    from randsmooth.papers.published_values import find_object

    workers = settings.where() if settings.run else None
    resources = settings.resources() if settings.slurm else None
    find_object(settings.object)  # refuses an unknown name before pandas is loaded
    from randsmooth.papers import reproduction
    from randsmooth.progress import console

    name, how = settings.object, settings.model_dump(include={"source", "out", "scale"})
    if settings.plan:
        say_lines(steps_plan(reproduction.missing_steps(name, **how), settings.workers or 1))
    elif resources is not None:
        say_lines(reproduction.submit_missing(name, **how, resources=resources).lines("models"))
        say("once they have ended, the same command without --slurm draws what there is")
    else:
        result = reproduction.reproduce(name, **how, run_missing=settings.run, workers=workers, progress=console)
        say("\n".join(described(result)))
        if result.failed:
            raise typer.Exit(FAILURE)


def surveyed(folder: Path, out: Path) -> Iterator[str]:
    """What a person reads of the tables that a folder fills; their cells are written to `out`."""
    from randsmooth.papers.output import write_cells
    from randsmooth.papers.published_values import named
    from randsmooth.papers.reproduction import kinds, survey

    found = survey(folder)
    for table in found.drawn:
        chance = " and chance" * any(one is not None and not one.same_images for one in table.cells.agreed)
        yield f"{table.object.name}: {table.object.title}"
        rows = f"{len(table.filled)} of {len(table.cells.rows)} rows"
        yield f"  {rows}; {table.explained} of {table.compared} cells as printed, to rounding{chance}"
        for what, theirs in (("only logs of other runs", table.other_runs), ("missing", table.missing)):
            yield from [f"  {what}: {named(theirs)}"] * bool(theirs)
    if empty := [table.object.name for table in found.tables if table not in found.drawn]:
        yield from ("", f"nothing at all of {', '.join(empty)}")
    yield f"{len(found.files):,} certificate tables, {len(found.unused):,} of which stand in no row of these tables"
    yield from [f"  {kinds(found.unused)}"] * bool(found.unused)
    yield from (f"note: {sentence}" for sentence in found.skipped)
    if found.drawn:
        yield str(write_cells(found.frame(), out / f"{folder.resolve().name}-cells.csv"))


def listing() -> Iterator[str]:
    """A line an object: its name, what it shows and what it needs."""
    from randsmooth.papers.published_values import OBJECTS

    for thing in OBJECTS:
        rows = len(thing.rows())
        what = "models and certificates" if thing.needs_models else "certificates"
        needs = f"{what} of {rows} model{'s' * (rows != 1)}" if rows else "nothing"
        yield f"{thing.name:16} {thing.title}; needs {needs}"


def described(result: Reproduction) -> Iterator[str]:
    """What a person reads of it, with line breaks in its tables."""
    from randsmooth.papers.output import to_text

    yield from (f"{result.object.name}: {result.object.title}", "")
    if result.made is not None:
        yield from map(to_text, result.made.tables.values())
        yield from [*(f"note: {printable(note)}" for note in result.made.notes), ""] if result.made.notes else []
        yield from map(str, result.files)
    yield from ["", *(f"note: {printable(sentence)}" for sentence in result.skipped)] if result.skipped else []
    missing, total = result.missing
    if missing:
        yield from ("", f"missing: {missing} of {total} models. To make them (--run does; each can be resumed):")
        yield from (f"  {step.command()}" for step in result.steps)
    if result.failed:
        yield from ("", f"{len(result.failed)} of these failed; what does not need them was done all the same:")
        yield from (f"  {name}: {printable(error)}" for name, error in result.failed.items())
