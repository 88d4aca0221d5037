"""What a reproduction has to work with, and what it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from randsmooth.papers.rows import Row
from randsmooth.papers.scale import Scale
from randsmooth.papers.source import Found, pick
from randsmooth.report import Panel


@dataclass(frozen=True)
class Context:
    """Certificates and models at hand.

    Attributes:
        found: certificates. scale: of the models that are or would be made, in `folder`.
    """

    found: tuple[Found, ...]
    scale: Scale
    folder: Path

    def of(self, row: Row) -> Found | None:
        """The certificates of a row."""
        return pick(self.found, self._datasets(row), row.sigma, row.method, row.preset)

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
        notes: what must be said with it.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    data: dict[str, pd.DataFrame] = field(default_factory=dict)
    panels: dict[str, list[Panel]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Object:
    """A table or figure of a paper.

    Attributes:
        name: PAPER/OBJECT. title: what it shows.
        rows: the models that it is about; none for what formulas give.
        models: whether the models themselves are needed, not just their certificates.
        make: draws it from a context.
    """

    name: str
    title: str
    make: Callable[[Context, list[Row]], Made]
    rows: Callable[[], list[Row]] = list
    models: bool = False

    def missing(self, context: Context) -> list[Row]:
        """The rows that have no certificates, or no model where that is needed."""
        there = context.model if self.models else context.of
        return [row for row in self.rows() if there(row) is None]
