"""The cells of the papers' tables that certificates fill, of one table or of all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from randsmooth.certificates.files import names_of
from randsmooth.papers.cell_comparison import LACKS, CellComparison, lack, tidy
from randsmooth.papers.find_certificates import CertificateFile, FolderScan, scan_folder
from randsmooth.papers.objects import OBJECTS, PaperObject
from randsmooth.papers.row_evidence import compared, evidence_of
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.runs import SCALES
from randsmooth.report.grouping import gathered

# Kinds of certificates that a sentence lists; further ones are left out.
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
        """Return the rows with certificates of the printed run."""
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
    """The cells that a folder fills, of all tables.

    Attributes:
        tables: the coverage of each table of the papers.
        files: all certificates of the folder whose data set, sigma and method are
            known.
        unused: the certificates that fit no row of a table.
        skipped: a sentence for each reason for which files could not be used.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> log = "logs/cifar10-sigma0.5/gaussian.tsv"
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), log)
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
        """Return the tables with certificates of at least one row."""
        return [table for table in self.tables if any(table.cells.agreements)]

    def frame(self) -> pd.DataFrame:
        """Return every cell of these tables: the paper's figure and ours.

        Columns are as in `tidy`, with `object` before them; `explained` is None where
        there is nothing to compare.
        """
        parts = [
            tidy(table.cells).assign(object=table.object.name) for table in self.drawn
        ]
        if not parts:
            return pd.DataFrame(columns=["object"])
        frame = pd.concat(parts, ignore_index=True)
        return frame[["object", *frame.columns.drop("object")]]


def survey(source: Path | str) -> Survey:
    """Compare the certificates below a folder with every table that they can fill.

    Raises:
        Problem: no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> log = "logs/cifar10-sigma0.5/gaussian.tsv"
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), log)
        >>> found = survey("logs")
        >>> [table.object.name for table in found.drawn]
        ['acr/table2', 'acr/table3', 'macer/table1', 'cat-rs/table2']
    """
    scan = scan_folder(Path(source))
    tables = tuple(
        TableCoverage(thing, _compared(thing, scan, Path(source)))
        for thing in OBJECTS
        if is_filled_table(thing)
    )
    used = {
        id(agreement.file)
        for table in tables
        for agreement in table.cells.agreements
        if agreement is not None
    }
    unused = tuple(found for found in scan.found if id(found) not in used)
    return Survey(tables, scan.found, unused, scan.skipped)


def _compared(thing: PaperObject, scan: FolderScan, folder: Path) -> CellComparison:
    """Compare the rows of a table with the certificates that a scan found."""
    rows = thing.rows()
    evidence = evidence_of(thing, rows, scan.found, SCALES["paper"], folder)
    return compared(evidence)


def is_filled_table(thing: PaperObject) -> bool:
    """Return whether it is a table with cells that certificates fill."""
    is_table = "/table" in thing.name and not thing.needs_models
    return is_table and any(row.figures for row in thing.rows())


def kinds(files: Sequence[CertificateFile]) -> str:
    """Name the kinds of certificates, most frequent first.

    As in `smoothadv on cifar10 (37), gaussian on imagenet (7)`.
    """
    counts = Counter(f"{found.method} on {found.dataset}" for found in files)
    listed = [f"{kind} ({count:,})" for kind, count in counts.most_common()]
    return names_of(listed, MOST_KINDS)
