"""The baseline of a sheet: which table it is, and every other table against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from randsmooth import errors, metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import Problem
from randsmooth.metrics import Comparison, GivenUp, Point, Scope, Waterfall

# The method of the table that others are compared with, unless a user names one.
BASELINE_METHOD = "gaussian"

Pair = tuple[Certificates, Certificates]


def find_baseline(
    tables: Sequence[Certificates], name: str | None = None
) -> int | None:
    """Find the row of the table that the others are compared with.

    Without a `name` it is the Gaussian one (see `find_gaussian`), or the first of two.
    The answer is None if it is not clear which one that is.

    Raises:
        Problem: no table is called `name`.
    """
    if name is not None:
        names = [table.name for table in tables]
        if name not in names:
            raise errors.unknown("baseline", name, names)
        return names.index(name)
    gaussian = find_gaussian(tables)
    if gaussian is None and len(tables) == 2:
        return 0
    return gaussian


def find_gaussian(tables: Sequence[Certificates]) -> int | None:
    """Find the row of the one table of Gaussian training.

    It is the only table whose header says that the method is gaussian, else the only
    one that is named gaussian, else the only one whose name contains the word. The
    answer is None where several qualify: a guess would mark the wrong figures.
    """
    by_method = [
        (table.header.model or {}).get("method") == BASELINE_METHOD for table in tables
    ]
    by_name = [table.name.lower() == BASELINE_METHOD for table in tables]
    by_part = [BASELINE_METHOD in table.name.lower() for table in tables]
    for qualifies in (by_method, by_name, by_part):
        if any(qualifies):
            return qualifies.index(True) if sum(qualifies) == 1 else None
    return None


def paired_with(
    reference: int,
    tables: Sequence[Certificates],
    doubted: Mapping[str, str] | None = None,
) -> tuple[dict[int, Pair], dict[str, str]]:
    """Pair each other table with the one in row `reference`, on the images of both.

    Args:
        doubted: why tables are not to be paired, by their names; where the reference is
            among them, its reason is that of all.

    Returns:
        The pairs by the row of the other table; and why the tables that cannot be
        paired cannot, by their names.
    """
    pairs: dict[int, Pair] = {}
    refused: dict[str, str] = {}
    reasons = doubted or {}
    name = tables[reference].name
    for row, table in enumerate(tables):
        if row == reference:
            continue
        try:
            pair = metrics.pair(table, tables[reference])
        except Problem as reason:
            refused[table.name] = str(reason)
            continue
        if table.name in reasons:
            refused[table.name] = reasons[table.name]
        elif name in reasons:
            refused[table.name] = f"{name} is {reasons[name]}"
        else:
            pairs[row] = pair
    return pairs, refused


@dataclass(frozen=True)
class AgainstBaseline:
    """One table against the baseline, on the images that both have.

    Attributes:
        row: the row of the table in the sheet.
        comparison: the differences at every radius and in ACR, judged together with
            those of all other tables (see `metrics.compare`).
        points: the difference in certified accuracy at each of the sheet's radii; None
            where it cannot be compared.
        waterfall: the difference in ACR by the baseline's p_A; None where either is
            not known.
        given_up: the images that changed hands at radius 0 and at the third radius of
            the sheet.
    """

    row: int
    comparison: Comparison
    points: list[Point | None]
    waterfall: Waterfall | None
    given_up: list[GivenUp]


@dataclass(frozen=True)
class BaselineComparisons:
    """Every other table of a sheet against its baseline.

    Attributes:
        against: a comparison for each table that can be paired with the baseline.
        refused: why the other tables cannot be paired, by the name of the table.
    """

    against: list[AgainstBaseline]
    refused: dict[str, str]

    @property
    def scope(self) -> Scope | None:
        """Return the scope that all verdicts share; None where there are none."""
        if not self.against:
            return None
        # All comparisons were judged together, so they share one scope.
        return self.against[0].comparison.scope


def compare_with_baseline(
    baseline: int,
    tables: Sequence[Certificates],
    radii: Sequence[float],
    doubted: Mapping[str, str] | None = None,
    further_radii: Sequence[float] = (),
) -> BaselineComparisons:
    """Compare every table that can be paired with the baseline, all judged together.

    Args:
        baseline: the row of the baseline.
        tables: the tables, under distinct names.
        radii: the radii that each comparison has a point at.
        doubted: why tables are not to be judged, by their names.
        further_radii: radii that comparisons include beside them.
    """
    pairs, refused = paired_with(baseline, tables, doubted)
    comparisons = metrics.compare(list(pairs.values()), [*radii, *further_radii])
    against = []
    for (row, pair), comparison in zip(pairs.items(), comparisons, strict=True):
        against.append(_against(row, pair, comparison, radii))
    return BaselineComparisons(against, refused)


def _against(
    row: int, pair: Pair, comparison: Comparison, radii: Sequence[float]
) -> AgainstBaseline:
    table, baseline = pair
    waterfall = None
    if comparison.acr is not None and metrics.knows_p_a(baseline):
        waterfall = metrics.waterfall(table, baseline)
    # At radius 0 and at the third radius, or the last where there are fewer.
    shown_radii = dict.fromkeys([0.0, *radii[:3][-1:]])
    return AgainstBaseline(
        row=row,
        comparison=comparison,
        points=[comparison.at(radius) for radius in radii],
        waterfall=waterfall,
        given_up=[metrics.given_up(table, baseline, radius) for radius in shown_radii],
    )
