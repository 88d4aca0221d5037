"""Draw a table or figure of a paper, and run or submit what it lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from randsmooth.atomic import claimed
from randsmooth.errors import Problem, check_known
from randsmooth.launch.chains import carry_out, chains_of
from randsmooth.launch.slurm import Jobs, Submitted, check_slurm
from randsmooth.launch.slurm_resources import Resources
from randsmooth.launch.step import Step
from randsmooth.launch.workers import Workers
from randsmooth.papers.context import Context
from randsmooth.papers.coverage import TableCoverage, is_filled_table
from randsmooth.papers.drawings import draw_object
from randsmooth.papers.find_certificates import FolderScan, scan_folder
from randsmooth.papers.objects import PaperObject, find_object
from randsmooth.papers.output import Output, write
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.runs import SCALES, steps_for_rows
from randsmooth.progress import Progress, chosen_progress
from randsmooth.report.grouping import gathered


@dataclass(frozen=True)
class Reproduction:
    """The result of `reproduce`.

    Attributes:
        object: what was to be drawn.
        made: its parts; None where nothing could be drawn yet.
        files: those written.
        steps: those that would make the missing rows.
        missing: how many rows are missing, and of how many.
        lacking: the missing rows by what is at hand of them, in words.
        skipped: a sentence for each file that could not be used.
        failed: model that was tried -> why it failed.
        agreed: how many rows of a table there are, and how many of their cells are as
            printed, in words.

    Example:
        >>> from randsmooth.papers import reproduce
        >>> result = reproduce("cat-rs/table7", out="here", scale="cpu")
        >>> result.missing, result.files
        ((4, 4), ())
        >>> len(result.steps), result.steps[1].verb
        (8, 'certify')
    """

    object: PaperObject
    made: Output | None
    files: tuple[Path, ...]
    steps: tuple[Step, ...]
    missing: tuple[int, int]
    lacking: Mapping[str, Sequence[PaperRow]]
    skipped: tuple[str, ...] = ()
    failed: Mapping[str, Problem] = field(default_factory=dict)
    agreed: str = ""


def reproduce(
    name: str,
    *,
    source: Path | str | None = None,
    out: Path | str = "reproduced",
    scale: str = "paper",
    run_missing: bool = False,
    workers: Workers | None = None,
    progress: Progress | bool | None = None,
) -> Reproduction:
    """Draw PAPER/OBJECT from certificates or logs.

    A table is written as text, Markdown, LaTeX and CSV, a figure as PNG, PDF, HTML and
    CSV.

    Args:
        name: such as "acr/table2".
        source: folder of certificates and logs; `out`/SCALE, where runs are written, is
            read as well.
        out: folder for the results.
        scale: the size of the runs that make what is missing: "tiny", "cpu" or "paper".
        run_missing: run them. Finished runs are skipped and interrupted ones continued;
            one that fails does not stop the others.
        workers: who shares them, such as `launch.Processes(2)`; default: this process,
            one after the other.
        progress: of long work, as for `train`.

    Raises:
        Problem: no such object, scale or folder.

    Example:
        >>> result = reproduce("acr/theorem2", out="here")
        >>> [path.name for path in result.files]
        ['acr-theorem2.txt', 'acr-theorem2.md', 'acr-theorem2.tex', 'acr-theorem2.csv']
    """
    thing = find_object(name)
    context = _context(thing, source, out, scale)
    failed: Mapping[str, Problem] = {}
    if run_missing:
        failed = _run_missing(thing, context, workers, chosen_progress(progress))
        # What was made is at hand from here on.
        context = _context(thing, source, out, scale)
    made = draw_object(thing, context)
    files: list[Path] = []
    agreed = ""
    if made is not None:
        files = write(made, Path(out) / thing.name.replace("/", "-"), thing.title)
        if is_filled_table(thing):
            agreed = TableCoverage(thing, context.compared(thing.rows())).said

    missing = context.missing(thing)
    return Reproduction(
        object=thing,
        made=made,
        files=tuple(files),
        steps=tuple(steps_for_rows(missing, context.scale, context.folder)),
        missing=(len(missing), len(thing.rows())),
        lacking=gathered((context.lack_of(thing, row), row) for row in missing),
        skipped=context.skipped,
        failed=failed,
        agreed=agreed,
    )


def submit_missing(
    name: str,
    *,
    source: Path | str | None,
    out: Path | str,
    scale: str,
    resources: Resources,
) -> Submitted:
    """Submit what is missing to Slurm, a job for each model.

    Arguments and errors as for `reproduce`; or Slurm refuses.
    """
    check_slurm()
    folder = Path(out) / scale
    chains = chains_of(missing_steps(name, source, out, scale))
    with claimed(folder / "runs", output=folder):
        return Jobs(folder).submit(chains, resources)


def missing_steps(
    name: str, source: Path | str | None, out: Path | str, scale: str
) -> list[Step]:
    """Return the steps that `reproduce` with `run_missing` would carry out.

    Arguments and errors as there.
    """
    thing = find_object(name)
    context = _context(thing, source, out, scale)
    return steps_for_rows(context.unfinished(thing), context.scale, context.folder)


def _run_missing(
    thing: PaperObject, context: Context, workers: Workers | None, progress: Progress
) -> Mapping[str, Problem]:
    """Carry out the steps that a table or figure lacks.

    Returns:
        Each model that failed, and why.
    """
    chains = chains_of(
        steps_for_rows(context.unfinished(thing), context.scale, context.folder)
    )
    if not chains:
        return {}
    folder = context.folder
    Jobs(folder).check_none()
    with claimed(folder / "runs", output=folder):
        ended = carry_out(chains, workers, progress, thing.name)
    return ended.failed


def _context(
    thing: PaperObject, source: Path | str | None, out: Path | str, scale: str
) -> Context:
    """Look for certificates and models; what formulas give needs none."""
    check_known("scale", SCALES, scale)
    folder = Path(out) / scale
    scan = FolderScan()
    if thing.rows():
        places = []
        if source is not None:
            places.append(Path(source))
        if folder.is_dir():
            places.append(folder)
        scan = scan_folder(*places)
    return Context(scan.found, SCALES[scale], folder, scan.skipped)
