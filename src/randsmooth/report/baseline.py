"""The baseline of a sheet: which table it is, and how every other compares with it."""

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
    """Return the row of the table that the others are compared with.

    Args:
        name: the name of the table. By default it is the table of Gaussian training
            (see `find_gaussian`) or, without one, the first of two tables, even if both
            are Gaussian: their difference is the same either way, but for its sign.

    Returns:
        The row; None where no name is given and none of these rules finds a table.

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
    """Return the row of the only table of Gaussian training.

    Three signs are tried in turn: a header whose method is "gaussian", the name
    "gaussian", and a name with that word in it. The first sign that any table has
    decides. Where several tables have it the answer is None, since a guess might judge
    all figures against the wrong table.
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
        reference: the row of the table that the others are paired with.
        doubted: name of a table -> why it is not to be paired. Where it has the
            reference, no table is paired.

    Returns:
        Row of another table -> the table and the reference on shared images; and name
        of a table that is not paired -> the reason.
    """
    pairs: dict[int, Pair] = {}
    refused: dict[str, str] = {}
    reasons = doubted or {}
    reference_name = tables[reference].name
    for row, table in enumerate(tables):
        if row == reference:
            continue
        # That tables have no images in common weighs more than a doubt, and is told.
        try:
            pair = metrics.pair(table, tables[reference])
        except Problem as reason:
            refused[table.name] = str(reason)
            continue
        if table.name in reasons:
            refused[table.name] = reasons[table.name]
        elif reference_name in reasons:
            refused[table.name] = f"{reference_name} is {reasons[reference_name]}"
        else:
            pairs[row] = pair
    return pairs, refused


@dataclass(frozen=True)
class AgainstBaseline:
    """The comparison of one table with the baseline, on the images that both have.

    Attributes:
        row: the row of the table in the sheet.
        comparison: the differences at every radius and in ACR, judged together with
            those of all other tables (see `metrics.compare`).
        points: the difference in certified accuracy at each of the sheet's radii; None
            where it cannot be compared.
        waterfall: the difference in ACR by the baseline's p_A; None where either is
            not known.
        given_up: the images that only one of the two certifies, at radius 0 and at the
            third radius of the sheet.
    """

    row: int
    comparison: Comparison
    points: list[Point | None]
    waterfall: Waterfall | None
    given_up: list[GivenUp]


@dataclass(frozen=True)
class BaselineComparisons:
    """The comparisons of every other table of a sheet with the baseline.

    Attributes:
        against: a comparison for each table that can be paired with the baseline.
        refused: name of a table that is not compared -> the reason.
    """

    against: list[AgainstBaseline]
    refused: dict[str, str]

    @property
    def scope(self) -> Scope | None:
        """Return the scope that all verdicts share; None where there are no verdicts."""
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
        radii: the radii of the sheet, at each of which a comparison has a point.
        doubted: name of a table -> why it is not to be judged.
        further_radii: radii that a comparison covers besides those of the sheet.
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
    """Return all that a sheet tells of one table and the baseline.

    Args:
        row: the row of the table.
        pair: the table and the baseline, on the images that both have.
        comparison: the comparison of these two.
        radii: the radii of the sheet.
    """
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
