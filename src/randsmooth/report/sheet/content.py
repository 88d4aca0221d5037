"""The sheet: what was measured of every table, before a format or a page is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate
from randsmooth.report.sheet import columns, comparability, rows
from randsmooth.report.sheet.columns import Column, RankedColumn


@dataclass(frozen=True)
class Sheet:
    """The tables, a row each, and their metrics, a column each.

    Attributes:
        tables: under distinct names.
        radii: of the certified accuracies, in pixels in [0, 1].
        baseline: the row that the others are compared with; None if there is none.
        acr, accuracy, abstention: the columns; `accuracy` has one for each radius.
        p_a: for each table, its shares of images with p_A >= x by x; empty where its p_A is not known.
        class_names: the name of each label that occurs in a table.
        settings: for each table its sigma, n and alpha, as far as the tables differ in them.
        missing_settings: for each table, which of sigma, n and alpha its p_A cannot be known without.
        remarks: sentences that a reader must know before comparing the rows.
    """

    tables: list[Certificates]
    radii: list[float]
    baseline: int | None
    acr: RankedColumn
    accuracy: list[RankedColumn]
    abstention: Column
    p_a: list[dict[float, Estimate]]
    class_names: dict[int, str]
    settings: list[str]
    missing_settings: list[list[str]]
    remarks: list[str]

    @property
    def columns(self) -> list[Column]:
        """All columns, in the order that they are printed in."""
        return [self.acr, *self.accuracy, self.abstention]

    @property
    def titles(self) -> list[str]:
        """Each table's name, with its settings where they differ."""
        with_settings = zip(self.tables, self.settings, strict=True)
        return [f"{table.name} ({setting})" if setting else table.name for table, setting in with_settings]


def build_sheet(
    tables: Sequence[Certificates], radii: Sequence[float] | None = None, baseline: str | None = None
) -> Sheet:
    """Measure every table.

    Args:
        radii: of the certified accuracies; None for the usual ones.
        baseline: name of the table that the others are compared with; None looks for the Gaussian one.

    Raises:
        InputError: no table, a radius below 0 or not a number, an unknown baseline, or a table without images, with an
            image twice, or with radii that its sigma, n and alpha cannot certify.
    """
    named = rows.with_distinct_names(tables)
    rows.require_sound(named)
    at = list(dict.fromkeys(metrics.usual_radii(named) if radii is None else radii))
    row = rows.find_baseline(named, baseline)
    class_names = rows.class_names(named)
    summaries = [metrics.summarise(table, at) for table in named]
    return Sheet(
        named,
        at,
        row,
        acr=columns.ranked_column("ACR", [s.acr for s in summaries], 1.0, 3, row),
        accuracy=[
            columns.ranked_column(
                f"{r:g}", [s.accuracy[r] for s in summaries], 100.0, 1, row, columns.out_of_reach(named, r)
            )
            for r in at
        ],
        abstention=columns.plain_column("abstain", [s.abstention for s in summaries], 100.0, 1),
        p_a=[s.p_a for s in summaries],
        class_names=class_names,
        settings=comparability.settings(named),
        missing_settings=[comparability.missing_settings(table) for table in named],
        remarks=comparability.remarks(named),
    )
