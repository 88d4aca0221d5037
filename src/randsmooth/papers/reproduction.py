"""Draw a table or figure of a paper, and run or submit what it lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from randsmooth.atomic import claimed
from randsmooth.errors import Problem
from randsmooth.launch.chains import carry_out, chains_of
from randsmooth.launch.slurm import Jobs, Submitted, check_slurm
from randsmooth.launch.slurm_resources import Resources
from randsmooth.launch.step import Step
from randsmooth.launch.workers import Workers
from randsmooth.papers.cell_comparison import DifferingCell, differing_cells
from randsmooth.papers.checked_files import LabelsOf
from randsmooth.papers.drawings import draw_object
from randsmooth.papers.objects import PaperObject, find_object
from randsmooth.papers.output import Output, write
from randsmooth.papers.row_evidence import (
    ObjectEvidence,
    RowEvidence,
    compared,
    gather,
)
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.runs import each_once
from randsmooth.progress import Progress, chosen_progress
from randsmooth.report.checks import CheckBlock
from randsmooth.report.grouping import gathered


@dataclass(frozen=True)
class Reproduction:
    """The result of `reproduce`.

    Attributes:
        object: the table or figure to draw.
        made: the parts of the drawing; None where nothing could be drawn yet.
        files: the files that were written.
        evidence: the certificates and models at hand for the object.
        failed: model -> why its run failed; empty unless missing runs were made.

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
    evidence: ObjectEvidence
    failed: Mapping[str, Problem] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps that would make the missing rows."""
        return tuple(steps_of_rows(self.evidence.missing))

    @property
    def missing(self) -> tuple[int, int]:
        """Return how many rows are missing, and of how many."""
        return len(self.evidence.missing), len(self.evidence.rows)

    @property
    def lacking(self) -> Mapping[str, Sequence[PaperRow]]:
        """Return reason, in words -> the rows that are missing for this reason."""
        return gathered((of_row.lack, of_row.row) for of_row in self.evidence.missing)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Return sentences on the files that could not be used."""
        return self.evidence.skipped

    @property
    def check_block(self) -> CheckBlock:
        """Return the checks of all certificates in the folders."""
        return self.evidence.check_block

    @property
    def differing(self) -> list[DifferingCell]:
        """Return the cells that differ from the paper's for no known reason, worst first.

        The list is empty for objects that are no tables of certificates.
        """
        if not self.agreed:
            return []
        shown = [*self.evidence.rows, *self.evidence.further]
        return differing_cells(compared(shown), self.object.name)

    @property
    def agreed(self) -> str:
        """Return in words how many rows a table shows, and how many cells as printed.

        The text is empty for other objects. So it is for those that need models: their
        rows are shown by models, and not by the certificates that such words count.
        """
        if self.made is None or self.object.needs_models:
            return ""
        return self.made.agreed


def reproduce(
    name: str,
    *,
    source: Path | str | None = None,
    out: Path | str = "reproduced",
    scale: str = "paper",
    run_missing: bool = False,
    workers: Workers | None = None,
    progress: Progress | bool | None = None,
    labels_of: LabelsOf | None = None,
    anyway: bool = False,
) -> Reproduction:
    """Draw the table or figure PAPER/OBJECT from certificates or logs, and write it.

    A table is written as text, Markdown, LaTeX and CSV, a figure as PNG, PDF, HTML and
    CSV.

    Args:
        name: the name of the table or figure, such as "acr/table2".
        source: folder of certificates and logs. The folder `out`/SCALE, into which
            missing runs are written, is read as well; by default it alone.
        out: folder for the results.
        scale: the size of the runs that make what is missing: "tiny", "cpu" or "paper".
        run_missing: whether to make the missing runs. Finished runs are skipped and
            interrupted ones continued; one that fails does not stop the others.
        workers: the workers that share the runs, such as `launch.Processes(2)`; by
            default this process makes one after the other.
        progress: the display of progress in long work, as for `train`.
        labels_of: returns the labels of the data sets of tables, where they are at hand,
            as `report.render` takes them.
        anyway: whether certificates that failed a check fill rows, too.

    Raises:
        Problem: no such object, scale or folder; or another process works in `out`.

    Example:
        >>> result = reproduce("acr/theorem2", out="here")
        >>> [path.name for path in result.files]
        ['acr-theorem2.txt', 'acr-theorem2.md', 'acr-theorem2.tex', 'acr-theorem2.csv']
    """
    thing = find_object(name)
    evidence = gather(thing, source, out, scale, labels_of=labels_of, anyway=anyway)
    failed: Mapping[str, Problem] = {}
    if run_missing:
        failed = _run(evidence, workers, chosen_progress(progress))
        # The evidence grew by the certificates and models that were made.
        evidence = gather(thing, source, out, scale, labels_of=labels_of, anyway=anyway)

    output = draw_object(evidence)
    files: list[Path] = []
    if output is not None:
        files = write(output, Path(out) / thing.file_name, thing.title)
    return Reproduction(thing, output, tuple(files), evidence, failed)


def submit_missing(
    name: str,
    *,
    source: Path | str | None,
    out: Path | str,
    scale: str,
    resources: Resources,
    labels_of: LabelsOf | None = None,
    anyway: bool = False,
) -> Submitted:
    """Submit the runs that are missing to Slurm, a job for each model.

    The arguments and errors are those of `reproduce`. A refusal by Slurm is a Problem,
    too.

    Args:
        resources: the resources to ask for, for each job.
    """
    # A machine without Slurm is told of before folders are searched.
    check_slurm()
    folder = Path(out) / scale
    steps = missing_steps(name, source, out, scale, labels_of=labels_of, anyway=anyway)
    chains = chains_of(steps)
    with claimed(folder / "runs", output=folder):
        return Jobs(folder).submit(chains, resources)


def missing_steps(
    name: str,
    source: Path | str | None,
    out: Path | str,
    scale: str,
    *,
    labels_of: LabelsOf | None = None,
    anyway: bool = False,
) -> list[Step]:
    """Return the steps that `reproduce` with `run_missing` would carry out.

    The arguments and errors are those of `reproduce`.
    """
    evidence = gather(
        find_object(name), source, out, scale, labels_of=labels_of, anyway=anyway
    )
    return steps_of_rows(evidence.unfinished)


def steps_of_rows(evidence: Sequence[RowEvidence]) -> list[Step]:
    """Return the steps that make rows, each once."""
    return each_once(step for of_row in evidence for step in of_row.steps)


def _run(
    evidence: ObjectEvidence, workers: Workers | None, progress: Progress
) -> Mapping[str, Problem]:
    """Carry out the steps that a table or figure lacks.

    Returns:
        Model that failed -> the reason.
    """
    steps = steps_of_rows(evidence.unfinished)
    if not steps:
        return {}
    folder = evidence.folder
    # Jobs in Slurm that were submitted from here would make the same models.
    Jobs(folder).check_none()
    with claimed(folder / "runs", output=folder):
        ended = carry_out(chains_of(steps), workers, progress, evidence.thing.name)
    return ended.failed
