"""The comparison as a sheet: one row a table, one column a metric, before any format is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.metrics import Estimate
from randsmooth.report import baseline, naming
from randsmooth.report.ranks import Mark, marks


@dataclass(frozen=True)
class Column:
    """One metric of every table.

    Attributes:
        title: what stands at its head.
        estimates: one a table.
        marks: one a table; empty marks where a column is not ranked.
        scale, decimals: a figure is printed as value * scale with so many decimals.
    """

    title: str
    estimates: list[Estimate]
    marks: list[Mark]
    scale: float
    decimals: int

    def figure(self, row: int) -> str:
        return _figure(self.estimates[row].value, self.scale, self.decimals)

    def ends(self, row: int) -> tuple[str, str]:
        """Both ends of the 95% interval, printed."""
        estimate = self.estimates[row]
        return (
            _figure(estimate.low, self.scale, self.decimals),
            _figure(estimate.high, self.scale, self.decimals),
        )


@dataclass(frozen=True)
class Sheet:
    """The tables under distinct names, their metrics, and which row is the baseline (None: no row is).

    `p_a` holds each table's shares of images with p_A >= some x; it is empty for a log that does not tell.
    """

    tables: list[Certificates]
    radii: list[float]
    baseline: int | None
    acr: Column
    accuracy: list[Column]
    abstention: Column
    p_a: list[dict[float, Estimate]]
    remarks: list[str]

    @property
    def ranked(self) -> list[Column]:
        return [self.acr, *self.accuracy]

    @property
    def columns(self) -> list[Column]:
        return [*self.ranked, self.abstention]


def build(
    tables: Sequence[Certificates], radii: Sequence[float] | None = None, baseline_name: str | None = None
) -> Sheet:
    """Measure every table at `radii` (the usual ones when None).

    Raises:
        InputError: no table, one without images, a radius that makes no sense, an unknown baseline.
    """
    named = naming.distinct(tables)
    at = list(dict.fromkeys(metrics.usual_radii(named) if radii is None else radii))
    reference = baseline.find(named, baseline_name)
    summaries = [metrics.summarize(table, at) for table in named]
    return Sheet(
        named,
        at,
        reference,
        acr=_ranked("ACR", [s.acr for s in summaries], 1.0, 3, reference),
        accuracy=[_ranked(f"{r:g}", [s.accuracy[r] for s in summaries], 100.0, 1, reference) for r in at],
        abstention=Column("abstain", [s.abstention for s in summaries], [Mark()] * len(named), 100.0, 1),
        p_a=[s.p_a for s in summaries],
        remarks=remarks(named),
    )


def _ranked(title: str, estimates: list[Estimate], scale: float, decimals: int, reference: int | None) -> Column:
    printed = [_figure(estimate.value, scale, decimals) for estimate in estimates]
    return Column(title, estimates, marks(printed, reference), scale, decimals)


def _figure(value: float, scale: float, decimals: int) -> str:
    return f"{value * scale:.{decimals}f}"


def same_images(tables: Sequence[Certificates]) -> bool:
    """Whether all tables are about the same images in the same order."""
    try:
        for table in tables[1:]:
            metrics.require_same_images(tables[0], table)
    except InputError:
        return False
    return True


def remarks(tables: Sequence[Certificates]) -> list[str]:
    """What a reader must know before comparing the rows: other images, other settings."""
    said = []
    if not same_images(tables):
        said.append("The tables are not about the same images, so their rows are not paired.")
    for field, symbol in (("sigma", "sigma"), ("n", "n"), ("alpha", "alpha")):
        values = {getattr(table.header, field) for table in tables} - {None}
        if len(values) > 1:
            listed = ", ".join(f"{value:,}" if field == "n" else f"{value:g}" for value in sorted(values))
            said.append(f"The tables were made with different {symbol} ({listed}).")
    return said + [_rule_remark(table) for table in tables if table.header.rule != "fixed" or table.header.label_aware]


def _rule_remark(table: Certificates) -> str:
    """How many samples a table took that did not draw all of them, and what it does not tell therefore."""
    header = table.header
    untold = "" if metrics.tells_p_a(table) else "; p_A is not measured"
    aware = "; samples stopped where the label was missed: for evaluation only" if header.label_aware else ""
    return (
        f"{table.name} was certified by --rule {header.rule} with {table.samples.mean():,.0f} samples an image on "
        f"average, of at most {(header.n0 or 0) + (header.n or 0):,}{untold}{aware}."
    )
