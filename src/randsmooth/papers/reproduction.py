"""Draw a table or figure of a paper, list or run the commands that make the rest, or survey what a folder fills."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from randsmooth.atomic import claimed
from randsmooth.certificates.files import names_of
from randsmooth.errors import check_known
from randsmooth.launch.chains import Step, carry_out, chains_of
from randsmooth.launch.slurm import Jobs, Resources, Submitted, check_slurm
from randsmooth.launch.workers import Workers
from randsmooth.papers.cell_comparison import Agreement, CellComparison, lack, tidy
from randsmooth.papers.context import SCALES, Context, steps_for
from randsmooth.papers.find_certificates import CertificateFile, scan_folder
from randsmooth.papers.output import Output, write
from randsmooth.papers.published_values import (
    OBJECTS,
    PaperObject,
    PaperRow,
    find_object,
)
from randsmooth.progress import Progress, chosen_progress
from randsmooth.report.grouping import gathered


@dataclass(frozen=True)
class TableCoverage:
    """How far certificates fill one table of a paper.

    Attributes:
        object: the table.
        cells: its rows with the paper's figures and, where there are certificates, ours.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), "logs/cifar10-sigma0.5/gaussian.tsv")
        >>> table = survey("logs").drawn[0]
        >>> table.object.name, len(table.filled), len(table.lacking["nothing at hand"])
        ('acr/table2', 1, 20)
    """

    object: PaperObject
    cells: CellComparison

    @property
    def agreed(self) -> list[Agreement]:
        """How well the rows of which there are certificates agree, those of other runs left out."""
        return [one for one in self.cells.agreed if one and not one.another_run]

    @property
    def filled(self) -> list[PaperRow]:
        """The rows of which there are certificates of the run that is printed."""
        return [one.row for one in self.agreed]

    @property
    def lacking(self) -> dict[str, list[PaperRow]]:
        """The other rows by what is at hand of them, in words: nothing, or only logs of other runs."""
        every = zip(self.cells.rows, self.cells.agreed, strict=True)
        return gathered((why, row) for row, one in every if (why := lack(one)))

    @property
    def compared(self) -> int:
        """How many cells of the filled rows can be compared: not zeros that are out of reach."""
        return sum(len(one.differences) for one in self.agreed)

    @property
    def explained(self) -> int:
        """How many of these are as printed, to rounding and, on another number of images, chance."""
        return self.compared - sum(len(one.unexplained) for one in self.agreed)

    @property
    def said(self) -> str:
        """How many rows there are, and how many of their cells are as printed, in words."""
        chance = " and chance" * any(
            one is not None and not one.same_images for one in self.cells.agreed
        )
        rows = f"{len(self.filled)} of {len(self.cells.rows)} rows"
        return f"{rows}; {self.explained} of {self.compared} cells as printed, to rounding{chance}"


@dataclass(frozen=True)
class Survey:
    """What a folder fills of all tables.

    Attributes:
        tables: of the papers, those of which at least one row is there first named.
        files: all certificates of the folder whose data set, sigma and method are known.
        unused: those of them that stand in no row.
        skipped: a sentence for each reason for which files could not be used.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), "logs/cifar10-sigma0.5/gaussian.tsv")
        >>> found = survey("logs")
        >>> len(found.files), len(found.unused)
        (1, 0)
    """

    tables: tuple[TableCoverage, ...]
    files: tuple[CertificateFile, ...]
    unused: tuple[CertificateFile, ...]
    skipped: tuple[str, ...]

    @property
    def drawn(self) -> list[TableCoverage]:
        """The tables of which certificates of at least one row are there."""
        return [table for table in self.tables if any(table.cells.agreed)]

    def frame(self) -> pd.DataFrame:
        """Every cell of these tables: the paper's figure, ours, and whether rounding or chance explains the difference.

        Columns as in `tidy`, with `object` before them and `explained` behind them, None where there is nothing to
        compare.
        """
        parts = [
            tidy(table.cells).assign(object=table.object.name) for table in self.drawn
        ]
        frame = pd.concat(
            parts or [pd.DataFrame(columns=["object"])], ignore_index=True
        )
        return frame[["object", *frame.columns.drop("object")]]


def survey(source: Path | str) -> Survey:
    """Compare the certificates and logs below `source` with every table of the papers that certificates can fill.

    Raises:
        Problem: no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), "logs/cifar10-sigma0.5/gaussian.tsv")
        >>> found = survey("logs")
        >>> [table.object.name for table in found.drawn]
        ['acr/table2', 'acr/table3', 'macer/table1', 'cat-rs/table2']
    """
    scan = scan_folder(Path(source))
    context = Context(scan.found, SCALES["paper"], Path(source), scan.skipped)
    tables = tuple(
        TableCoverage(thing, context.compared(thing.rows()))
        for thing in OBJECTS
        if _is_table(thing)
    )
    used = {id(one.found) for table in tables for one in table.cells.agreed if one}
    return Survey(
        tables,
        scan.found,
        tuple(found for found in scan.found if id(found) not in used),
        scan.skipped,
    )


def _is_table(thing: PaperObject) -> bool:
    """Whether it is a table whose cells certificates fill."""
    return (
        "/table" in thing.name
        and not thing.needs_models
        and any(row.figures for row in thing.rows())
    )


def kinds(files: Sequence[CertificateFile]) -> str:
    """What certificates are of, most frequent first: `smoothadv on cifar10 (37), gaussian on imagenet (7)`."""
    counts = Counter(
        f"{found.method} on {found.dataset}" for found in files
    ).most_common()
    return names_of([f"{kind} ({count:,})" for kind, count in counts], 12)


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
        agreed: how many rows of a table there are, and how many of their cells are as printed, in words.

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
    failed: Mapping[str, str] = field(default_factory=dict)
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
        Problem: no such object, scale or folder.

    Example:
        >>> result = reproduce("acr/theorem2", out="here")
        >>> [path.name for path in result.files]
        ['acr-theorem2.txt', 'acr-theorem2.md', 'acr-theorem2.tex', 'acr-theorem2.csv']
    """
    folder, failed = Path(out) / scale, dict[str, str]()
    if run_missing and (chains := chains_of(missing_steps(name, source, out, scale))):
        Jobs(folder).check_none()
        with claimed(folder / "runs", output=folder):
            failed, _ = carry_out(chains, workers, chosen_progress(progress), name)
    thing, context = _looked_for(name, source, out, scale)
    missing = thing.missing(context)
    lacking = gathered((thing.lack(context, row), row) for row in missing)
    made = _made(thing, context, missing)
    files = (
        []
        if made is None
        else write(made, Path(out) / thing.name.replace("/", "-"), thing.title)
    )
    steps, counts = (
        tuple(steps_for_rows(missing, context)),
        (len(missing), len(thing.rows())),
    )
    agreed = (
        TableCoverage(thing, context.compared(thing.rows())).said
        if made and _is_table(thing)
        else ""
    )
    return Reproduction(
        thing,
        made,
        tuple(files),
        steps,
        counts,
        lacking,
        context.skipped,
        failed,
        agreed,
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


def _made(
    thing: PaperObject, context: Context, missing: Sequence[PaperRow]
) -> Output | None:
    """The object with notes on its logs; None where there is nothing to draw it from."""
    rows, more = thing.rows(), thing.more_rows(context)
    if (
        rows
        and not more
        and (
            missing == rows
            if thing.needs_models
            else not any(map(context.certificates_of, rows))
        )
    ):
        return None
    there = [row for row in rows if row not in missing] if thing.needs_models else rows
    made = thing.make(context, [*there, *more])
    made.notes += context.notes_on([*there, *more])
    return made


def _looked_for(
    name: str, source: Path | str | None, out: Path | str, scale: str
) -> tuple[PaperObject, Context]:
    """The object, and the certificates in the folders; one that formulas give needs none."""
    thing, folder = find_object(name), Path(out) / scale
    check_known("scale", SCALES, scale)
    places = [
        *([] if source is None else [Path(source)]),
        *([folder] if folder.is_dir() else []),
    ]
    there = scan_folder(*(places if thing.rows() else []))
    return thing, Context(there.found, SCALES[scale], folder, there.skipped)


def missing_steps(
    name: str, source: Path | str | None, out: Path | str, scale: str
) -> list[Step]:
    """The steps that `reproduce` with `run_missing` would carry out. Arguments and errors as there."""
    thing, context = _looked_for(name, source, out, scale)
    return steps_for_rows(thing.unfinished(context), context)


def steps_for_rows(missing: Sequence[PaperRow], context: Context) -> list[Step]:
    """The steps that make the missing rows, each once."""
    steps = [
        step
        for row in missing
        for step in steps_for(row, context.scale, context.folder)
    ]
    return [*{step.name: step for step in steps}.values()]
