"""The sheet: what was measured of every table, a row each, as it is printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import (
    NO_LABEL,
    Certificates,
    Header,
    require_reachable,
)
from randsmooth.errors import MissingValue, WrongTable
from randsmooth.escape import printable, shortened
from randsmooth.metrics import P_A_LEVELS, Estimate, Summary, UnknownProbabilities
from randsmooth.metrics.check_values import Check
from randsmooth.metrics.checks import check_tables
from randsmooth.noise import NORMS, Norm
from randsmooth.notes import Note
from randsmooth.number_text import half_up
from randsmooth.report.answer import Answer, answer, answer_radius
from randsmooth.report.baseline import (
    BaselineComparisons,
    compare_with_baseline,
    find_baseline,
)
from randsmooth.report.checks import CheckBlock, doubted_tables, worth_printing
from randsmooth.report.grouping import gathered
from randsmooth.report.printed import UNKNOWN_FIGURE, acr_decimals
from randsmooth.report.ranking_radius import RankingRadius
from randsmooth.report.remarks import remarks

# The last words for a setting that neither the table nor its header gives.
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class SheetColumn:
    """One metric of every table.

    Attributes:
        title: the column's head.
        figures: the metric of each table as printed: a dash where the table does not
            give it, and for a row in `out_of_reach`.
        ends: both ends of each 95% interval as printed; empty where `figures` has a
            dash.
        out_of_reach: the rows whose rule, noise, n and alpha certify no image at this
            radius, whatever the classifier. Their estimate is 0 by definition and
            measures nothing: tables print a dash, CSV and JSON keep the 0.
    """

    title: str
    figures: list[str]
    ends: list[tuple[str, ...]]
    out_of_reach: frozenset[int] = frozenset()


def column(
    title: str,
    estimates: Sequence[Estimate | None],
    scale: float = 100.0,
    decimals: int = 1,
    out_of_reach: frozenset[int] = frozenset(),
) -> SheetColumn:
    """Print estimates as multiples of `scale` with so many decimals, halves rounded up.

    Example:
        >>> column("0", [Estimate(6_465 / 10_000, 0.637, 0.656, 10_000)]).figures
        ['64.7']
    """
    figures: list[str] = []
    ends: list[tuple[str, ...]] = []
    for row, estimate in enumerate(estimates):
        if estimate is None or row in out_of_reach:
            figures.append(UNKNOWN_FIGURE)
            ends.append(())
            continue
        figures.append(half_up(estimate.value * scale, decimals))
        low = half_up(estimate.low * scale, decimals)
        high = half_up(estimate.high * scale, decimals)
        ends.append((low, high))
    return SheetColumn(title, figures, ends, out_of_reach)


@dataclass(frozen=True)
class Sheet:
    """The tables, a row each, and their metrics, a column each.

    Attributes:
        tables: the certificates, under distinct names.
        summaries: the metrics of each table.
        norm: the norm of all radii.
        radii: the radii of the certified accuracies, in units of that norm.
        baseline: the row that the others are compared with; None if there is none.
        acr, accuracy, abstention: the columns; `accuracy` has one for each radius.
        declined: the column of images certified as declined; None where no model may
            decline.
        class_names: the name of each label that occurs in a table.
        settings: for each table its noise, n and alpha, as far as the tables differ in
            them.
        shared: the settings that all tables share, and where to look for those in
            `settings`.
        remarks: the warnings that a reader needs before comparing the rows.
        checks: the checks of the tables, each with its facts.
        at: the radius of the answer; None where none was named and none follows.
        radii_asked: whether somebody named the radii, so that none is left out.
        anyway: whether tables that failed a check are judged, too.
    """

    tables: list[Certificates]
    summaries: list[Summary]
    norm: Norm
    radii: list[float]
    baseline: int | None
    acr: SheetColumn
    accuracy: list[SheetColumn]
    abstention: SheetColumn
    declined: SheetColumn | None
    class_names: dict[int, str]
    settings: list[str]
    shared: str
    remarks: list[Note]
    checks: list[Check]
    at: RankingRadius | None = None
    radii_asked: bool = False
    anyway: bool = False

    @cached_property
    def check_block(self) -> CheckBlock:
        """Return the checks as reports print them, and the tables that they doubt."""
        names = [table.name for table in self.tables]
        return CheckBlock(
            checks=self.checks,
            failed=doubted_tables(names, self.baseline, self.checks),
            anyway=self.anyway,
            is_shown=worth_printing(self.tables, self.checks),
        )

    @property
    def doubted(self) -> dict[str, str]:
        """Return why tables that failed a check are not judged, by their names."""
        return self.check_block.doubted

    @property
    def columns(self) -> list[SheetColumn]:
        """Return all columns, in the order in which they are printed."""
        return [self.acr, *self.accuracy, *self.unjudged]

    @property
    def unjudged(self) -> list[SheetColumn]:
        """Return the columns that no comparison judges: declined, if any, and abstention."""
        return [each for each in (self.declined, self.abstention) if each is not None]

    @property
    def p_a_levels(self) -> tuple[float, ...]:
        """Return the levels of p_A with a column; none where no table knows its p_A."""
        is_known = any(summary.p_a for summary in self.summaries)
        return P_A_LEVELS if is_known else ()

    @property
    def p_a_columns(self) -> list[SheetColumn]:
        """Return the columns of images with p_A of at least each of `p_a_levels`."""
        columns = []
        for level in self.p_a_levels:
            shares = [summary.p_a.get(level) for summary in self.summaries]
            columns.append(column(f"p_A>={level:g}", shares))
        return columns

    @property
    def without_p_a(self) -> dict[UnknownProbabilities, list[str]]:
        """Return why p_A is not known, and the remedy -> the names of such tables.

        Tables without labels are left out: no remedy gives them a p_A.
        """
        unknown = [
            (metrics.p_a_unknown(table), table.name)
            for table in self.tables
            if table.labelled
        ]
        return gathered((why, name) for why, name in unknown if why is not None)

    @property
    def titles(self) -> list[str]:
        """Return each table's name, with its settings where they differ."""
        titles = []
        for table, setting in zip(self.tables, self.settings, strict=True):
            titles.append(f"{table.name} ({setting})" if setting else table.name)
        return titles

    @cached_property
    def compared(self) -> BaselineComparisons:
        """Compare every other table with the baseline; empty without a baseline."""
        if self.baseline is None:
            return BaselineComparisons(against=[], refused={})
        # The answer takes its difference from these comparisons, too.
        further_radii = [] if self.at is None else [self.at.radius]
        return compare_with_baseline(
            self.baseline, self.tables, self.radii, self.doubted, further_radii
        )

    @cached_property
    def answer(self) -> Answer:
        """Answer which of the tables certifies most images at the radius `at`."""
        return answer(
            self.tables,
            self.titles,
            self.baseline,
            self.at,
            self.compared,
            self.doubted,
        )

    @property
    def shown(self) -> list[list[int]]:
        """Return the sign that is shown of each figure, at [row][column].

        The columns are `columns`. A sign is 1 or -1 where the figure is above or below the baseline's, else 0.
        The columns `unjudged` have 0. So has a row about other images than the baseline: its
        figures are not those that were compared.
        """
        no_signs = [0] * len(self.unjudged)
        shown = [[0] * len(self.columns) for _ in self.tables]
        for compared in self.compared.against:
            if not self._is_about_images_of_baseline(compared.row):
                continue
            at_radii = [
                0 if point is None else point.shown for point in compared.points
            ]
            # In the order of `columns`.
            acr_shown = compared.comparison.acr_shown
            shown[compared.row] = [acr_shown, *at_radii, *no_signs]
        return shown

    def _is_about_images_of_baseline(self, row: int) -> bool:
        """Return whether a table and the baseline are about the same images."""
        if self.baseline is None:
            return False
        own = self.tables[row].idx
        return np.array_equal(np.sort(own), np.sort(self.tables[self.baseline].idx))


