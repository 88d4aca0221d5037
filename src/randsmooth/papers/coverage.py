"""Which rows of the papers' tables the certificates in a folder fill."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from randsmooth.escape import names_of
from randsmooth.papers.cell_comparison import (
    LACKS,
    CellComparison,
    DifferingCell,
    differing_cells,
    lack,
    tidy,
)
from randsmooth.papers.checked_files import LabelsOf, scan_and_check
from randsmooth.papers.find_certificates import CertificateFile, FolderScan
from randsmooth.papers.objects import OBJECTS, PaperObject
from randsmooth.papers.row_evidence import compared, evidence_of
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.runs import SCALES
from randsmooth.report.checks import CheckBlock
from randsmooth.report.grouping import gathered

# The most kinds of certificates that a sentence lists; of the others it gives the number.
MOST_KINDS = 12


@dataclass(frozen=True)
class TableCoverage:
    """How far certificates fill one table of a paper.

    Attributes:
        object: the table.
        cells: the rows of the table with the paper's figures and, where there are
            certificates, ours.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> log = "logs/cifar10-sigma0.5/gaussian.tsv"
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), log)
        >>> table = survey("logs").drawn[0]
        >>> table.object.name, len(table.filled), len(table.lacking["nothing at hand"])
        ('acr/table2', 1, 20)
    """

    object: PaperObject
    cells: CellComparison

    @property
    def filled(self) -> list[PaperRow]:
        """Return the rows whose certificates nothing shows to be of another run.

        The paper's figures in such a row may come from these very certificates. All
        other rows are in `lacking`.
        """
        return [agreement.row for agreement in self.cells.of_printed_runs]

    @property
    def lacking(self) -> dict[str, list[PaperRow]]:
        """Return each of LACKS, in that order -> the rows that it keeps unfilled."""
        rows_of_lack = gathered(
            (lack(agreement), row)
            for row, agreement in zip(
                self.cells.rows, self.cells.agreements, strict=True
            )
        )
        return {
            reason: rows_of_lack[reason] for reason in LACKS if reason in rows_of_lack
        }


@dataclass(frozen=True)
class Survey:
    """How far the certificates of a folder fill the tables of the papers.

    Attributes:
        tables: the coverage of each table that certificates can fill.
        files: all certificates of the folder whose data set, sigma and method are
            known.
        unused: those of `files` that are shown in no table: they fit no row, or another
            file fits better.
        skipped: a sentence for each reason for which files could not be used.
        check_block: the checks of all certificates. Those that failed one fill no row,
            unless they were asked for anyway.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> log = "logs/cifar10-sigma0.5/gaussian.tsv"
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), log)
        >>> result = survey("logs")
        >>> len(result.files), len(result.unused)
        (1, 0)
    """

    tables: tuple[TableCoverage, ...]
    files: tuple[CertificateFile, ...]
    unused: tuple[CertificateFile, ...]
    skipped: tuple[str, ...]
    check_block: CheckBlock

    @property
    def differing(self) -> list[DifferingCell]:
        """Return the cells that differ from the papers' for no known reason, worst first.

        A cell that several tables print is named once, for the first of them.
        """
        cells: dict[tuple[object, ...], DifferingCell] = {}
        for table in self.drawn:
            for cell in differing_cells(table.cells, table.object.name):
                row = cell.row
                run = (row.dataset, row.sigma, row.method, row.setting, row.paper)
                cells.setdefault((*run, cell.metric, cell.printed), cell)
        return sorted(cells.values(), key=lambda cell: -cell.roundings)

    @property
    def drawn(self) -> list[TableCoverage]:
        """Return the tables with certificates of at least one row."""
        return [table for table in self.tables if any(table.cells.agreements)]

    def frame(self) -> pd.DataFrame:
        """Return every cell of the tables `drawn`: the paper's figure and ours.

        The first column, "object", is the name of the table. The others are those of
        `cell_comparison.tidy`.
        """
        parts = [
            tidy(table.cells).assign(object=table.object.name) for table in self.drawn
        ]
        if not parts:
            return pd.DataFrame(columns=["object"])
        frame = pd.concat(parts, ignore_index=True)
        return frame[["object", *frame.columns.drop("object")]]


def survey(
    source: Path | str,
    *,
    labels_of: LabelsOf | None = None,
    anyway: bool = False,
) -> Survey:
    """Compare the certificates below a folder with every table that they can fill.

    Args:
        source: the folder.
        labels_of: returns the labels of the data sets of tables, where they are at hand,
            as `report.render` takes them.
        anyway: whether certificates that failed a check fill rows, too.

    Raises:
        Problem: no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> log = "logs/cifar10-sigma0.5/gaussian.tsv"
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), log)
        >>> [table.object.name for table in survey("logs").drawn]
        ['acr/table2', 'acr/table3', 'macer/table1', 'cat-rs/table2']
    """
    scan, block = scan_and_check([Path(source)], labels_of, anyway=anyway)
    # Only certificates that passed fill rows, and only these are told as unused: the
    # checks tell the rest.
    tables = tuple(
        TableCoverage(thing, _compared(thing, scan, Path(source)))
        for thing in OBJECTS
        if can_be_filled(thing)
    )
    used = {
        agreement.file.path
        for table in tables
        for agreement in table.cells.agreements
        if agreement is not None
    }
    unused = tuple(file for file in scan.found if file.path not in used)
    return Survey(tables, scan.found, unused, scan.skipped, block)


def _compared(thing: PaperObject, scan: FolderScan, folder: Path) -> CellComparison:
    """Compare the rows of a table with the certificates that a scan found."""
    # The scale "paper" looks for certificates on the data sets of the paper itself.
    evidence = evidence_of(
        thing, thing.rows(), files=scan.found, scale=SCALES["paper"], folder=folder
    )
    return compared(evidence)


def can_be_filled(thing: PaperObject) -> bool:
    """Return whether an object is a table with figures that certificates can give."""
    is_table = "/table" in thing.name and not thing.needs_models
    return is_table and any(row.figures for row in thing.rows())


def kinds_in_words(files: Sequence[CertificateFile]) -> str:
    """Return the methods and data sets of files in words, the most frequent pair first.

    The number of files stands in brackets: `smoothadv on cifar10 (37), gaussian on
    imagenet (7)`.
    """
    counts = Counter(f"{file.method} on {file.dataset}" for file in files)
    listed = [f"{kind} ({count:,})" for kind, count in counts.most_common()]
    return names_of(listed, most=MOST_KINDS)
