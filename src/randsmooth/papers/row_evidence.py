"""The evidence for each row of a table or figure: its certificates and its model.

It is gathered in one pass. What is missing, what is drawn and what is told of it follow
from it alone.
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
from randsmooth.papers.find_certificates import (
    CertificateFile,
    FolderScan,
    certificates_for,
    scan_folder,
)
from randsmooth.papers.objects import PaperObject
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.runs import SCALES, Scale, steps_for

# Certificates of less than this share of a row's images are few.
FEW_IMAGES_SHARE = 0.5


@dataclass(frozen=True)
class RowEvidence:
    """The certificates and the model at hand for a row.

    Attributes:
        row: the row of the paper.
        agreement: the row beside the certificates to show for it; None where none fit.
        others: further certificates that fit.
        model: the folder of its model; None where there is none.
        lack: the reason why the row cannot be shown; empty where it can.
        steps: the steps that make its model and its certificates.
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
        further: the evidence for rows of other models, which are shown as well where
            they have certificates.
        scale: the size of the models that are made, or would be, in `folder`.
        skipped: a sentence for each file that could not be used.

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

    @property
    def missing(self) -> list[RowEvidence]:
        """Return the rows that cannot be shown.

        They are without certificates of their own run that tell enough; or without a
        model, where one is needed.
        """
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
    thing: PaperObject, source: Path | str | None, out: Path | str, scale: str
) -> ObjectEvidence:
    """Look for certificates and models of each row, in one pass.

    The arguments and errors are those of `reproduce`. Objects that follow from
    formulas alone need no certificates.
    """
    check_known("scale", SCALES, scale)
    size = SCALES[scale]
    folder = Path(out) / scale
    rows = thing.rows()
    scan = FolderScan()
    if rows:
        places = [Path(source)] if source is not None else []
        if folder.is_dir():
            places.append(folder)
        scan = scan_folder(*places)
    certified = [(found.dataset, found.sigma, found.method) for found in scan.found]
    further = thing.further_rows(certified)
    evidence = evidence_of(thing, [*rows, *further], scan.found, size, folder)
    others = [of_row for of_row in evidence[len(rows) :] if of_row.found is not None]
    return ObjectEvidence(
        thing=thing,
        rows=tuple(evidence[: len(rows)]),
        further=tuple(others),
        scale=size,
        folder=folder,
        skipped=scan.skipped,
    )


def evidence_of(
    thing: PaperObject,
    rows: Sequence[PaperRow],
    files: Sequence[CertificateFile],
    scale: Scale,
    folder: Path,
) -> list[RowEvidence]:
    """Gather what is at hand of each row.

    Args:
        thing: the table or figure that shows the rows.
        rows: the rows of the table or figure, or some of them.
        files: all certificates at hand.
        scale: the size of the models that are made, or would be, in `folder`.
    """
    evidence = []
    for row in rows:
        fitting = certificates_for(files, row, scale.dataset_of(row))
        agreements = [agreement_of(row, file) for file in fitting]
        # Of several that fit, the first in this order is shown.
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
    """Say why a row cannot be shown in a table or figure; empty where it can."""
    if thing.needs_models:
        return "" if model is not None else "no model"
    why = lack(agreement)
    if why or not thing.needs_p_a or agreement is None:
        return why
    if not metrics.knows_p_a(agreement.file.table):
        return "certificates that do not tell p_A"
    return ""


def _model_of(steps: Sequence[Step], shown: CertificateFile | None) -> Path | None:
    """Return the folder of a row's model; None where there is none.

    It is the one that the last step of training makes, or the one beside the
    certificates to show, with their name.
    """
    places = [step.makes for step in steps if step.verb == "train"][-1:]
    if shown is not None:
        places.append(shown.path.with_suffix(""))
    for place in places:
        if (place / "config.json").exists():
            return place
    return None


def _order(
    agreement: CellAgreement,
) -> tuple[bool, bool, bool, bool, float, bool, float]:
    """Return the sorting key by which the certificates to show come first.

    First come those of the row's preset, then logs that are not refuted on equally many
    images, then logs that a user put at DATASET-sigmaSIGMA/METHOD.tsv, then those of at
    least half as many images, then those that agree best. Certificates of few images
    agree with many a row by chance: they come before neither of these.
    """
    row = agreement.row
    found = agreement.file
    filed_by_user = found.place is not None and found.place.filed_by_user
    images = row.images or 0
    return (
        found.preset != row.preset,
        agreement.another_run or not agreement.same_images,
        not filed_by_user,
        len(found.table) < FEW_IMAGES_SHARE * images,
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
    """Return the rows that there are certificates of, with these."""
    return [
        (of_row.row, of_row.found) for of_row in evidence if of_row.found is not None
    ]
