"""The evidence for each row of a table or figure: its certificates and its model.

`gather` looks for all evidence in one pass. The drawing, the notes on it and the list of
missing rows follow from this evidence alone, and cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import metrics
from randsmooth.errors import check_known
from randsmooth.launch.step import Step
from randsmooth.papers.cell_comparison import (
    CellAgreement,
    CellComparison,
    agreement_of,
    compare_cells,
    lack,
)
from randsmooth.papers.checked_files import LabelsOf, scan_and_check
from randsmooth.papers.find_certificates import (
    CertificateFile,
    FolderScan,
    certificates_for,
)
from randsmooth.papers.objects import PaperObject
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.runs import SCALES, Scale, steps_for
from randsmooth.report.checks import CheckBlock

# The checks where no folder was searched.
NOTHING_CHECKED = CheckBlock(checks=(), failed={}, is_shown=False)

# Certificates of less than this share of a row's images come after those of more images.
FEW_IMAGES_SHARE = 0.5


@dataclass(frozen=True)
class RowEvidence:
    """The certificates and the model at hand for a row.

    Attributes:
        row: the row of the paper.
        agreement: the row beside the certificates to show for it; None where none fit.
        others: further certificates that fit the row.
        model: the folder of the row's model; None where there is none.
        lack: the reason why the row cannot be shown; empty where it can.
        steps: the steps that make the model and the certificates.
    """

    row: PaperRow
    agreement: CellAgreement | None
    others: tuple[CertificateFile, ...]
    model: Path | None
    lack: str
    steps: tuple[Step, ...]

    @property
    def found(self) -> CertificateFile | None:
        """Return the certificates to show for the row; None where none fit."""
        return None if self.agreement is None else self.agreement.file


@dataclass(frozen=True)
class ObjectEvidence:
    """The certificates and models at hand for a table or figure.

    Attributes:
        thing: the table or figure.
        rows: the evidence for each of its rows.
        further: the evidence for rows of other models with certificates, which are
            shown as well.
        scale: the size of the runs that make missing models and certificates.
        folder: the folder in which these runs put them.
        skipped: sentences on the files that could not be used.
        check_block: the checks of all certificates. Those that failed one are shown for
            no row, unless they were asked for anyway.

    Example:
        >>> from randsmooth.papers import find_object
        >>> evidence = gather(find_object("cat-rs/table7"), None, "here", "tiny")
        >>> len(evidence.rows), len(evidence.missing)
        (4, 4)
    """

    thing: PaperObject
    rows: tuple[RowEvidence, ...]
    further: tuple[RowEvidence, ...]
    scale: Scale
    folder: Path
    skipped: tuple[str, ...] = ()
    check_block: CheckBlock = NOTHING_CHECKED

    @property
    def missing(self) -> list[RowEvidence]:
        """Return the rows that cannot be shown, each for the reason `lack`."""
        return [of_row for of_row in self.rows if of_row.lack]

    @property
    def unfinished(self) -> list[RowEvidence]:
        """Return the rows for which runs have work left.

        These are the missing ones, and those whose model is not yet certified.
        """
        return [
            of_row
            for of_row in self.rows
            if of_row.lack or (of_row.model is not None and of_row.found is None)
        ]


def gather(
    thing: PaperObject,
    source: Path | str | None,
    out: Path | str,
    scale: str,
    *,
    labels_of: LabelsOf | None = None,
    anyway: bool = False,
) -> ObjectEvidence:
    """Look for certificates and models of each row of a table or figure.

    The arguments and errors are those of `reproduce`.
    """
    check_known("scale", SCALES, scale)
    size = SCALES[scale]
    folder = Path(out) / scale
    rows = thing.rows()
    scan = FolderScan()
    block = NOTHING_CHECKED
    # An object without rows follows from formulas alone: no folder is searched for it.
    if rows:
        folders = [Path(source)] if source is not None else []
        if folder.is_dir():
            folders.append(folder)
        scan, block = scan_and_check(folders, labels_of, anyway=anyway)
    certified = [(file.dataset, file.sigma, file.method) for file in scan.found]
    further_rows = thing.further_rows(certified)
    further = evidence_of(thing, further_rows, scan.found, size, folder)
    return ObjectEvidence(
        thing=thing,
        rows=tuple(evidence_of(thing, rows, scan.found, size, folder)),
        further=tuple(of_row for of_row in further if of_row.found is not None),
        scale=size,
        folder=folder,
        skipped=scan.skipped,
        check_block=block,
    )


def evidence_of(
    thing: PaperObject,
    rows: Sequence[PaperRow],
    files: Sequence[CertificateFile],
    scale: Scale,
    folder: Path,
) -> list[RowEvidence]:
    """Return the evidence for each row.

    Args:
        thing: the table or figure that shows the rows.
        rows: the rows.
        files: all certificates at hand.
        scale: the size of the runs that make models and certificates.
        folder: the folder in which these runs put them.
    """
    evidence = []
    for row in rows:
        fitting = certificates_for(files, row, scale.dataset_of(row))
        agreements = [agreement_of(row, file) for file in fitting]
        # Of several files that fit, the first in this order is shown.
        agreement = min(agreements, key=_order, default=None)
        shown = None if agreement is None else agreement.file
        steps = steps_for(row, scale, folder)
        model = _model_of(steps, shown)
        evidence.append(
            RowEvidence(
                row=row,
                agreement=agreement,
                others=tuple(file for file in fitting if file is not shown),
                model=model,
                lack=_lack(thing, agreement, model),
                steps=tuple(steps),
            )
        )
    return evidence


def _lack(
    thing: PaperObject, agreement: CellAgreement | None, model: Path | None
) -> str:
    """Return why a row cannot be shown in a table or figure; empty where it can."""
    if thing.needs_models:
        return "" if model is not None else "no model"
    reason = lack(agreement)
    if reason or not thing.needs_p_a:
        return reason
    assert agreement is not None, "a row without certificates lacks them"
    if not metrics.knows_p_a(agreement.file.table):
        return "certificates that do not tell p_A"
    return ""


def _model_of(steps: Sequence[Step], shown: CertificateFile | None) -> Path | None:
    """Return the folder of a row's model; None where there is none.

    Args:
        steps: the steps that make the model and its certificates.
        shown: the certificates to show for the row; None where none fit.
    """
    # Where two models are trained, the first is one that the training of the second
    # needs, such as a teacher.
    trained = [step.makes for step in steps if step.verb == "train"]
    folders = trained[-1:]
    if shown is not None:
        # Certificates lie beside their model's folder: NAME.parquet beside NAME.
        folders.append(shown.path.with_suffix(""))
    for folder in folders:
        if (folder / "config.json").exists():
            return folder
    return None


def _order(
    agreement: CellAgreement,
) -> tuple[bool, bool, bool, bool, float, bool, float]:
    """Return the sorting key by which the certificates to show come first.

    Of two keys the first elements that differ decide, and False comes before True.
    Certificates of few images agree with many a row by chance. That is why the number of
    images counts before the agreement.
    """
    row = agreement.row
    file = agreement.file
    is_refuted_or_on_other_images = agreement.another_run or not agreement.same_images
    is_filed_by_user = file.place is not None and file.place.filed_by_user
    # No number of images is small for a row without published figures.
    images_of_paper = row.images or 0
    has_few_images = len(file.table) < FEW_IMAGES_SHARE * images_of_paper
    return (
        file.preset != row.preset,
        is_refuted_or_on_other_images,
        not is_filed_by_user,
        has_few_images,
        # The share of cells with an unexplained difference.
        agreement.share,
        not agreement.same_images,
        agreement.mean_error,
    )


def compared(
    evidence: Sequence[RowEvidence], other_figures: Sequence[dict[str, float]] = ()
) -> CellComparison:
    """Compare rows with the certificates to show for them.

    Args:
        other_figures: for each row, our figures that do not follow from certificates.
    """
    rows = [of_row.row for of_row in evidence]
    files = [of_row.found for of_row in evidence]
    return compare_cells(rows, files, other_figures)


def certified(
    evidence: Sequence[RowEvidence],
) -> list[tuple[PaperRow, CertificateFile]]:
    """Return each row with certificates, and the certificates to show for it."""
    return [
        (of_row.row, of_row.found) for of_row in evidence if of_row.found is not None
    ]
