"""The sheet: what was measured of every table, a row each, and what a reader must know before comparing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from randsmooth import errors, metrics
from randsmooth.certificates import NO_LABEL, Certificates, name_images, require_reachable
from randsmooth.errors import InputError
from randsmooth.escape import LONG, printable, shortened
from randsmooth.metrics import Estimate
from randsmooth.rules import CONFIDENCE_BOUNDS

SETTINGS = ("sigma", "n", "alpha")
FOREIGN = "the counts are another program's; its noise, and how it picked the classes, could not be checked"
UNLABELLED = "the images have no labels, so that accuracy, ACR and p_A are not known"
OTHER_BOUNDS = CONFIDENCE_BOUNDS[1:]  # than Clopper-Pearson's


def differing_settings(tables: Sequence[Certificates]) -> list[str]:
    """For each table `sigma 0.5, n 1,000`: of the three settings those in which the tables differ, so often nothing."""
    differing = [field for field in SETTINGS if len(_values(tables, field)) > 1]
    return [", ".join(f"{field} {_printed(field, getattr(t.header, field))}" for field in differing) for t in tables]


def remarks(tables: Sequence[Certificates]) -> list[str]:
    """Sentences on what makes the tables hard to compare; none where they differ in their classifiers only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> def certified(sigma):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> remarks([certified(0.25), certified(0.5)])
        ['The tables were made with different sigma (0.25, 0.5).']
    """
    found = []
    if not same_images(tables):
        found.append(f"The tables are not about the same images: each row rests on all of its own, {_common(tables)}.")
    for field in SETTINGS:
        values = [_printed(field, value) for value in _values(tables, field)]
        if len(values) > 1:
            found.append(f"The tables were made with different {field} ({', '.join(values)}).")
    if len(sizes := {_size(table) for table in tables if not table.is_log and table.header.source is None}) > 1:
        found.append(f"Radii are of images of different sizes ({', '.join(sorted(sizes))}), and do not compare.")
    judged = sorted({_way_of_judging(table) for table in tables} - {""})
    if len(judged) > 1:
        found.append(
            f"The tables were judged in different ways ({', '.join(judged)}), so that what differs between them is not "
            "the classifiers alone."
        )
    facts = {
        UNLABELLED: [table.name for table in tables if not table.labelled],
        FOREIGN: [table.name for table in tables if table.header.source is not None],
    }
    found += [f"{_subject(names, tables)}: {fact}." for fact, names in facts.items() if names]
    found += [_rule_remark(table) for table in tables if table.header.rule != "fixed" or table.header.label_aware]
    noted: dict[str, list[str]] = {}
    for table in tables:
        for note in table.header.notes:
            noted.setdefault(note, []).append(table.name)
    found += [f"{_subject(names, tables)}: {note}." for note, names in noted.items()]
    return [shortened(remark, LONG) for remark in found]


def same_images(tables: Sequence[Certificates]) -> bool:
    """Whether all tables are about the same images in the same order."""
    try:
        for table in tables[1:]:
            metrics.require_same_images(tables[0], table)
    except InputError:
        return False
    return not any(metrics.differing_source(tables[0], table) for table in tables[1:])


def missing_settings(table: Certificates) -> list[str]:
    """Which of sigma, n and alpha a log must be given before its p_A is known; none for a table of counts."""
    if not table.is_log:
        return []
    return [field for field in SETTINGS if getattr(table.header, field) is None]


def _subject(names: Sequence[str], tables: Sequence[Certificates]) -> str:
    return "All tables" if len(names) == len(tables) > 1 else ", ".join(names)


def _common(tables: Sequence[Certificates]) -> str:
    """How many images are in every table: the same idx and label, where all tables are of one data set and split."""
    for field, word in (("dataset", "data sets"), ("split", "splits")):
        values = sorted({getattr(table.header, field) for table in tables} - {None})
        if len(values) > 1 and any(metrics.differing_source(a, b) for a, b in combinations(tables, 2)):
            return f"and they are of different {word} ({', '.join(map(shortened, values))})"
    places = set.intersection(*(set(table.idx.tolist()) for table in tables))
    images = set.intersection(*(set(zip(table.idx.tolist(), table.label.tolist(), strict=True)) for table in tables))
    relabelled = len(places) - len(images)
    other = f"; {relabelled:,} more have one idx but different labels" if relabelled else ""
    return f"{len(images):,} of which are in every table{other}"


def _size(table: Certificates) -> str:
    """How the images were fitted before noise was added."""
    asked = [f"{name} {size}" for name in ("resize", "crop") if (size := getattr(table.header, name)) is not None]
    return " ".join(asked) or "as stored"


def _values(tables: Sequence[Certificates], field: str) -> list[float]:
    return sorted({getattr(table.header, field) for table in tables} - {None})


def _printed(field: str, value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,}" if field == "n" else f"{value:g}"


def _way_of_judging(table: Certificates) -> str:
    """The rule, or the bound of the fixed one; empty for a log, which does not say."""
    if table.is_log:
        return ""
    bound = table.header.bound if table.header.bound in OTHER_BOUNDS else "Clopper-Pearson"
    return f"{bound} bound" if table.header.rule == "fixed" else f"--rule {table.header.rule}"


def _rule_remark(table: Certificates) -> str:
    """How many samples a table took whose rule may stop before n, and which figures it does not give therefore."""
    header = table.header
    no_p_a = "" if metrics.knows_p_a(table) else "; p_A is not measured"
    how = "samples stopped where the label was missed" if header.gives_up_others else "only the label was tested"
    aware = f"; {how}, so that abstention is not known: for evaluation only" if header.label_aware else ""
    return (
        f"{table.name} was certified by --rule {header.rule} with {table.samples.mean():,.0f} samples per image on "
        f"average, of at most {(header.n0 or 0) + (header.n or 0):,}{_lower_bounds(header.rule)}{no_p_a}{aware}."
    )


def _lower_bounds(rule: str) -> str:
    """Which figures are lower bounds under a rule that decides about particular radii only, or stops early."""
    name, _, number = rule.partition("=")
    return {
        "radius": f"; it proves radius {number} or nothing, so that ACR and other radii are lower bounds",
        "screen": f"; it proves radius {number} or nothing and leaves open what is not decided early, so that all "
        "figures are lower bounds",
        "grid": "; its radii are those of the grid, so that ACR is a lower bound",
        "dense": "; images stop where further samples gain little radius, so that ACR and accuracy are mostly below "
        "those of all samples",
    }.get(name, "")


UNKNOWN_FIGURE = "–"  # printed in place of a figure that a table does not give
BASELINE_METHOD = "gaussian"


class Mark(NamedTuple):
    """How one figure stands among those of its column."""

    best: bool = False
    second: bool = False
    below: bool = False


@dataclass(frozen=True)
class Column:
    """One metric of every table.

    Attributes:
        title: the column's head.
        estimates: one for each table; None where the table does not give the metric.
        figures: the estimates as printed, a dash for None and for a row in `out_of_reach`.
        ends: both ends of each 95% interval as printed; empty where `figures` has a dash.
        marks: one for each table; all empty in a column that is not ranked.
        out_of_reach: the rows whose rule, sigma, n and alpha certify no image at this radius, whatever the classifier.
            Their estimate is 0 by definition and measures nothing: tables print a dash, CSV and JSON keep the 0.
    """

    title: str
    estimates: Sequence[Estimate | None]
    figures: list[str]
    ends: list[tuple[str, ...]]
    marks: list[Mark]
    out_of_reach: frozenset[int] = frozenset()

    def ranked(self, baseline: int | None) -> Column:
        """The same with its figures marked as best, second best, and below that of the row `baseline`."""
        rows = [row for row, ends in enumerate(self.ends) if ends]
        marks = rank([self.figures[row] for row in rows], rows.index(baseline) if baseline in rows else None)
        by_row = dict(zip(rows, marks, strict=True))
        return replace(self, marks=[by_row.get(row, Mark()) for row in range(len(self.figures))])


def column(
    title: str,
    estimates: Sequence[Estimate | None],
    scale: float = 100.0,
    decimals: int = 1,
    out_of_reach: frozenset[int] = frozenset(),
) -> Column:
    """A column without marks; a figure is printed as value * scale with so many decimals."""
    known = [None if row in out_of_reach else estimate for row, estimate in enumerate(estimates)]
    figures = [f"{e.value * scale:.{decimals}f}" if e else UNKNOWN_FIGURE for e in known]
    ends = [tuple(f"{x * scale:.{decimals}f}" for x in (e.low, e.high)) if e else () for e in known]
    return Column(title, estimates, figures, ends, [Mark()] * len(figures), out_of_reach)


def rank(printed: Sequence[str], baseline: int | None) -> list[Mark]:
    """A mark for each printed figure of a column: the higher the better, and equal figures share a place.

    Figures are ranked as printed, so that a reader sees why. A single figure is not called best.

    Args:
        baseline: the place of the baseline's figure in `printed`; None: no figure is called below it.
    """
    figures = [float(text) for text in printed]
    first, second, *_ = [*sorted(set(figures), reverse=True), None, None] if len(figures) > 1 else (None, None)
    return [Mark(at == first, at == second, baseline is not None and at < figures[baseline]) for at in figures]


@dataclass(frozen=True)
class Sheet:
    """The tables, a row each, and their metrics, a column each.

    Attributes:
        tables: under distinct names.
        radii: of the certified accuracies, in pixels in [0, 1].
        baseline: the row that the others are compared with; None if there is none.
        acr, accuracy, abstention: the columns; `accuracy` has one for each radius. All but abstention are ranked.
        p_a: for each table, its shares of images with p_A >= x by x; empty where its p_A is not known.
        class_names: the name of each label that occurs in a table.
        settings: for each table its sigma, n and alpha, as far as the tables differ in them.
        missing_settings: for each table, which of sigma, n and alpha its p_A cannot be known without.
        remarks: sentences that a reader must know before comparing the rows.
    """

    tables: list[Certificates]
    radii: list[float]
    baseline: int | None
    acr: Column
    accuracy: list[Column]
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
    named = with_distinct_names(tables)
    _require_sound(named)
    at = list(dict.fromkeys(metrics.usual_radii(named) if radii is None else radii))
    row = find_baseline(named, baseline)
    summaries = [metrics.summarise(table, at) for table in named]

    def accuracy(r: float) -> Column:
        out_of_reach = frozenset(i for i, table in enumerate(named) if not metrics.can_certify(table, r))
        return column(f"{r:g}", [s.accuracy[r] for s in summaries], out_of_reach=out_of_reach).ranked(row)

    return Sheet(
        named,
        at,
        row,
        acr=column("ACR", [s.acr for s in summaries], 1.0, 3).ranked(row),
        accuracy=list(map(accuracy, at)),
        abstention=column("abstain", [s.abstention for s in summaries]),
        p_a=[s.p_a for s in summaries],
        class_names=_class_names(named),
        settings=differing_settings(named),
        missing_settings=[missing_settings(table) for table in named],
        remarks=remarks(named),
    )


def with_distinct_names(tables: Sequence[Certificates]) -> list[Certificates]:
    """The tables under printable names; the second of a name becomes `name (2)`, an empty one `table 3`.

    Raises:
        InputError: there is no table.
    """
    if not tables:
        raise InputError("there is no certificate table to report on; give at least one file")
    named: dict[str, Certificates] = {}
    for place, table in enumerate(tables, start=1):
        name = free = shortened(printable(table.name).strip()) or f"table {place}"
        number = 1
        while free in named:
            number += 1
            free = f"{name} ({number})"
        named[free] = table.renamed(free)
    return list(named.values())


def _require_sound(tables: Sequence[Certificates]) -> None:
    """Raise InputError for a table without images, with one twice, or with radii beyond its sigma, n and alpha."""
    for table in tables:
        if len(table) == 0:
            raise InputError(f"{table.name} holds no image, so there is nothing to report: leave it out")
        images, rows = np.unique(table.idx, return_counts=True)
        if len(repeated := images[rows > 1]):
            raise InputError(f"{table.name} has more than one row for {name_images(repeated)}; keep one row an image")
        require_reachable(table)


def find_baseline(tables: Sequence[Certificates], name: str | None = None) -> int | None:
    """The row of the table that the others are compared with; None if it is not clear which one that is.

    Without a `name` it is the only table whose header says that the method is gaussian, else the only one named
    gaussian, else the only one whose name contains the word. Where two tables qualify, neither is taken: a guess
    would mark the wrong figures.

    Raises:
        InputError: no table is called `name`.
    """
    names = [table.name for table in tables]
    if name is not None:
        if name not in names:
            raise errors.unknown("baseline", name, names)
        return names.index(name)
    by_method = [(table.header.model or {}).get("method") == BASELINE_METHOD for table in tables]
    by_name = [given.lower() == BASELINE_METHOD for given in names]
    by_part = [BASELINE_METHOD in given.lower() for given in names]
    for fits in (by_method, by_name, by_part):
        if any(fits):
            return fits.index(True) if sum(fits) == 1 else None
    return None


def _class_names(tables: Sequence[Certificates]) -> dict[int, str]:
    """The name of each label that occurs in a table, in ascending order of the labels."""
    labels = np.unique(np.concatenate([table.label for table in tables]))
    return {int(label): _class_name(tables, int(label)) for label in labels if label != NO_LABEL}


def _class_name(tables: Sequence[Certificates], label: int) -> str:
    """What the first header with class names calls it; `class 3` without one, or where that is empty or a number."""
    named = [t.header.classes for t in tables if t.header.classes and label < len(t.header.classes)]
    name = shortened(printable(named[0][label])) if named and named[0] else str(label)
    if not name.strip():
        return f"class {label}"
    return f"class {name}" if name.isdigit() else name
