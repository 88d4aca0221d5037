"""What can be checked of tables before they are judged: each check passes, fails, or cannot be told.

A check that passes shows no fault of one kind, and proves no honesty. What no check sees:
a few wrong images that were made right, and radii that were raised by little below the
largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.certificates.logs.budgets import ROUNDED, Budget, possible_budgets
from randsmooth.certificates.logs.released import find_released, same_order
from randsmooth.metrics.intervals import Ints
from randsmooth.metrics.pairing import differing_source
from randsmooth.noise import Gaussian

State = Literal["passed", "failed", "unknown"]

PASSED: State = "passed"
FAILED: State = "failed"
UNKNOWN: State = "unknown"

# The sigmas that logs of the field are certified at.
USUAL_SIGMAS = (0.12, 0.125, 0.25, 0.5, 1.0)

# Images of one class whose radii two models order alike: about 0.8 to 0.95 in released
# logs, and 0 where results were exchanged between images.
LEAST_CORRELATION = 0.4

# The fewest images of a class, and of all classes, from which a correlation is taken.
FEWEST_OF_A_CLASS = 20
FEWEST_IMAGES = 200

# Radii of this share of the largest or more are at the end of what n and alpha certify,
# where they say nothing about the order.
SHARE_AT_THE_END = 0.99

WORDING: dict[tuple[str, State], str] = {
    ("rows", PASSED): "each image has one row",
    (
        "rows",
        FAILED,
    ): "{table}: image {image} has {times} rows, one of {number:,} duplicates",
    ("rows", UNKNOWN): "{table} does not say which image a row is about",
    ("images", PASSED): "all tables are about the same {number:,} images",
    (
        "images",
        FAILED,
    ): "{b} lacks {missing_in_b:,} images of {a}, and {a} lacks {missing_in_a:,} of {b}",
    ("labels", PASSED): "the tables agree on the label of every image that they share",
    (
        "labels",
        FAILED,
    ): "{number:,} of {shared:,} shared images have another label in {a} than in {b}",
    ("labels_of_data", PASSED): "{table}: labels are those of the data set",
    (
        "labels_of_data",
        FAILED,
    ): "{table}: {number:,} of {images:,} labels are not those of the data set",
    (
        "labels_of_data",
        UNKNOWN,
    ): "{table}: the data set is not at hand to compare labels with",
    (
        "radii",
        PASSED,
    ): "{table}: every radius is possible with n={n:,} and alpha={alpha:g}{origin}",
    ("radii", FAILED): (
        "{table}: {number:,} radii, up to {largest:.4g}, are beyond {possible:.4g}, the most that "
        "n={n:,} and alpha={alpha:g}{origin} certify at sigma={sigma:g}"
    ),
    (
        "radii",
        UNKNOWN,
    ): "{table}: it is unknown with which sigma, n and alpha it was certified",
    ("sigma", PASSED): "{table}: its largest radii are those of sigma={sigma:g}",
    ("sigma", FAILED): (
        "{table}: its largest radii, {largest:.4g}, are those of sigma={implied:g}, and not of sigma={sigma:g}"
    ),
    (
        "sigma",
        UNKNOWN,
    ): "{table}: its largest radii do not say at which sigma it was certified",
    ("copies", PASSED): "no table is a copy of another",
    ("copies", FAILED): "{b} is a copy of {a}: all answers and radii are equal",
    (
        "derived",
        FAILED,
    ): "{b} comes from {a}: all {shared:,} answers are equal, and the radii have the same order",
    (
        "order",
        PASSED,
    ): "images of a class have alike radii in {a} and {b} (rank correlation {correlation:.2f})",
    ("order", FAILED): (
        "images of a class have unlike radii in {a} and {b} (rank correlation {correlation:.2f}; "
        "0.8 to 0.95 between released logs): were results exchanged between images?"
    ),
    ("order", UNKNOWN): "too few images to compare the order of radii in {a} and {b}",
    ("released", PASSED): "no table agrees with one of the released logs",
    ("is_released", PASSED): (
        "{table} is the released log {log}, as far as {images} images tell"
    ),
    ("from_released", FAILED): (
        "{table} comes from the released log {log}: of {images} images it certifies the "
        "same and orders them alike, with other radii"
    ),
}


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        kind: what was checked, such as "labels".
        state: "passed", "failed", or "unknown" where it cannot be told.
        facts: what its sentence tells, by name.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.2], name="a")
        >>> print(check_tables([a])[0])
        each image has one row
    """

    kind: str
    state: State
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return WORDING[self.kind, self.state].format_map(self.facts)


