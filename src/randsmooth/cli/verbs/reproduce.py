"""`randsmooth reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from randsmooth.cli.messages import FAILURE, say_lines
from randsmooth.cli.options import Slurm
from randsmooth.cli.planning import objects_plan, steps_plan
from randsmooth.cli.settings import argument, option
from randsmooth.errors import InputError
from randsmooth.escape import printable, say

if TYPE_CHECKING:
    from randsmooth.papers.reproduction import Reproduction


class Reproduce(Slurm):
    """Settings of `randsmooth reproduce`."""

    goes_on = "the same command goes on"
    object: str | None = argument(
        "A table or figure as PAPER/OBJECT, such as acr/table2 (see --list); or a folder, such as a clone of a "
        "repository of logs, of which it says what it fills of all tables.",
        default=None,
    )
    source: Path | None = option(
        "Folder of certificates or logs, laid out as DATASET-sigmaSIGMA/METHOD.tsv or as the authors released theirs.",
        json_schema_extra={"flag": "from"},
    )
    scale: Literal["tiny", "cpu", "paper"] = option(
        "Size of the runs that make what is missing: tiny (digits, in seconds), cpu (8 epochs), or paper.", "paper"
    )
    run: bool = option(
        "Train and certify what is missing. An interrupted run goes on where it stopped; one that fails does not stop "
        "the others.",
        False,
    )
    plan: bool = option(
        "Say how long all that is missing takes on this machine, in place of making it; with --list, how long each "
        "table and figure takes from nothing.",
        False,
    )
    show: bool = option("Print all tables and figures, and what each needs.", False, json_schema_extra={"flag": "list"})
    out: Path = option("Folder of the results; models and certificates go to its subfolder SCALE.", Path("reproduced"))


def reproduce(settings: Reproduce) -> None:
    """Draw a table or figure of the papers from certificates, beside what the paper prints.

    Example: randsmooth reproduce acr/table2 --from published-logs

    What a clone fills of all tables: randsmooth reproduce smoothing-catrs

    Train and certify everything that it needs, at the smallest size: randsmooth reproduce acr/table3 --scale tiny --run
    """
    if settings.show:
        for line in objects_plan(settings.scale) if settings.plan else [listing()]:
            say(line)
        return
    folder = survey_of(settings)
    if folder is not None:
        say(surveyed(folder, settings.out), end="")
        return
    if settings.object is None:
        raise InputError(
            "no table or figure named: give one such as acr/table2; randsmooth reproduce --list prints them all"
        )
    from randsmooth.papers.published_values import find_object

    workers = settings.where() if settings.run else None
    resources = settings.resources() if settings.slurm else None
    find_object(settings.object)  # refuses an unknown name before pandas is loaded
    from randsmooth.papers import reproduction
    from randsmooth.progress import console

    name, how = settings.object, settings.model_dump(include={"source", "out", "scale"})
    if settings.plan:
        say_lines(steps_plan(reproduction.missing_steps(name, **how), settings.workers or 1))
        return
    if resources is not None:
        say_lines(reproduction.submit_missing(name, **how, resources=resources).lines("models"))
        say("once they have ended, the same command without --slurm draws what there is")
        return
    result = reproduction.reproduce(name, **how, run_missing=settings.run, workers=workers, progress=console)
    say(described(result), end="")
    if result.failed:
        raise typer.Exit(FAILURE)


def survey_of(settings: Reproduce) -> Path | None:
    """The folder of which all tables are wanted: given in place of one, or by --from alone."""
    if settings.object is None:
        return settings.source
    folder = Path(settings.object)
    if not folder.is_dir():
        return None
    if settings.source is not None or settings.run:
        raise InputError(
            f"{folder} is a folder: of its certificates all tables are listed, without --from and --run; name a table "
            "beside --from, as in randsmooth reproduce acr/table2 --from FOLDER"
        )
    return folder


def surveyed(folder: Path, out: Path) -> str:
    """What a person reads of the tables that a folder fills; their cells are written to `out`."""
    from randsmooth.papers.output import write_cells
    from randsmooth.papers.published_values import named
    from randsmooth.papers.reproduction import kinds, survey

    found = survey(folder)
    lines = []
    for table in found.drawn:
        chance = " and chance" * any(one is not None and not one.same_images for one in table.cells.agreed)
        rows = f"{len(table.filled)} of {len(table.cells.rows)} rows"
        lines += [f"{table.object.name}: {table.object.title}"]
        lines += [f"  {rows}; {table.explained} of {table.compared} cells as printed, to rounding{chance}"]
        lines += [f"  only logs of other runs: {named(table.other_runs)}"] * bool(table.other_runs)
        lines += [f"  missing: {named(table.missing)}"] * bool(table.missing)
    empty = [table.object.name for table in found.tables if table not in found.drawn]
    lines += ["", f"nothing at all of {', '.join(empty)}"] if empty else []
    lines += [
        f"{len(found.files):,} certificate tables, {len(found.unused):,} of which stand in no row of these tables"
    ]
    lines += [f"  {kinds(found.unused)}"] if found.unused else []
    lines += [f"note: {printable(sentence)}" for sentence in found.skipped]
    path = out / f"{folder.resolve().name}-cells.csv"
    lines += [str(write_cells(found.frame(), path))] if found.drawn else []
    return "\n".join(lines) + "\n"


def listing() -> str:
    """A line an object: its name, what it shows and what it needs."""
    from randsmooth.papers.published_values import OBJECTS

    lines = []
    for thing in OBJECTS:
        rows = len(thing.rows())
        what = "models and certificates" if thing.needs_models else "certificates"
        needs = f"{what} of {rows} model{'s' * (rows != 1)}" if rows else "nothing"
        lines.append(f"{thing.name:16} {thing.title}; needs {needs}")
    return "\n".join(lines)


def described(result: Reproduction) -> str:
    """What a person reads of it."""
    from randsmooth.papers.output import to_text

    lines = [f"{result.object.name}: {result.object.title}", ""]
    if result.made is not None:
        lines += [to_text(frame) for frame in result.made.tables.values()]
        lines += [*(f"note: {printable(note)}" for note in result.made.notes), ""] if result.made.notes else []
        lines += [str(path) for path in result.files]
    lines += ["", *(f"note: {printable(sentence)}" for sentence in result.skipped)] if result.skipped else []
    missing, total = result.missing
    if missing:
        lines += ["", f"missing: {missing} of {total} models. To make them (--run does; each can be resumed):"]
        lines += [f"  {step.command()}" for step in result.steps]
    if result.failed:
        lines += ["", f"{len(result.failed)} of these failed; what does not need them was done all the same:"]
        lines += [f"  {name}: {printable(error)}" for name, error in result.failed.items()]
    return "\n".join(lines) + "\n"
