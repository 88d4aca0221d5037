"""The comparison as a sheet: one row a table, one column a metric, before any format is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.escape import LONG, shortened
from randsmooth.metrics import Estimate
from randsmooth.report.sheet import baseline, naming
from randsmooth.report.sheet import soundness as checks
from randsmooth.report.sheet.ranking import Mark, marks

FACTS = ("sigma", "n", "alpha")
UNTOLD = "–"  # in the place of a figure that a table does not tell


@dataclass(frozen=True)
class Column:
    """One metric of every table.

    Attributes:
        title: what stands at its head.
        estimates: one a table; None where it does not tell.
        marks: one a table; empty marks where a column is not ranked.
        scale, decimals: a figure is printed as value * scale with so many decimals.
        beyond: the rows whose sigma, n and alpha certify no image there, whatever the classifier. Their estimate is 0
            by definition and measures nothing, so that a dash is printed; CSV and JSON keep the 0.
    """

    title: str
    estimates: Sequence[Estimate | None]
    marks: list[Mark]
    scale: float
    decimals: int
    beyond: frozenset[int] = frozenset()

    def figure(self, row: int) -> str:
        estimate = self._told(row)
        return _figure(estimate.value, self.scale, self.decimals) if estimate else UNTOLD

    def ends(self, row: int) -> tuple[str, ...]:
        """Both ends of the 95% interval, printed; none where the table does not tell."""
        estimate = self._told(row)
        return tuple(_figure(x, self.scale, self.decimals) for x in (estimate.low, estimate.high)) if estimate else ()

    def _told(self, row: int) -> Estimate | None:
        return None if row in self.beyond else self.estimates[row]


@dataclass(frozen=True)
class Ranked(Column):
    """A metric that every table tells, so that the tables are ranked by it."""

    estimates: Sequence[Estimate]


@dataclass(frozen=True)
class Sheet:
    """The tables under distinct names, their metrics, and which row is the baseline (None: no row is).

    `p_a` holds each table's shares of images with p_A >= some x; it is empty for a log that does not tell.
    `settings` marks each row with its sigma, n and alpha as far as the tables differ in them.
    """

    tables: list[Certificates]
    radii: list[float]
    baseline: int | None
    acr: Ranked
    accuracy: list[Ranked]
    abstention: Column
    p_a: list[dict[float, Estimate]]
    settings: list[str]
    remarks: list[str]

    @property
    def ranked(self) -> list[Ranked]:
        return [self.acr, *self.accuracy]

    @property
    def titles(self) -> list[str]:
        """Each row's name, with its settings where they differ."""
        marked = zip(self.tables, self.settings, strict=True)
        return [f"{table.name} ({setting})" if setting else table.name for table, setting in marked]

    @property
    def columns(self) -> list[Column]:
        return [*self.ranked, self.abstention]


def build(
    tables: Sequence[Certificates], radii: Sequence[float] | None = None, baseline_name: str | None = None
) -> Sheet:
    """Measure every table at `radii` (the usual ones when None).

    Raises:
        InputError: no table, a radius that makes no sense, an unknown baseline, or a table that is not sound:
            without images, with an image twice, with radii that its sigma, n and alpha cannot reach.
    """
    named = naming.distinct(tables)
    checks.require_sound(named)
    at = list(dict.fromkeys(metrics.usual_radii(named) if radii is None else radii))
    reference = baseline.find(named, baseline_name)
    summaries = [metrics.summarize(table, at) for table in named]
    return Sheet(
        named,
        at,
        reference,
        acr=_ranked("ACR", [s.acr for s in summaries], 1.0, 3, reference),
        accuracy=[
            _ranked(f"{r:g}", [s.accuracy[r] for s in summaries], 100.0, 1, reference, beyond(named, r)) for r in at
        ],
        abstention=Column("abstain", [s.abstention for s in summaries], [Mark()] * len(named), 100.0, 1),
        p_a=[s.p_a for s in summaries],
        settings=settings(named),
        remarks=remarks(named),
    )


def beyond(tables: Sequence[Certificates], r: float) -> frozenset[int]:
    """The rows of the tables that cannot certify `r`, whatever their classifier."""
    return frozenset(row for row, table in enumerate(tables) if not metrics.can_certify(table, r))


def _ranked(
    title: str,
    estimates: list[Estimate],
    scale: float,
    decimals: int,
    reference: int | None,
    beyond: frozenset[int] = frozenset(),
) -> Ranked:
    told = [row for row in range(len(estimates)) if row not in beyond]
    printed = [_figure(estimates[row].value, scale, decimals) for row in told]
    marked = dict(zip(told, marks(printed, told.index(reference) if reference in told else None), strict=True))
    everyone = [marked.get(row, Mark()) for row in range(len(estimates))]
    return Ranked(title, estimates, everyone, scale, decimals, beyond)