def check_tables(
    tables: Sequence[CertificatesLike],
    labels: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Check]:
    """Check tables that are to be judged side by side.

    Args:
        tables: of one data set.
        labels: name of a data set and split, such as "cifar10 test" -> the label of each
            of its images, where it is at hand.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.2], name="a")
        >>> b = from_radii([0.3, 0.2], name="b")
        >>> [check.state for check in check_tables([a, b]) if check.kind in ("rows", "images")]
        ['passed', 'passed']
    """
    given = [as_certificates(table) for table in tables]
    labelled = [table for table in given if table.labelled]
    return [
        *check_rows(given),
        *_check_images(given),
        *_check_labels(labelled, labels or {}),
        *_check_radii(given),
        *_check_sigmas(given),
        *_check_copies(given),
        *_check_orders(labelled),
        *_check_released(given),
    ]


def check_rows(tables: Sequence[Certificates]) -> list[Check]:
    """Check that each image has one row."""
    checks = []
    for table in tables:
        if len(table) and table.idx.min() < 0:
            checks.append(Check("rows", UNKNOWN, {"table": table.name}))
            continue
        images, times = np.unique(table.idx, return_counts=True)
        repeated = np.flatnonzero(times > 1)
        if len(repeated):
            facts = {
                "table": table.name,
                "image": int(images[repeated[0]]),
                "times": int(times[repeated[0]]),
                "number": int(times[repeated].sum() - len(repeated)),
            }
            checks.append(Check("rows", FAILED, facts))
    return checks or [Check("rows", PASSED)]


