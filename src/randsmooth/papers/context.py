"""What a reproduction has to work with, and what it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from randsmooth.papers.find_certificates import CertificateFile, certificates_for
from randsmooth.papers.row_agreement import EXACT, agreement_of, is_another_run
from randsmooth.papers.rows import PaperRow, named
from randsmooth.papers.scales import Scale
from randsmooth.report import Axes


@dataclass(frozen=True)
class Context:
    """Certificates and models at hand.

    Attributes:
        found: certificates. scale: of the models that are or would be made, in `folder`.
        skipped: files that could not be used, in sentences.
    """

    found: tuple[CertificateFile, ...]
    scale: Scale
    folder: Path
    skipped: tuple[str, ...] = ()

    def of(self, row: PaperRow) -> CertificateFile | None:
        """The certificates of a row: of its preset if there are any; of several logs the first by `_rank`."""
        fit = self._fitting(row)
        return fit[0] if len(fit) == 1 else min(fit, key=lambda found: _order(row, found), default=None)

    def lacks(self, row: PaperRow) -> bool:
        """Whether there are no certificates of the row, or only a log of another run."""
        found = self.of(row)
        return found is None or is_another_run(row, found)

    def told(self, rows: Sequence[PaperRow]) -> list[str]:
        """What was found out of the rows' logs or done to them, and where a row had more than one to choose from."""
        there = [(row, found) for row in rows if (found := self.of(row)) is not None]
        notes: dict[str, list[PaperRow]] = {}
        for row, found in there:
            for note in found.table.header.notes:
                notes.setdefault(note, []).append(row)
        said = [f"{'all' if len(of) == len(there) > 1 else named(of)}: {note}" for note, of in notes.items()]
        return said + [note for row, found in there if (note := self._choice(row, found))]

    def _choice(self, row: PaperRow, shown: CertificateFile) -> str:
        """Which other logs would have done, and whether the paper's figures are theirs."""
        others = [found for found in self._fitting(row) if found.log and found is not shown]
        if not shown.log or not others:
            return ""
        listed = ", ".join(f.path.name if f.path.parent == shown.path.parent else str(f.path) for f in others)
        nearer = min(others, key=lambda found: agreement_of(row, found).off)
        told = f"{named([row])}: {shown.path} is shown of {len(others) + 1} logs that fit; the others: {listed}"
        agreed = agreement_of(row, nearer)
        if agreed.off > agreement_of(row, shown).off - EXACT:
            return told
        return f"{told}; nearer to the paper is {nearer.path}, of which {len(agreed.large)} cells differ"

    def _fitting(self, row: PaperRow) -> list[CertificateFile]:
        return certificates_for(self.found, self._datasets(row), row.sigma, row.method, row.preset)

    def trained(self, row: PaperRow) -> bool:
        """Whether a run trained the row's model."""
        return (self.folder / self.scale.key(row) / "config.json").exists()

    def model(self, row: PaperRow) -> Path | None:
        """The folder of a row's model, which lies beside its certificates and is called as they are."""
        found = self.of(row)
        beside = None if found is None else found.path.with_suffix("")
        own = self.folder / self.scale.key(row)
        return next((path for path in (own, beside) if path is not None and (path / "config.json").exists()), None)

    def _datasets(self, row: PaperRow) -> Sequence[str]:
        return [self.scale.dataset] if self.scale.dataset else [row.dataset]


@dataclass
class Output:
    """What was made of an object: parts by name, "" for an object of one part.

    Attributes:
        tables: texts as a person reads them. data: the same for programs. panels: of a figure.
        notes: what must be said with it. under: those of the notes that stand below the tables in files too.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    data: dict[str, pd.DataFrame] = field(default_factory=dict)
    panels: dict[str, list[Axes]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    under: list[str] = field(default_factory=list)


def _order(row: PaperRow, found: CertificateFile) -> tuple[bool, bool, bool, float, bool, float]:
    """Least for the certificates to show: of the preset, not refuted on as many images, put by hand, then agreement.

    Few images agree with many a row by chance; so on other images than the row's a log does not come before one that
    was put there.
    """
    agreed = agreement_of(row, found)
    put = found.place is not None and found.place.put
    refuted = is_another_run(row, found) or not agreed.same_images
    return found.preset != row.preset, refuted, not put, agreed.share, not agreed.same_images, agreed.off