def build_sheet(
    tables: Sequence[Certificates],
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    *,
    at: float | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> Sheet:
    """Measure every table.

    Args:
        radii: the radii of the certified accuracies; None for the usual ones.
        baseline: name of the table that the others are compared with; None looks for
            the Gaussian one.
        at: the radius of the answer; None for one sigma of the baseline.
        labels: the labels of data sets that are at hand, as for `check_tables`.
        anyway: whether to judge tables that failed a check, too.

    Raises:
        Problem: no table, a radius below 0 or not a number, an unknown baseline, or
            a table without images, or with radii that its noise, n and alpha cannot
            certify; radii in different norms.
    """
    named = with_distinct_names(tables)
    _require_sound(named)
    metrics.require_one_norm(named)
    norm = named[0].norm

    asked = metrics.usual_radii(named) if radii is None else radii
    # A radius that a user names twice has one column.
    at_radii = list(dict.fromkeys(asked))
    baseline_row = find_baseline(named, baseline)
    summaries = [metrics.summarise(table, at_radii) for table in named]

    acr = column(
        "ACR",
        [summary.acr for summary in summaries],
        scale=1.0,
        decimals=acr_decimals(norm),
    )
    accuracy = [
        column(
            f"{radius:g}",
            [summary.accuracy[radius] for summary in summaries],
            out_of_reach=out_of_reach(named, radius),
        )
        for radius in at_radii
    ]
    abstention = column("abstain", [summary.abstention for summary in summaries])
    declined = None
    if any(summary.declined is not None for summary in summaries):
        declined = column("declined", [summary.declined for summary in summaries])
    settings, shared = _settings(named)
    return Sheet(
        tables=named,
        summaries=summaries,
        norm=NORMS[norm],
        radii=at_radii,
        baseline=baseline_row,
        acr=acr,
        accuracy=accuracy,
        abstention=abstention,
        declined=declined,
        class_names=_class_names(named),
        settings=settings,
        shared=shared,
        remarks=remarks(named),
        checks=check_tables(named, labels),
        at=answer_radius(named, baseline_row, at),
        radii_asked=radii is not None,
        anyway=anyway,
    )


def out_of_reach(tables: Sequence[Certificates], radius: float) -> frozenset[int]:
    """Return the rows of tables that can certify no image at a radius.

    See `SheetColumn`.
    """
    return frozenset(
        row
        for row, table in enumerate(tables)
        if not metrics.can_certify(table, radius)
    )


def with_distinct_names(tables: Sequence[Certificates]) -> list[Certificates]:
    """Return the tables under printable names that differ.

    The second of a name becomes `name (2)`, one without a name `table 3`.

    Raises:
        Problem: there is no table.
    """
    if not tables:
        raise MissingValue(
            "there is no certificate table to report on; give at least one file",
            field="tables",
        )
    # Free name -> the table that has it.
    named: dict[str, Certificates] = {}
    for place, table in enumerate(tables, start=1):
        name = shortened(printable(table.name).strip()) or f"table {place}"
        free = name
        numbers = count(2)
        while free in named:
            free = f"{name} ({next(numbers)})"
        named[free] = table.renamed(free)
    return list(named.values())


def _require_sound(tables: Sequence[Certificates]) -> None:
    """Raise Problem for a table that cannot be reported on.

    It has no images, or radii beyond its noise, n and alpha.
    """
    for table in tables:
        if len(table) == 0:
            raise WrongTable(
                f"{table.name} holds no image, so there is nothing to report: "
                "leave it out"
            )
        require_reachable(table)


def _settings(tables: Sequence[Certificates]) -> tuple[list[str], str]:
    """Say for each table its noise, n and alpha where they differ; and what is shared."""
    headers = [table.header for table in tables]
    words_of_setting = {
        "noise": [_noise_words(header) for header in headers],
        "n": [_n_words(header) for header in headers],
        "alpha": [_alpha_words(header) for header in headers],
    }
    own: list[list[str]] = [[] for _ in tables]
    shared = []
    for name, words in words_of_setting.items():
        known = {each for each in words if not each.endswith(NOT_KNOWN)}
        if len(known) > 1:
            shared.append(f"{name} as beside each name")
            for row, each in enumerate(words):
                own[row].append(each)
        else:
            shared.append(" or ".join(dict.fromkeys(words)))
    return [", ".join(words) for words in own], ", ".join(shared)


def _noise_words(header: Header) -> str:
    if header.routing is not None:
        return header.noise_title
    if header.noise is None:
        return f"sigma {NOT_KNOWN}"
    return header.noise.title


def _n_words(header: Header) -> str:
    if header.routing is not None:
        return "n of each of its tables"
    if header.n is None:
        return f"n {NOT_KNOWN}"
    return f"n {header.n:,}"


def _alpha_words(header: Header) -> str:
    if header.alpha is None:
        return f"alpha {NOT_KNOWN}"
    if header.alpha == 0.0:
        return "certain"
    return f"alpha {header.alpha:g}"


def _class_names(tables: Sequence[Certificates]) -> dict[int, str]:
    """Name each label that occurs, ascending, by the first header with class names.

    A class without a name, or called by a number, is `class 3`.
    """
    labels = np.unique(np.concatenate([table.label for table in tables])).tolist()
    names = {}
    for label in labels:
        if label == NO_LABEL:
            continue
        name = _class_name(label, tables)
        names[label] = f"class {name}" if name.isdigit() else name
    return names


def _class_name(label: int, tables: Sequence[Certificates]) -> str:
    for table in tables:
        classes = table.header.classes
        if classes and 0 <= label < len(classes):
            name = classes[label]
            if name.strip():
                return shortened(printable(name))
            break
    return str(label)