def _check_images(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that all tables are about the same images."""
    if len(tables) < 2:
        return
    first, *others = tables
    all_same = True
    for other in others:
        missing_in_other = len(np.setdiff1d(first.idx, other.idx))
        missing_in_first = len(np.setdiff1d(other.idx, first.idx))
        if missing_in_other or missing_in_first or differing_source(first, other):
            all_same = False
            facts = {
                "a": first.name,
                "b": other.name,
                "missing_in_a": missing_in_first,
                "missing_in_b": missing_in_other,
            }
            yield Check("images", FAILED, facts)
    if all_same:
        yield Check("images", PASSED, {"number": len(first)})


def _check_labels(
    tables: Sequence[Certificates], labels: Mapping[str, NDArray[np.int64]]
) -> Iterator[Check]:
    """Check labels against the data set where it is at hand, and against each other."""
    for table in tables:
        name = f"{table.header.dataset} {table.header.split or 'test'}"
        true_labels = labels.get(name)
        inside = true_labels is not None and table.idx.max(initial=-1) < len(
            true_labels
        )
        if true_labels is None or not inside:
            yield Check("labels_of_data", UNKNOWN, {"table": table.name})
            continue
        number = int(np.sum(table.label != true_labels[table.idx]))
        facts = {"table": table.name, "number": number, "images": len(table)}
        yield Check("labels_of_data", FAILED if number else PASSED, facts)

    if len(tables) < 2:
        return
    first, *others = tables
    all_same = True
    for other in others:
        rows_of_first, rows_of_other = _shared_rows(first, other)
        differing = first.label[rows_of_first] != other.label[rows_of_other]
        if differing.any():
            all_same = False
            facts = {
                "a": first.name,
                "b": other.name,
                "number": int(differing.sum()),
                "shared": len(differing),
            }
            yield Check("labels", FAILED, facts)
    if all_same:
        yield Check("labels", PASSED)


def _check_radii(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that the radii of logs are possible, by their own budget or that of a sibling.

    A table of counts is not asked: its radii are computed from the counts.
    """
    for table in tables:
        if not table.is_log or table.converted is not None:
            continue
        sigma = table.header.sigma
        found = _budget_of(table) or _budget_of_sibling(table, tables)
        if sigma is None or found is None:
            yield Check("radii", UNKNOWN, {"table": table.name})
            continue
        (n, alpha), origin = found
        possible = sigma * Gaussian(1.0).largest_radius(n, alpha)
        beyond = table.radius > possible * (1.0 + ROUNDED)
        facts = {
            "table": table.name,
            "number": int(beyond.sum()),
            "largest": float(table.radius.max(initial=0.0)),
            "possible": possible,
            "n": n,
            "alpha": alpha,
            "sigma": sigma,
            "origin": origin,
        }
        yield Check("radii", FAILED if beyond.any() else PASSED, facts)


def _budget_of(table: Certificates) -> tuple[Budget, str] | None:
    """Return n and alpha of a table, stated or told by its largest radii, and a word on it."""
    n = table.header.n
    alpha = table.header.alpha
    if n is not None and alpha is not None:
        return (n, alpha), ""
    if table.header.sigma is None:
        return None
    budgets = possible_budgets(table.radius, table.header.sigma, n, alpha)
    if len(budgets) != 1:
        return None
    return budgets[0], ", as its largest radii say"


def _budget_of_sibling(
    table: Certificates, tables: Sequence[Certificates]
) -> tuple[Budget, str] | None:
    """Return n and alpha of another table at the same sigma, and whose they are."""
    for other in tables:
        if other is table or other.header.sigma != table.header.sigma:
            continue
        found = _budget_of(other)
        if found is not None:
            return found[0], f", as of {other.name},"
    return None


def _check_sigmas(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that the largest radii of a log are those of its sigma."""
    for table in tables:
        sigma = table.header.sigma
        if not table.is_log or table.converted is not None or sigma is None:
            continue
        n = table.header.n
        alpha = table.header.alpha
        facts: dict[str, Any] = {
            "table": table.name,
            "sigma": sigma,
            "largest": float(table.radius.max(initial=0.0)),
        }
        if possible_budgets(table.radius, sigma, n, alpha):
            yield Check("sigma", PASSED, facts)
            continue
        implied = [
            other
            for other in USUAL_SIGMAS
            if possible_budgets(table.radius, other, n, alpha)
        ]
        if implied:
            facts["implied"] = implied[0]
            yield Check("sigma", FAILED, facts)
        else:
            yield Check("sigma", UNKNOWN, facts)


def _check_copies(tables: Sequence[Certificates]) -> list[Check]:
    """Check that no log is a copy of another table, or comes from one.

    Tables of counts are not asked: one model may be certified twice, by two rules.
    """
    checks = []
    for a, b in combinations(tables, 2):
        if not (a.is_log and b.is_log):
            continue
        rows_of_a, rows_of_b = _shared_rows(a, b)
        if len(rows_of_a) == 0:
            continue
        same_answers = np.array_equal(a.predict[rows_of_a], b.predict[rows_of_b])
        radius_of_a = a.radius[rows_of_a]
        radius_of_b = b.radius[rows_of_b]
        facts = {"a": a.name, "b": b.name, "shared": len(rows_of_a)}
        if same_answers and np.array_equal(radius_of_a, radius_of_b):
            checks.append(Check("copies", FAILED, facts))
        elif same_answers and same_order(radius_of_a, radius_of_b, SHARE_AT_THE_END):
            checks.append(Check("derived", FAILED, facts))
    if len(tables) > 1 and not checks:
        return [Check("copies", PASSED)]
    return checks


def _check_orders(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that two tables find the same images of a class hard."""
    for a, b in combinations(tables, 2):
        facts: dict[str, Any] = {"a": a.name, "b": b.name}
        correlation = order_correlation(a, b)
        if correlation is None:
            yield Check("order", UNKNOWN, facts)
            continue
        facts["correlation"] = correlation
        state = PASSED if correlation >= LEAST_CORRELATION else FAILED
        yield Check("order", state, facts)


def order_correlation(a: Certificates, b: Certificates) -> float | None:
    """Return how alike two tables order the images of a class by radius; None for too few.

    Of each class it is Spearman's rank correlation over the images that both certify, and
    neither to the end of its budget; of all classes their mean, weighted by images.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> radii = np.linspace(0.01, 1.0, 500)
        >>> order_correlation(from_radii(radii), from_radii(radii**2))
        1.0
    """
    rows_of_a, rows_of_b = _shared_rows(a, b)
    radius_of_a = (a.radius * a.correct)[rows_of_a]
    radius_of_b = (b.radius * b.correct)[rows_of_b]
    end_of_a = SHARE_AT_THE_END * a.radius.max(initial=0.0)
    end_of_b = SHARE_AT_THE_END * b.radius.max(initial=0.0)
    ordered = (radius_of_a > 0.0) & (radius_of_a < end_of_a)
    ordered &= (radius_of_b > 0.0) & (radius_of_b < end_of_b)
    labels = a.label[rows_of_a]

    images = []
    correlations = []
    for label in np.unique(labels[ordered]):
        of_class = ordered & (labels == label)
        if of_class.sum() < FEWEST_OF_A_CLASS:
            continue
        rank_of_a = stats.rankdata(radius_of_a[of_class])
        rank_of_b = stats.rankdata(radius_of_b[of_class])
        if rank_of_a.std() > 0.0 and rank_of_b.std() > 0.0:
            images.append(int(of_class.sum()))
            correlations.append(np.corrcoef(rank_of_a, rank_of_b)[0, 1])
    if sum(images) < FEWEST_IMAGES:
        return None
    return round(float(np.average(correlations, weights=images)), 12)


def _check_released(tables: Sequence[Certificates]) -> list[Check]:
    """Check whether a table is one of the released logs, or comes from one.

    A log that lies where it was released is that log, and passes.
    """
    checks = []
    for table in tables:
        found = find_released(table)
        if not found:
            continue
        log = found[0]
        facts = {"table": table.name, "log": log.name, "images": log.images}
        if log.equal:
            checks.append(Check("is_released", PASSED, facts))
        else:
            checks.append(Check("from_released", FAILED, facts))
    return checks or [Check("released", PASSED)]


def _shared_rows(a: Certificates, b: Certificates) -> tuple[Ints, Ints]:
    """Return the rows of both tables about the images that they share, in one order."""
    _, rows_of_a, rows_of_b = np.intersect1d(a.idx, b.idx, return_indices=True)
    return np.asarray(rows_of_a), np.asarray(rows_of_b)
