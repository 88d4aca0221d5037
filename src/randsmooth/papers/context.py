"""What a reproduction works with: the certificates and the models at hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import metrics
from randsmooth.papers.cell_comparison import (
    CellComparison,
    agreement_of,
    compare_cells,
    lack,
)
from randsmooth.papers.find_certificates import CertificateFile, certificates_for
from randsmooth.papers.objects import PaperObject
from randsmooth.papers.rows import PaperRow, named
from randsmooth.papers.runs import Scale
from randsmooth.report.grouping import gathered

# Certificates of less than this share of a row's images are few.
FEW_IMAGES_SHARE = 0.5


@dataclass(frozen=True)
class Context:
    """The certificates and models at hand.

    Attributes:
        found: the certificate files.
        scale: the size of the models that are made, or would be, in `folder`.
        skipped: a sentence for each file that could not be used.
    """

    found: tuple[CertificateFile, ...]
    scale: Scale
    folder: Path
    skipped: tuple[str, ...] = ()

    def certificates_of(self, row: PaperRow) -> CertificateFile | None:
        """Return the certificates to show for a row; None where none fit.

        Where several fit, the first by `_order` is shown.
        """
        fitting = self._fitting(row)
        if len(fitting) < 2:  # nothing has to be judged
            return fitting[0] if fitting else None
        return min(fitting, key=lambda found: _order(row, found))

    def model(self, row: PaperRow) -> Path | None:
        """Return the folder of a row's model.

        It is that of a `reproduce` run, or the one beside the certificates with their
        name.
        """
        places = [self.folder / self.scale.model_folder_name(row)]
        found = self.certificates_of(row)
        if found is not None:
            places.append(found.path.with_suffix(""))
        for place in places:
            if (place / "config.json").exists():
                return place
        return None

    def compared(
        self, rows: Sequence[PaperRow], beyond: Sequence[dict[str, float]] = ()
    ) -> CellComparison:
        """Compare the rows with the certificates to show for them.

        Args:
            beyond: of each row, what is known beyond its certificates.
        """
        return compare_cells(rows, [self.certificates_of(row) for row in rows], beyond)

    def lack(self, row: PaperRow, *, p_a: bool = False) -> str:
        """Say why the certificates at hand are not enough for the row.

        It may need p_A. The answer is empty where they are enough.
        """
        found = self.certificates_of(row)
        if found is None:
            return lack(None)
        why = lack(agreement_of(row, found))
        if not why and p_a and not metrics.knows_p_a(found.table):
            return "certificates that do not tell p_A"
        return why

    def lack_of(self, thing: PaperObject, row: PaperRow) -> str:
        """Say why a row of a table or figure cannot be shown; empty where it can."""
        if thing.needs_models:
            return "" if self.model(row) is not None else "no model"
        return self.lack(row, p_a=thing.needs_p_a)

    def missing(self, thing: PaperObject) -> list[PaperRow]:
        """Return the rows without certificates of their own run that tell enough.

        Or without a model, where one is needed.
        """
        return [row for row in thing.rows() if self.lack_of(thing, row)]

    def unfinished(self, thing: PaperObject) -> list[PaperRow]:
        """Return the rows for which runs have work left.

        These are the missing ones, and models of its own not yet certified.
        """
        return [
            row
            for row in thing.rows()
            if self.lack_of(thing, row) or self._uncertified(row)
        ]

    def _uncertified(self, row: PaperRow) -> bool:
        return self.model(row) is not None and self.certificates_of(row) is None

    def more_rows(self, thing: PaperObject) -> list[PaperRow]:
        """Return rows of other models, which are shown as there are certificates."""
        certified = [(found.dataset, found.sigma, found.method) for found in self.found]
        return [
            row
            for row in thing.further_rows(certified)
            if self.certificates_of(row) is not None
        ]

    def notes_on(self, rows: Sequence[PaperRow]) -> list[str]:
        """Say what was inferred about the rows' logs or changed in them.

        And which rows had several logs to choose from.
        """
        shown = self.shown(rows)
        rows_of_note = gathered(
            (_in_short(note, row), row)
            for row, found in shown
            for note in found.table.header.notes
        )
        sentences = []
        for note, noted in rows_of_note.items():
            which = named(noted)
            if len(noted) == len(shown) > 1:
                which = "all"
            sentences.append(f"{which}: {note}")
        for row, found in shown:
            sentences += self._choice(row, found)
        return sentences

    def shown(self, rows: Sequence[PaperRow]) -> list[tuple[PaperRow, CertificateFile]]:
        """Return the rows that there are certificates of, with these."""
        shown = []
        for row in rows:
            found = self.certificates_of(row)
            if found is not None:
                shown.append((row, found))
        return shown

    def _choice(self, row: PaperRow, shown: CertificateFile) -> Iterator[str]:
        """Say which table is shown, and which others fit the row.

        Of a row's only log nothing is said.
        """
        others = [found for found in self._fitting(row) if found is not shown]
        if shown.log and not others:
            return
        sentence = f"{named([row])}: {shown.path} is shown"
        if others:
            names = ", ".join(_short_path(found, shown) for found in others)
            sentence += f" of {len(others) + 1} files that fit; the others: {names}"
        yield sentence

    def _fitting(self, row: PaperRow) -> list[CertificateFile]:
        return certificates_for(self.found, row, self.scale.dataset_of(row))


def _short_path(found: CertificateFile, shown: CertificateFile) -> str:
    """Name a file; one in the same folder as another without the folder."""
    if found.path.parent == shown.path.parent:
        return found.path.name
    return str(found.path)


def _in_short(note: str, row: PaperRow) -> str:
    """Return the note without what the row's name says: one then serves many rows."""
    facts = f"sigma {row.sigma:g}, data set {row.dataset}, method {row.method}"
    return note.replace(f"{facts} as", "sigma, data set and method as")


def _order(
    row: PaperRow, found: CertificateFile
) -> tuple[bool, bool, bool, bool, float, bool, float]:
    """Return the sorting key by which the certificates to show come first.

    First come those of the row's preset, then logs that are not refuted on equally many
    images, then logs that a user put at DATASET-sigmaSIGMA/METHOD.tsv, then those of at
    least half as many images, then those that agree best. Certificates of few images
    agree with many a row by chance: they come before neither of these.
    """
    agreement = agreement_of(row, found)
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
