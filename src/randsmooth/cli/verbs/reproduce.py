"""`randsmooth reproduce`: tables and figures of the papers, from certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from randsmooth import papers
from randsmooth.cli.output import FAILURE, note
from randsmooth.cli.printed_commands import command_of
from randsmooth.cli.settings import Argument, Given
from randsmooth.cli.step_plans import SUPPOSED, StepsVerb, answer_plan
from randsmooth.cli.true_labels import labels_at_hand
from randsmooth.errors import Conflict, MissingValue, each_problem
from randsmooth.escape import few_of, printable
from randsmooth.papers.objects import ALIASES, EDITIONS, OBJECTS, find_object
from randsmooth.papers.rows import named
from randsmooth.progress import clock, console, terminal_width
from randsmooth.report.headings import ANSWER_HEADING, EVIDENCE_HEADING
from randsmooth.report.layouts import INDENT, fitted, wrapped

if TYPE_CHECKING:
    # It loads pandas, which the list of objects does not need.
    from randsmooth.papers.cell_comparison import DifferingCell

# The most commands to print of those that make what is missing.
MOST_COMMANDS = 3

# The most cells that differ to print.
MOST_CELLS = 5

# The sentence above them.
DIFFERING = "Cells that neither rounding nor chance explains, the worst first:"

# The sentence of the answer about a folder.
FILLED = (
    "{rows} of {of} rows of {tables} tables are filled; {explained} of {compared} cells "
    "are as printed, to rounding and chance."
)


class Reproduce(StepsVerb):
    """Settings of `randsmooth reproduce`.

    Attributes:
        object: A table or figure as PAPER/OBJECT, such as acr/table2 (see --list). Or a
            folder, such as a clone of a repository of logs: the command lists the rows
            of all tables that it fills.
        source: Folder of certificates or logs, laid out as
            DATASET-sigmaSIGMA/METHOD.tsv or as the authors released theirs.
        scale: Size of the runs that fill missing rows: tiny (digits, in seconds), cpu
            (8 epochs), or paper.
        run: Train and certify the missing rows. An interrupted run resumes where it
            stopped. A run that fails does not stop the others.
        plan: Print how long the missing runs take on this machine, and run nothing.
            With --list: how long each table and figure takes from scratch.
        show: Print all tables and figures, and the needs of each.
        anyway: Fill rows with certificates of a folder that failed a check, too.
        out: Folder of the results; models and certificates go to its subfolder SCALE.
    """

    way_on = "the same command goes on"
    object: Argument[str | None] = None
    source: Annotated[Path | None, Given(option="from")] = None
    scale: Literal["tiny", "cpu", "paper"] = "paper"
    run: bool = False
    plan: bool = False
    show: Annotated[bool, Given(option="list")] = False
    anyway: bool = False
    out: Path = Path("reproduced")


def run(settings: Reproduce) -> None:
    """Draw a table or figure of a paper, beside the printed values.

    Example: randsmooth reproduce acr/table2 --from published-logs

    List the tables that a clone fills: randsmooth reproduce smoothing-catrs

    Train and certify everything that a table needs, at the smallest size: randsmooth
    reproduce acr/table3 --scale tiny --run
    """
    if settings.show:
        answer_list(settings)
    elif settings.object is None or Path(settings.object).exists():
        answer_survey(settings)
    else:
        answer_object(settings, settings.object)


def answer_list(settings: Reproduce) -> None:
    """Print all tables and figures, and what each needs; with --plan how long it takes.

    For programs, the answer is the same with --plan and without.
    """
    lines = objects_plan(settings.scale) if settings.plan else listing()
    content = [
        {
            "object": thing.name,
            "title": thing.title,
            "models": len(thing.rows()),
            "trains": thing.needs_models,
            "edition": thing.edition,
        }
        for thing in OBJECTS
    ]
    settings.answer(lines, lambda: content)


def listing() -> Iterator[str]:
    """Yield a line for each table or figure, then the editions that number them."""
    for thing in OBJECTS:
        # A row of a paper is a model.
        number = len(thing.rows())
        needs = "nothing"
        if number:
            files = "models and certificates" if thing.needs_models else "certificates"
            models = "model" if number == 1 else "models"
            needs = f"{files} of {number} {models}"
        yield f"{thing.name:16} {thing.title}; needs {needs}"
    yield ""
    for paper, edition in EDITIONS.items():
        yield f"{paper}: numbers and values are those of {edition}"
    aliases = ", ".join(
        f"{icml_name} is {our_name}" for icml_name, our_name in ALIASES.items()
    )
    yield f"as ICML 2025 numbers them: {aliases}"


def objects_plan(scale: str) -> Iterator[str]:
    """Yield how long all takes that each table and figure needs, made from nothing."""
    # Late, as `step_costs` loads torch, which the list alone does not need.
    from randsmooth.launch import Step
    from randsmooth.launch.step_costs import plan_steps
    from randsmooth.papers.runs import SCALES, steps_for_rows

    # The steps are not run: their folder only names their results.
    folder = Path("reproduced") / scale
    steps_of_all: dict[str, Step] = {}
    titles = ("training", "certification", "together")
    cells = " ".join(f"{title:>14}" for title in titles)
    yield f"{'object':18} {'models':>6} {cells}"
    for thing in OBJECTS:
        steps = steps_for_rows(thing.rows(), SCALES[scale], folder)
        steps_of_all |= {step.name: step for step in steps}
        costs = plan_steps(steps)
        seconds = (
            sum(costs.training.values()),
            sum(costs.certification.values()),
            costs.total,
        )
        cells = " ".join(f"{clock(part):>14}" for part in seconds)
        yield f"{thing.name:18} {len(costs.training):>6} {cells}"
    total = plan_steps(steps_of_all.values()).total
    yield f"all, each model once: {clock(total)} at scale {scale}"
    yield SUPPOSED


def answer_survey(settings: Reproduce) -> None:
    """Print which tables a folder fills, and write their cells to a file.

    Raises:
        Problem: neither a table nor a folder is named, or settings of a table are given
            with a folder.
    """
    given = settings.object or settings.source
    if given is None:
        raise MissingValue(
            "no table or figure named, such as acr/table2: "
            "randsmooth reproduce --list prints them all"
        )
    folder = Path(given)
    if settings.run or (settings.object and settings.source):
        raise Conflict(
            f"{folder} names no table: give a folder alone, without --from and "
            "--run, or after a table, as in randsmooth reproduce acr/table2 "
            "--from FOLDER"
        )
    # Late, as it loads pandas, which the refusals above do not need.
    from randsmooth.papers.output import write_cells

    survey = papers.survey(folder, labels_of=labels_at_hand, anyway=settings.anyway)
    written = []
    if survey.drawn:
        path = settings.out / f"{folder.resolve().name}-cells.csv"
        written.append(str(write_cells(survey.frame(), path)))
    tables = [
        {
            "object": table.object.name,
            "rows_filled": len(table.filled),
            "rows_printed": len(table.cells.rows),
            "cells_as_printed": table.cells.explained,
            "cells_compared": table.cells.compared,
        }
        for table in survey.drawn
    ]
    content = {
        "checks": survey.check_block.content,
        "tables": tables,
        "differing": [differing_as_json(cell) for cell in survey.differing],
        "skipped": list(survey.skipped),
        "written": written,
    }
    settings.answer(survey_lines(survey, written), lambda: content)


def survey_lines(survey: papers.Survey, written: Sequence[str]) -> Iterator[str]:
    """Yield lines for a person: the checks, which tables a folder fills, and the rest.

    Args:
        survey: how far the certificates of a folder fill the tables.
        written: the files with all cells.
    """
    width = terminal_width()
    yield from survey.check_block.text(width)
    yield f"{ANSWER_HEADING}:"
    yield from wrapped(survey_sentence(survey), width)
    if survey.drawn:
        yield ""
        rows = [["table", "rows", "cells as printed"]]
        rows += [_survey_cells(table) for table in survey.drawn]
        yield from fitted(rows, width, [False, True, True])
        yield from differing_lines(survey.differing, width)
    yield ""
    yield f"{EVIDENCE_HEADING}:"
    for line in _survey_evidence(survey):
        # What continues a line stands further in than the lines below it.
        indent = INDENT * 2 if line.startswith(INDENT) else INDENT
        yield from wrapped(line, width, indent)
    for sentence in survey.skipped:
        yield from wrapped(printable(sentence), width, INDENT)
    yield from written


def differing_lines(cells: Sequence[DifferingCell], width: int) -> Iterator[str]:
    """Yield the cells that differ most from those of papers, and how many others do.

    Args:
        cells: all cells that differ, the worst first.
        width: the most letters of a line.
    """
    if not cells:
        return
    yield ""
    yield from wrapped(DIFFERING, width)
    shown = few_of(cells, MOST_CELLS)
    for cell in shown:
        yield from wrapped(f"{INDENT}{cell}", width, INDENT * 2)
    if len(cells) > len(shown):
        more = len(cells) - len(shown)
        yield f"{INDENT}and {more:,} more in the file of all cells"


def differing_as_json(cell: DifferingCell) -> dict[str, Any]:
    """Return a cell that differs, for a program."""
    row = cell.row
    return {
        "object": cell.table,
        "dataset": row.dataset,
        "sigma": row.sigma,
        "method": row.method,
        "setting": row.setting,
        "metric": cell.metric,
        "printed": cell.printed,
        "here": cell.here,
        "difference": cell.difference,
    }


def survey_sentence(survey: papers.Survey) -> str:
    """Return in one sentence how many rows and cells the certificates of a folder fill."""
    if not survey.drawn:
        return "The certificates of this folder fill no row of a paper's table."
    cells = [table.cells for table in survey.drawn]
    return FILLED.format(
        rows=sum(len(of_table.of_printed_runs) for of_table in cells),
        of=sum(len(of_table.rows) for of_table in cells),
        tables=len(cells),
        explained=sum(of_table.explained for of_table in cells),
        compared=sum(of_table.compared for of_table in cells),
    )


def _survey_cells(table: papers.TableCoverage) -> list[str]:
    """Return the line of a table in the answer."""
    cells = table.cells
    return [
        table.object.name,
        f"{len(cells.of_printed_runs)} of {len(cells.rows)}",
        f"{cells.explained} of {cells.compared}",
    ]


def _survey_evidence(survey: papers.Survey) -> Iterator[str]:
    """Yield what each table lacks, and what stands in none."""
    # Late, as it loads pandas.
    from randsmooth.papers.coverage import kinds_in_words

    for table in survey.drawn:
        yield f"{table.object.name}: {table.object.title}"
        yield f"{INDENT}{table.cells.summary}"
        for lack, rows in table.lacking.items():
            yield f"{INDENT}{lack}: {named(rows)}"
    drawn = survey.drawn
    not_drawn = [table.object.name for table in survey.tables if table not in drawn]
    if not_drawn:
        yield f"nothing at all of {', '.join(not_drawn)}"
    yield (
        f"{len(survey.files):,} certificate tables, {len(survey.unused):,} without "
        "a row in these tables"
    )
    if survey.unused:
        yield f"{INDENT}{kinds_in_words(survey.unused)}"


def answer_object(settings: Reproduce, name: str) -> None:
    """Draw a table or figure; with --plan or --slurm plan or submit what is missing."""
    # Wrong settings are refused before anything is loaded.
    workers = settings.chosen_workers() if settings.run else None
    resources = settings.resources() if settings.slurm else None
    # It raises for an unknown name, before pandas is loaded; `reproduction` looks again.
    find_object(name)
    # Late, as it loads pandas.
    from randsmooth.papers import reproduction

    source = settings.source
    out = settings.out
    scale = settings.scale
    if settings.plan:
        steps = reproduction.missing_steps(
            name,
            source,
            out,
            scale,
            labels_of=labels_at_hand,
            anyway=settings.anyway,
        )
        answer_plan(settings, steps)
    elif resources is not None:
        jobs = reproduction.submit_missing(
            name,
            source=source,
            out=out,
            scale=scale,
            resources=resources,
            labels_of=labels_at_hand,
            anyway=settings.anyway,
        )
        settings.answer(jobs.lines("models"), lambda: asdict(jobs))
        note(
            "once they have ended, run the same command without --slurm to draw "
            "the results"
        )
    else:
        result = reproduction.reproduce(
            name,
            source=source,
            out=out,
            scale=scale,
            run_missing=settings.run,
            workers=workers,
            progress=console,
            labels_of=labels_at_hand,
            anyway=settings.anyway,
        )
        answer_result(settings, result)


def answer_result(settings: Reproduce, result: papers.Reproduction) -> None:
    """Print what was drawn; where a model failed, the exit code is that of a failure."""
    # A table among the lines has line breaks of its own, and each line is printed alone.
    lines = "\n".join(result_lines(result)).split("\n")
    settings.answer(lines, lambda: as_json(result))
    if result.made is not None:
        for sentence in result.made.notes:
            note(sentence)
    if result.failed:
        raise SystemExit(FAILURE)


def as_json(result: papers.Reproduction) -> dict[str, Any]:
    """Return what was drawn and what is missing, for a program."""
    models_missing, models_in_all = result.missing
    return {
        "checks": result.check_block.content,
        "object": result.object.name,
        "edition": result.object.edition,
        "differing": [differing_as_json(cell) for cell in result.differing],
        "skipped": list(result.skipped),
        "files": [str(path) for path in result.files],
        "models_missing": models_missing,
        "models": models_in_all,
        "commands": [command_of(step) for step in result.steps],
        "failed": {name: str(problem) for name, problem in result.failed.items()},
    }


def result_lines(result: papers.Reproduction) -> Iterator[str]:
    """Yield a reproduction for a person, line by line."""
    # Late, as it loads pandas.
    from randsmooth.papers.output import to_terminal

    width = terminal_width()
    yield from result.check_block.text(width)
    yield f"{result.object.name}: {result.object.title}"
    yield f"numbers and values are those of {result.object.edition}"
    yield ""
    # `made` is None where nothing could be drawn.
    if result.made is not None:
        for table in result.made.tables.values():
            yield from to_terminal(table, width).splitlines()
            yield ""
        if result.agreed:
            yield result.agreed
            yield from differing_lines(result.differing, width)
            yield ""
        for path in result.files:
            yield str(path)
    elif not result.object.needs_models:
        yield (
            "nothing to draw it from: --from FOLDER takes certificates or logs "
            "(docs/published.md has published ones)"
        )
    if result.skipped:
        yield ""
    for sentence in result.skipped:
        yield from wrapped(printable(sentence), width, INDENT)
    yield from missing_lines(result)
    if result.failed:
        yield ""
        yield (
            f"{len(result.failed)} of these failed; steps that do not need them "
            "were done:"
        )
        for name, problem in result.failed.items():
            sentences = "; ".join(map(str, each_problem(problem)))
            yield f"  {name}: {printable(sentences)}"


def missing_lines(result: papers.Reproduction) -> Iterator[str]:
    """Yield which models are missing, and the commands that make them."""
    models_missing, models_in_all = result.missing
    if not models_missing:
        return
    yield ""
    yield f"missing: {models_missing} of {models_in_all} models"
    for lack, rows in result.lacking.items():
        yield f"  {lack}: {named(rows)}"
    yield (
        "To make them (--run does, --plan says how long it takes; each can be resumed):"
    )
    for step in result.steps[:MOST_COMMANDS]:
        yield f"  {command_of(step)}"
    others = len(result.steps) - MOST_COMMANDS
    if others > 0:
        yield f"  and {others} more: --format json has them all"
