"""Draw a table or figure of a paper from the certificates at hand; list or run the commands that make the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from randsmooth.atomic import claimed
from randsmooth.errors import unknown
from randsmooth.launch.chains import carry_out, chains_of
from randsmooth.launch.slurm import Jobs, Resources, Submitted, check_slurm
from randsmooth.launch.steps import Step
from randsmooth.launch.sweeping import jobs_of
from randsmooth.launch.workers import Workers
from randsmooth.papers.context import Context
from randsmooth.papers.find_certificates import FolderScan, scan_folder
from randsmooth.papers.objects import PaperObject, find_object
from randsmooth.papers.output import Output, write
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.scales import SCALES, steps_for
from randsmooth.progress import Progress, chosen_progress


@dataclass(frozen=True)
class Reproduction:
    """The result of `reproduce`.

    Attributes:
        object: what was to be drawn.
        made: its parts; None where nothing could be drawn yet.
        files: those written.
        steps: those that would make the missing rows.
        missing: how many rows are missing, and of how many.
        skipped: a sentence for each file that could not be used.
        failed: model that was tried -> why it failed.

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
    skipped: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)


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
    """Draw PAPER/OBJECT from certificates or logs, as text, Markdown, LaTeX and CSV, or PNG, PDF, HTML and CSV.

    Args:
        name: such as "acr/table2".
        source: folder of certificates and logs; `out`/SCALE, where runs are written, is read as well.
        out: folder for the results.
        scale: the size of the runs that make what is missing: "tiny", "cpu" or "paper".
        run_missing: run them. Finished runs are skipped and interrupted ones continued; one that fails does not stop
            the others.
        workers: who shares them, such as `launch.Processes(2)`; default: this process, one after the other.
        progress: of long work, as for `train`.

    Raises:
        InputError: no such object, scale or folder.

    Example:
        >>> result = reproduce("acr/theorem2", out="here")
        >>> [path.name for path in result.files]
        ['acr-theorem2.txt', 'acr-theorem2.md', 'acr-theorem2.tex', 'acr-theorem2.csv']
    """
    out = Path(out)
    folder = out / scale
    thing, context = _looked_for(name, source, out, scale)
    chains = chains_of(steps_for_rows(thing.unfinished(context), context), folder) if run_missing else []
    failed: Mapping[str, str] = {}
    if chains:
        Jobs(folder).check_none()
        total = sum(len(chain.steps) for chain in chains)
        with claimed(folder / "runs", output=folder), chosen_progress(progress)(name, total, "steps") as reporter:
            failed = carry_out(chains, workers, reporter).failed
        thing, context = _looked_for(name, source, out, scale)
    missing = thing.missing(context)
    made = _made(thing, context, missing)
    files = [] if made is None else write(made, out / thing.name.replace("/", "-"))
    total = len(thing.rows())
    steps = tuple(steps_for_rows(missing, context))
    return Reproduction(thing, made, tuple(files), steps, (len(missing), total), context.skipped, failed)


def submit_missing(
    name: str, *, source: Path | str | None, out: Path | str, scale: str, resources: Resources
) -> Submitted:
    """Submit what is missing to Slurm, a job for each model.

    Arguments and errors as for `reproduce`; or Slurm refuses.
    """
    check_slurm()
    folder = Path(out) / scale
    chains = chains_of(missing_steps(name, source, out, scale), folder)
    with claimed(folder / "runs", output=folder):
        return Jobs(folder).submit(jobs_of(chains), resources)


def _made(thing: PaperObject, context: Context, missing: Sequence[PaperRow]) -> Output | None:
    """The object with notes on its logs; None where there is nothing to draw it from."""
    rows, more = thing.rows(), thing.more_rows(context)
    if rows and not more and (missing == rows if thing.needs_models else not any(map(context.certificates_of, rows))):
        return None
    there = [row for row in rows if row not in missing] if thing.needs_models else rows
    made = thing.make(context, [*there, *more])
    made.notes += context.notes_on([*there, *more])
    return made


def _looked_for(name: str, source: Path | str | None, out: Path | str, scale: str) -> tuple[PaperObject, Context]:
    """The object, and the certificates in the folders; one that formulas give needs none."""
    thing, folder = find_object(name), Path(out) / scale
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    there = FolderScan()
    if thing.rows():
        there = FolderScan() if source is None else scan_folder(Path(source))
        there += scan_folder(folder) if folder.is_dir() else FolderScan()
    return thing, Context(there.found, SCALES[scale], folder, there.skipped)


def missing_steps(name: str, source: Path | str | None, out: Path | str, scale: str) -> list[Step]:
    """The steps that `reproduce` with `run_missing` would carry out. Arguments and errors as there."""
    thing, context = _looked_for(name, source, out, scale)
    return steps_for_rows(thing.unfinished(context), context)


def steps_for_rows(missing: Sequence[PaperRow], context: Context) -> list[Step]:
    """The steps that make the missing rows, each once."""
    steps = [step for row in missing for step in steps_for(row, context.scale, context.folder)]
    return [*{step.name: step for step in steps}.values()]
