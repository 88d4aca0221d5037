"""Which of the papers' tables a folder of certificates fills, such as a clone, and how well it agrees with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from randsmooth.papers.cell_comparison import (
    Agreement,
    CellComparison,
    agreement_of,
    compare_cells,
    is_another_run,
    tidy,
)
from randsmooth.papers.context import Context
from randsmooth.papers.find_certificates import CertificateFile, scan_folder
from randsmooth.papers.objects import OBJECTS, PaperObject
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.scales import SCALES


@dataclass(frozen=True)
class TableCoverage:
    """How far certificates fill one table of a paper.

    Attributes:
        object: the table.
        cells: its rows with the paper's figures and, where there are certificates, ours.
        agreed: how well the figures of each row agree; None where there are no certificates.
        other_runs: the rows of which there is only a log of another run.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("logs/cifar10-sigma0.5").mkdir(parents=True, exist_ok=True)
        >>> write_tsv(from_radii([0.0, 1.906, 1.906]), "logs/cifar10-sigma0.5/gaussian.tsv")
        >>> table = survey("logs").drawn[0]
        >>> table.object.name, len(table.filled), len(table.other_runs), len(table.missing)
        ('acr/table2', 1, 0, 20)
    """

    object: PaperObject
    cells: CellComparison
    agreed: tuple[Agreement | None, ...]
    other_runs: tuple[PaperRow, ...]

    @property
    def filled(self) -> list[PaperRow]:
        """The rows of which there are certificates of the run that is printed."""
        return [r for r, a in zip(self.cells.rows, self.agreed, strict=True) if a and r not in self.other_runs]

    @property
    def missing(self) -> list[PaperRow]:
        """The rows of which there are no certificates at all."""
        return [row for row, agreed in zip(self.cells.rows, self.agreed, strict=True) if agreed is None]

    @property
    def compared(self) -> int:
        """How many cells of the filled rows can be compared: not zeros that are out of reach."""
        return sum(len(agreed.differences) for agreed in self._agreements)

    @property
    def explained(self) -> int:
        """How many of these are as printed, to rounding and, on another number of images, chance."""
        return self.compared - sum(len(agreed.unexplained) for agreed in self._agreements)

    @property
    def _agreements(self) -> list[Agreement]:
        return [a for r, a in zip(self.cells.rows, self.agreed, strict=True) if a and r not in self.other_runs]


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
        return [table for table in self.tables if table.filled or table.other_runs]

    def frame(self) -> pd.DataFrame:
        """Every cell of these tables: the paper's figure, ours, and whether rounding or chance explains the difference.

        Columns as in `tidy`, with `object` before them and `explained` behind them, None where there is nothing to
        compare.
        """
        return pd.concat([_cells(table) for table in self.drawn] or [pd.DataFrame()], ignore_index=True)


def survey(source: Path | str) -> Survey:
    """Compare the certificates and logs below `source` with every table of the papers that certificates can fill.

    Raises:
        InputError: no such folder.

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
    tables = tuple(_coverage(thing, context) for thing in OBJECTS if _is_table(thing))
    used = {id(found) for table in tables for found in table.cells.found}
    unused = tuple(found for found in scan.found if id(found) not in used)
    return Survey(tables, scan.found, unused, scan.skipped)


def _is_table(thing: PaperObject) -> bool:
    """Whether it is a table whose cells certificates fill."""
    return "/table" in thing.name and not thing.needs_models and any(row.figures for row in thing.rows())


def _coverage(thing: PaperObject, context: Context) -> TableCoverage:
    rows = thing.rows()
    found = [context.certificates_of(row) for row in rows]
    pairs = list(zip(rows, found, strict=True))
    agreed = tuple(agreement_of(row, there) if there else None for row, there in pairs)
    others = tuple(row for row, there in pairs if there and is_another_run(row, there))
    return TableCoverage(thing, compare_cells(rows, found), agreed, others)


def _cells(table: TableCoverage) -> pd.DataFrame:
    frame = tidy(table.cells)
    explained = [
        None if agreed is None or metric not in agreed.differences else metric not in agreed.unexplained
        for agreed in table.agreed
        for metric in table.cells.metrics
    ]
    frame.insert(0, "object", table.object.name)
    return frame.assign(explained=pd.array(explained, "boolean"))


def kinds(files: Sequence[CertificateFile], most: int = 12) -> str:
    """What certificates are of, most frequent first: `smoothadv on cifar10 (37), gaussian on imagenet (7)`."""
    counts = Counter(f"{found.method} on {found.dataset}" for found in files).most_common()
    more = f" and {len(counts) - most} more kinds" if len(counts) > most else ""
    return ", ".join(f"{kind} ({count:,})" for kind, count in counts[:most]) + more