def _figure(value: float, scale: float, decimals: int) -> str:
    return f"{value * scale:.{decimals}f}"


def same_images(tables: Sequence[Certificates]) -> bool:
    """Whether all tables are about the same images in the same order."""
    try:
        for table in tables[1:]:
            metrics.require_same_images(tables[0], table)
            if metrics.differing_source(tables[0], table):
                return False
    except InputError:
        return False
    return True


def settings(tables: Sequence[Certificates]) -> list[str]:
    """For each table `sigma 0.5, n 1,000`, with those facts only in which the tables differ; mostly empty."""
    differing = [field for field in FACTS if len(_known(tables, field)) > 1]
    return [", ".join(f"{field} {_told(field, getattr(t.header, field))}" for field in differing) for t in tables]


def remarks(tables: Sequence[Certificates]) -> list[str]:
    """What a reader must know before comparing the rows: other images, other settings."""
    said = []
    if not same_images(tables):
        said.append(f"The tables are not about the same images: each row rests on all of its own, {_common(tables)}.")
    for field in FACTS:
        values = _known(tables, field)
        if len(values) > 1:
            said.append(f"The tables were made with different {field} ({', '.join(_told(field, v) for v in values)}).")
    judged = sorted({_judged(table) for table in tables} - {""})
    if len(judged) > 1:
        said.append(
            f"The tables were judged in different ways ({', '.join(judged)}), so that what differs between them is not "
            "the classifiers alone."
        )
    said += [_rule_remark(table) for table in tables if table.header.rule != "fixed" or table.header.label_aware]
    said += [f"{_named(names, tables)}: {note}." for note, names in notes(tables).items()]
    return [shortened(remark, LONG) for remark in said]


def _common(tables: Sequence[Certificates]) -> str:
    """How many images are in every table: those of one idx and label, where all tables are of one set and split."""
    for field, word in (("dataset", "data sets"), ("split", "splits")):
        values = sorted({getattr(table.header, field) for table in tables} - {None})
        if len(values) > 1 and any(metrics.differing_source(a, b) for a, b in combinations(tables, 2)):
            return f"and they are of different {word} ({', '.join(map(shortened, values))})"
    places = set.intersection(*(set(table.idx.tolist()) for table in tables))
    images = set.intersection(*(set(zip(table.idx.tolist(), table.label.tolist(), strict=True)) for table in tables))
    other = (
        f"; {len(places) - len(images):,} more have one idx but different labels" if len(places) > len(images) else ""
    )
    return f"{len(images):,} of which are in every table{other}"


def notes(tables: Sequence[Certificates]) -> dict[str, list[str]]:
    """What was inferred of logs or done to tables since, and the names of the tables that it is true of."""
    told: dict[str, list[str]] = {}
    for table in tables:
        for note in table.header.notes:
            told.setdefault(note, []).append(table.name)
    return told


def _named(names: Sequence[str], tables: Sequence[Certificates]) -> str:
    return "All tables" if len(names) == len(tables) > 1 else ", ".join(names)


def _known(tables: Sequence[Certificates], field: str) -> list[float]:
    return sorted({getattr(table.header, field) for table in tables} - {None})


def _told(field: str, value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,}" if field == "n" else f"{value:g}"


def _judged(table: Certificates) -> str:
    """The rule, or the bound of the fixed one; empty for a log, which does not say."""
    if table.is_log:
        return ""
    bound = table.header.bound if table.header.bound in ("two-sided", "randomised") else "Clopper-Pearson"
    return f"{bound} bound" if table.header.rule == "fixed" else f"--rule {table.header.rule}"


def _coarse(rule: str) -> str:
    """What figures of a rule that answers one question do not tell."""
    name, _, number = rule.partition("=")
    if name == "radius":
        return f"; it proves radius {number} or nothing, so that ACR and other radii are lower bounds"
    return "; its radii are those of the grid, so that ACR is a lower bound" if name == "grid" else ""


def _rule_remark(table: Certificates) -> str:
    """How many samples a table took that did not draw all of them, and what it does not tell therefore."""
    header = table.header
    untold = "" if metrics.knows_p_a(table) else "; p_A is not measured"
    aware = (
        "; samples stopped where the label was missed, so that abstention is not known: for evaluation only"
        if header.label_aware
        else ""
    )
    return (
        f"{table.name} was certified by --rule {header.rule} with {table.samples.mean():,.0f} samples an image on "
        f"average, of at most {(header.n0 or 0) + (header.n or 0):,}{_coarse(header.rule)}{untold}{aware}."
    )
