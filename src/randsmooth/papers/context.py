"""What a reproduction has to work with, and what it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from randsmooth.papers.agreement import EXACT, agreement, another_run
from randsmooth.papers.rows import Row, named
from randsmooth.papers.scale import Scale
from randsmooth.papers.source import Found, fitting
from randsmooth.report import Panel


@dataclass(frozen=True)
class Context:
    """Certificates and models at hand.

    Attributes:
        found: certificates. scale: of the models that are or would be made, in `folder`.
        skipped: files that could not be used, in sentences.
    """

    found: tuple[Found, ...]
    scale: Scale
    folder: Path
    skipped: tuple[str, ...] = ()

    def of(self, row: Row) -> Found | None:
        """The certificates of a row: of its preset if there are any; of several logs the first by `_rank`."""
        fit = self._fitting(row)
        return fit[0] if len(fit) == 1 else min(fit, key=lambda found: _rank(row, found), default=None)

    def lacks(self, row: Row) -> bool:
        """Whether there are no certificates of the row, or only a log of another run."""
        found = self.of(row)
        return found is None or another_run(row, found)

    def told(self, rows: Sequence[Row]) -> list[str]:
        """What was found out of the rows' logs or done to them, and where a row had more than one to choose from."""
        there = [(row, found) for row in rows if (found := self.of(row)) is not None]
        notes: dict[str, list[Row]] = {}
        for row, found in there:
            for note in found.table.header.notes:
                notes.setdefault(note, []).append(row)
        said = [f"{'all' if len(of) == len(there) > 1 else named(of)}: {note}" for note, of in notes.items()]
        return said + [note for row, found in there if (note := self._choice(row, found))]

    def _choice(self, row: Row, shown: Found) -> str:
        """Which other logs would have done, and whether the paper's figures are theirs."""
        others = [found for found in self._fitting(row) if found.log and found is not shown]
        if not shown.log or not others:
            return ""
        listed = ", ".join(f.path.name if f.path.parent == shown.path.parent else str(f.path) for f in others)
        nearer = min(others, key=lambda found: agreement(row, found).off)
        told = f"{named([row])}: {shown.path} is shown of {len(others) + 1} logs that fit; the others: {listed}"
        agreed = agreement(row, nearer)
        if agreed.off > agreement(row, shown).off - EXACT:
            return told
        return f"{told}; nearer to the paper is {nearer.path}, of which {len(agreed.large)} cells differ"

    def _fitting(self, row: Row) -> list[Found]:
        return fitting(self.found, self._datasets(row), row.sigma, row.method, row.preset)

    def trained(self, row: Row) -> bool:
        """Whether a run trained the row's model."""
        return (self.folder / self.scale.key(row) / "config.json").exists()

    def model(self, row: Row) -> Path | None:
        """The folder of a row's model, which lies beside its certificates and is called as they are."""
        found = self.of(row)
        beside = None if found is None else found.path.with_suffix("")
        own = self.folder / self.scale.key(row)
        return next((path for path in (own, beside) if path is not None and (path / "config.json").exists()), None)

    def _datasets(self, row: Row) -> Sequence[str]:
        return [self.scale.dataset] if self.scale.dataset else [row.dataset]


@dataclass
class Made:
    """What was made of an object: parts by name, "" for an object of one part.

    Attributes:
        tables: texts as a person reads them. data: the same for programs. panels: of a figure.
        notes: what must be said with it. under: those of the notes that stand below the tables in files too.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    data: dict[str, pd.DataFrame] = field(default_factory=dict)
    panels: dict[str, list[Panel]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    under: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Object:
    """A table or figure of a paper.

    Attributes:
        name: PAPER/OBJECT. title: what it shows.
        rows: the models that it is about; none for what formulas give.
        besides: more models that are shown where there are certificates of them.
        models: whether the models themselves are needed, not just their certificates.
        make: draws it from a context.
    """

    name: str
    title: str
    make: Callable[[Context, list[Row]], Made]
    rows: Callable[[], list[Row]] = list
    models: bool = False
    besides: Callable[[Context], list[Row]] = lambda context: []

    def missing(self, context: Context) -> list[Row]:
        """The rows that have no certificates of their own run, or no model where that is needed."""
        if self.models:
            return [row for row in self.rows() if context.model(row) is None]
        return [row for row in self.rows() if context.lacks(row)]

    def unfinished(self, context: Context) -> list[Row]:
        """The rows that a run has something left to do for: those missing, and models of its own not yet certified."""
        missing = self.missing(context)
        return [row for row in self.rows() if row in missing or (context.trained(row) and context.of(row) is None)]


def _rank(row: Row, found: Found) -> tuple[bool, bool, bool, float, bool, float]:
    """Least for the certificates to show: of the preset, not refuted on as many images, put by hand, then agreement.

    Few images agree with many a row by chance; so on other images than the row's a log does not come before one that
    was put there.
    """
    agreed = agreement(row, found)
    put = found.place is not None and found.place.put
    refuted = another_run(row, found) or not agreed.same_images
    return found.preset != row.preset, refuted, not put, agreed.share, not agreed.same_images, agreed.off
