"""The certificates and models that a reproduction can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth.papers.cell_comparison import EXACT, agreement_of, is_another_run
from randsmooth.papers.find_certificates import CertificateFile, certificates_for
from randsmooth.papers.rows import PaperRow, named
from randsmooth.papers.scales import Scale


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
        """The certificates to show for a row, the first by `_order` where several fit; None where none do."""
        fit = self._fitting(row)
        return fit[0] if len(fit) == 1 else min(fit, key=lambda found: _order(row, found), default=None)

    def lacks(self, row: PaperRow) -> bool:
        """Whether there are no certificates of the row, or only a log of another run."""
        found = self.certificates_of(row)
        return found is None or is_another_run(row, found)

    def notes_on(self, rows: Sequence[PaperRow]) -> list[str]:
        """What was inferred about the rows' logs or changed in them, and which rows had several logs to choose from."""
        shown = [(row, found) for row in rows if (found := self.certificates_of(row)) is not None]
        notes: dict[str, list[PaperRow]] = {}
        for row, found in shown:
            for note in found.table.header.notes:
                notes.setdefault(note, []).append(row)
        sentences = [
            f"{'all' if len(noted) == len(shown) > 1 else named(noted)}: {note}" for note, noted in notes.items()
        ]
        return sentences + [note for row, found in shown if (note := self._choice(row, found))]

    def _choice(self, row: PaperRow, shown: CertificateFile) -> str:
        """A note that names the other logs that fit the row, and says if one of them is closer to the paper."""
        others = [found for found in self._fitting(row) if found.log and found is not shown]
        if not shown.log or not others:
            return ""
        listed = ", ".join(f.path.name if f.path.parent == shown.path.parent else str(f.path) for f in others)
        nearer = min(others, key=lambda found: agreement_of(row, found).mean_error)
        choice = f"{named([row])}: {shown.path} is shown of {len(others) + 1} logs that fit; the others: {listed}"
        agreed = agreement_of(row, nearer)
        if agreed.mean_error > agreement_of(row, shown).mean_error - EXACT:
            return choice
        return f"{choice}; nearer to the paper is {nearer.path}, of which {len(agreed.unexplained)} cells differ"

    def _fitting(self, row: PaperRow) -> list[CertificateFile]:
        return certificates_for(self.found, self.scale.dataset_of(row), row.sigma, row.method, row.preset)

    def trained(self, row: PaperRow) -> bool:
        """Whether a run of `reproduce` has trained the row's model."""
        return (self.folder / self.scale.model_folder_name(row) / "config.json").exists()

    def model(self, row: PaperRow) -> Path | None:
        """The folder of a row's model: of a `reproduce` run, or the one beside the certificates with their name."""
        found = self.certificates_of(row)
        neighbour = None if found is None else found.path.with_suffix("")
        own = self.folder / self.scale.model_folder_name(row)
        return next((path for path in (own, neighbour) if path is not None and (path / "config.json").exists()), None)


def _order(row: PaperRow, found: CertificateFile) -> tuple[bool, bool, bool, bool, float, bool, float]:
    """The sorting key by which the certificates to show come first.

    First come those of the row's preset, then logs that are not refuted on equally many images, then logs that a user
    put at DATASET-sigmaSIGMA/METHOD.tsv, then those of at least half as many images, then those that agree best.
    Certificates of few images agree with many a row by chance: they come before neither of these.
    """
    agreed = agreement_of(row, found)
    put = found.place is not None and found.place.filed_by_user
    refuted = is_another_run(row, found) or not agreed.same_images
    few = 2 * len(found.table) < (row.images or 0)
    return found.preset != row.preset, refuted, not put, few, agreed.share, not agreed.same_images, agreed.mean_error
