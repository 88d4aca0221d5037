"""What can be checked of tables before they are judged: each check passes, fails, or cannot be told.

A check that passes shows no fault of one kind, and proves no honesty. What no check sees,
in a log that was not released: a few wrong images that were made right, and radii that
were raised by little below the largest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.certificates.logs.budgets import ROUNDED, Budget, possible_budgets
from randsmooth.certificates.logs.ranks import rank_correlation
from randsmooth.metrics.check_values import (
    FAILED,
    FROM_RADII,
    IN_ANOTHER_ORDER,
    NO_DATA_SET_NAMED,
    NOT_AT_HAND,
    NUMBERED_OTHERWISE,
    OF_ANOTHER_TABLE,
    PASSED,
    STATED,
    UNKNOWN,
    Check,
)
from randsmooth.metrics.copies import (
    FEWEST_OF_A_COPY,
    Pair,
    check_copies,
    check_repeated,
    pairs_to_compare,
)
from randsmooth.metrics.implied_sigmas import implied_sigmas, known_sigma
from randsmooth.metrics.intervals import Ints
from randsmooth.metrics.pairing import (
    differing_source,
    is_evenly_spaced,
    renaming,
    shared_rows,
)
from randsmooth.metrics.radii import is_telling
from randsmooth.metrics.released_check import RELEASED_KINDS, check_released
from randsmooth.noise import Gaussian

# From this rank correlation on, two models find the same images of a class hard. Most pairs
# of released logs have more, and 0 is left where results were exchanged between images.
LEAST_CORRELATION = 0.4

# The fewest images of a class, and of all classes, from which a correlation is taken.
FEWEST_OF_A_CLASS = 20
FEWEST_IMAGES = 200

# Below this correlation results were exchanged, where so many images tell it: by chance
# alone it is then 0 give or take 0.03. Between the two correlations nothing is told.
EXCHANGED_CORRELATION = 0.1
FEWEST_TO_ACCUSE = 1000

# Where more labels differ, the copy of the data set has its images in another order than
# that of the log, as folders of images have. Or labels were exchanged: other tables tell.
SHARE_IN_ANOTHER_ORDER = 0.5

# What is told of all tables together where it passes.
TOLD_OF_ALL = frozenset({"images", "labels", "copies"})

# What a table is of that names no split.
USUAL_SPLIT = "test"

# All pairs of so many tables of a folder are compared; of more, each with the next few.
FEW_TABLES = 10
NEIGHBOURS = 2

# So many tables of a folder must have one budget for it to be that of another table.
FEWEST_SIBLINGS = 2


def check_tables(
    tables: Sequence[CertificatesLike],
    labels: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Check]:
    """Check tables that are to be judged side by side.

    Args:
        tables: the certificates, all of one data set.
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
    of_released = check_released(given)
    released = _names_of_released(of_released)
    return [
        *check_rows(given),
        *check_repeated(given),
        *_check_images(given),
        *_check_labels(labelled, labels or {}),
        *_check_radii(given),
        *_check_sigmas(given),
        *_check_implied_sigmas(given),
        *check_copies(given, [*combinations(given, 2)], released),
        *_check_orders([*combinations(labelled, 2)]),
        *of_released,
    ]


def _names_of_released(checks: Sequence[Check]) -> set[str]:
    """Return the names of the tables that checks found to be released logs."""
    return {check.facts["table"] for check in checks if check.kind in RELEASED_KINDS}


def check_folder(
    tables: Sequence[CertificatesLike],
    labels: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Check]:
    """Check all tables of a folder, which may be of several data sets and sigmas.

    What one table tells is checked as by `check_tables`. Images and labels are compared
    with those of the image set that most tables of a data set have. Only some pairs are
    compared: those that agree on a few images, to find copies, and each table with the
    next ones of its sigma, to find exchanged images. Where the images or labels of a pair
    fail, those of the second are not usual. Of copies and of exchanged images neither is
    said to be right, unless it is known which table was there first.

    Args:
        tables: the certificates, under distinct names.
        labels: as in `check_tables`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.2], name="a")
        >>> b = from_radii([0.3, 0.2], name="b")
        >>> {check.state for check in check_folder([a, b]) if check.kind == "images"}
        {'passed'}
    """
    given = [as_certificates(table) for table in tables]
    checks = [
        *check_rows(given),
        *check_repeated(given),
        *_check_radii(given, FEWEST_SIBLINGS),
        *_check_sigmas(given),
        *check_released(given),
    ]
    released = _names_of_released(checks)
    of_source: dict[tuple[str | None, str], list[Certificates]] = {}
    for table in given:
        source = (table.header.dataset, table.header.split or USUAL_SPLIT)
        of_source.setdefault(source, []).append(table)
    for group in of_source.values():
        ordered = _usual_images_first(group, released)
        labelled = [table for table in ordered if table.labelled]
        checks += _check_images(ordered, released)
        checks += _check_labels(labelled, labels or {}, released)
        pairs = [*pairs_to_compare(ordered, released)]
        checks += check_copies(ordered, pairs, released)
        checks += _check_orders([*_neighbours(labelled)])
    failed = {check.kind for check in checks if check.state == FAILED}
    # What the tables of one data set passed, those of another may have failed.
    return [
        check
        for check in checks
        if not (check.state == PASSED and check.kind in failed & TOLD_OF_ALL)
    ]


def _usual_images_first(
    tables: Sequence[Certificates], released: Set[str]
) -> list[Certificates]:
    """Return the tables, one of the image set that most of them have before all others.

    Of two sets that as many tables have, it is that of a released log, or the larger.
    """
    sets = [(table.idx.tobytes(), table.label.tobytes()) for table in tables]
    times = Counter(sets)

    def usualness(place: int) -> tuple[int, bool, int]:
        """Return a key that is the highest for the most usual images."""
        table = tables[place]
        return times[sets[place]], table.name in released, len(table)

    first = tables[max(range(len(tables)), key=usualness)]
    return [first, *(table for table in tables if table is not first)]


def _neighbours(tables: Sequence[Certificates]) -> Iterator[Pair]:
    """Yield pairs of tables of one sigma: all of a few, and of many each with the next."""
    of_sigma: dict[float | None, list[Certificates]] = {}
    for table in tables:
        of_sigma.setdefault(table.header.sigma, []).append(table)
    for group in of_sigma.values():
        reach = len(group) if len(group) <= FEW_TABLES else NEIGHBOURS
        for place, table in enumerate(group):
            for other in group[place + 1 : place + 1 + reach]:
                yield table, other


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


def _check_images(
    tables: Sequence[Certificates], released: Set[str] = frozenset()
) -> Iterator[Check]:
    """Check that all tables are about the same images.

    Args:
        tables: the certificates.
        released: the names of released logs: two of these may be about other images.
    """
    if len(tables) < 2:
        return
    first, *others = tables
    all_same = True
    for other in others:
        check = _images_of_pair(first, other)
        if check is not None:
            all_same = False
            if not {first.name, other.name} <= released or check.state != FAILED:
                yield check
    if all_same:
        yield Check("images", PASSED, {"number": len(first)})


def _images_of_pair(a: Certificates, b: Certificates) -> Check | None:
    """Return how the images of two tables differ; None where they do not.

    Every twentieth image, or the first thousand, are a fair choice. Images that are
    missing here and there may have been left out for what became of them.
    """
    field = differing_source(a, b)
    if field:
        return Check("sources", FAILED, {"a": a.name, "b": b.name, "field": field})
    missing_in_b = len(np.setdiff1d(a.idx, b.idx))
    missing_in_a = len(np.setdiff1d(b.idx, a.idx))
    if not missing_in_a and not missing_in_b:
        return None
    fewer, more = (a, b) if len(a) < len(b) else (b, a)
    is_nested = not (missing_in_a and missing_in_b)
    is_chosen_evenly = is_evenly_spaced(fewer) and (is_nested or is_evenly_spaced(more))
    # Other labels tell that the images were numbered anew, after some were left out.
    if is_chosen_evenly and _same_labels(a, b):
        facts = {
            "fewer": fewer.name,
            "more": more.name,
            "number": len(np.intersect1d(fewer.idx, more.idx)),
            "images": len(more),
        }
        return Check("subset", PASSED, facts)
    facts = {
        "a": a.name,
        "b": b.name,
        "missing_in_a": missing_in_a,
        "missing_in_b": missing_in_b,
    }
    return Check("images", FAILED, facts)


def _same_labels(a: Certificates, b: Certificates) -> bool:
    """Return whether the images that two tables share have the same labels, if any."""
    if not (a.labelled and b.labelled):
        return True
    rows_of_a, rows_of_b = shared_rows(a, b)
    return np.array_equal(a.label[rows_of_a], b.label[rows_of_b])


def _check_labels(
    tables: Sequence[Certificates],
    labels: Mapping[str, NDArray[np.int64]],
    released: Set[str] = frozenset(),
) -> Iterator[Check]:
    """Check labels against the data set where it is at hand, and against each other.

    Args:
        tables: the certificates.
        labels: as in `check_tables`.
        released: the names of released logs: two of these may number images differently.
    """
    for table in tables:
        # Labels of others were hashed with the images that were certified.
        if not _has_hashed_images(table):
            name = f"{table.header.dataset} {table.header.split or USUAL_SPLIT}"
            yield _labels_beside_data(table, labels.get(name))

    if len(tables) < 2:
        return
    first, *others = tables
    all_same = True
    compared = 0
    for other in others:
        if differing_source(first, other):
            continue
        compared += 1
        check = _labels_of_pair(first, other)
        if check is not None:
            all_same = False
            if not {first.name, other.name} <= released:
                yield check
    if compared and all_same:
        yield Check("labels", PASSED)


def _has_hashed_images(table: Certificates) -> bool:
    """Return whether the images of a table, or of those it was routed from, are hashed."""
    if table.header.routing is None:
        return table.header.data is not None
    experts = table.header.routing["experts"]
    return all(expert.get("data") is not None for expert in experts)


def _labels_beside_data(table: Certificates, true_labels: Ints | None) -> Check:
    """Compare the labels of a table with those of its data set.

    Args:
        table: the certificates.
        true_labels: the label of each image of the data set; None where it is not here.
    """
    facts: dict[str, Any] = {"table": table.name}
    if table.header.dataset is None:
        return Check("labels_of_data", UNKNOWN, facts | {"reason": NO_DATA_SET_NAMED})
    if true_labels is None or not _lie_within(table.idx, len(true_labels)):
        return Check("labels_of_data", UNKNOWN, facts | {"reason": NOT_AT_HAND})
    labels_of_data = true_labels[table.idx]
    if renaming(labels_of_data, table.label):
        return Check("labels_of_data", UNKNOWN, facts | {"reason": NUMBERED_OTHERWISE})
    number = int(np.sum(table.label != labels_of_data))
    if number > SHARE_IN_ANOTHER_ORDER * len(table):
        return Check("labels_of_data", UNKNOWN, facts | {"reason": IN_ANOTHER_ORDER})
    facts |= {"number": number, "images": len(table)}
    return Check("labels_of_data", FAILED if number else PASSED, facts)


def _labels_of_pair(a: Certificates, b: Certificates) -> Check | None:
    """Return how the labels of the images that two tables share differ; None if not."""
    rows_of_a, rows_of_b = shared_rows(a, b)
    labels_of_a = a.label[rows_of_a]
    labels_of_b = b.label[rows_of_b]
    differing = labels_of_a != labels_of_b
    if not differing.any():
        return None
    facts: dict[str, Any] = {"a": a.name, "b": b.name, "shared": len(differing)}
    names = renaming(labels_of_a, labels_of_b)
    if names is None:
        facts["number"] = int(differing.sum())
        return Check("labels", FAILED, facts)
    # The first class that has another number is the example.
    class_a = min(number for number, other in names.items() if number != other)
    facts |= {"class_a": class_a, "class_b": names[class_a]}
    return Check("classes_renamed", FAILED, facts)


def _lie_within(idx: Ints, length: int) -> bool:
    """Return whether all positions lie within a split of this length."""
    return bool(((idx >= 0) & (idx < length)).all())


def _check_radii(
    tables: Sequence[Certificates], fewest_siblings: int = 1
) -> Iterator[Check]:
    """Check that the radii of logs are possible, by their own budget or that of siblings.

    A table of counts is not asked: its radii are computed from the counts.

    Args:
        tables: the tables that stand side by side.
        fewest_siblings: the fewest siblings whose budget is tried.
    """
    settled = [_with_implied_sigma(table) for table in tables]
    own_budgets = [_budget_of(table) for table in settled]
    for table, own_budget in zip(settled, own_budgets, strict=True):
        if not table.is_log or table.converted is not None:
            continue
        sigma = table.header.sigma
        told = own_budget
        budget_of = table.name
        if told is None:
            siblings = _siblings_with_budget(table, settled, own_budgets)
            told = _budget_of_siblings(siblings, own_budgets, fewest_siblings)
            if told is not None:
                sigma = settled[siblings[0]].header.sigma
                budget_of = settled[siblings[0]].name
        if sigma is None or told is None:
            yield Check("radii", UNKNOWN, {"table": table.name})
            continue
        (n, alpha), origin = told
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
            "budget_of": budget_of,
        }
        yield Check("radii", FAILED if beyond.any() else PASSED, facts)


def _budget_of(table: Certificates) -> tuple[Budget, str] | None:
    """Return n and alpha of a table, and whether it states them or its largest radii do."""
    n = table.header.n
    alpha = table.header.alpha
    if n is not None and alpha is not None:
        return (n, alpha), STATED
    if table.header.sigma is None:
        return None
    budgets = possible_budgets(table.radius, table.header.sigma, n, alpha)
    if len(budgets) != 1:
        return None
    return budgets[0], FROM_RADII


def _with_implied_sigma(table: Certificates) -> Certificates:
    """Return a table with the one sigma that its largest radii tell, if it states none."""
    sigma = known_sigma(table)
    if sigma is None or table.header.sigma is not None:
        return table
    return table.assuming(sigma=sigma)


def _siblings_with_budget(
    table: Certificates,
    tables: Sequence[Certificates],
    own_budgets: Sequence[tuple[Budget, str] | None],
) -> list[int]:
    """Return the places of other tables whose budget is known, at the sigma of a table.

    A table of no known sigma has siblings where all others have the same one.

    Args:
        table: the table that does not tell its own budget.
        tables: all tables.
        own_budgets: of each of these what `_budget_of` returns.
    """
    known = [place for place, budget in enumerate(own_budgets) if budget is not None]
    sigmas = {tables[place].header.sigma for place in known}
    if table.header.sigma is None:
        return known if len(sigmas) == 1 else []
    return [
        place for place in known if tables[place].header.sigma == table.header.sigma
    ]


def _budget_of_siblings(
    siblings: Sequence[int],
    own_budgets: Sequence[tuple[Budget, str] | None],
    fewest: int,
) -> tuple[Budget, str] | None:
    """Return the one n and alpha of some tables; None where they have several.

    Args:
        siblings: the places of these tables among all.
        own_budgets: of all tables what `_budget_of` returns.
        fewest: the fewest tables that must tell the budget.
    """
    told = [own_budgets[place] for place in siblings]
    budgets = {each[0] for each in told if each is not None}
    if len(siblings) < fewest or len(budgets) != 1:
        return None
    return budgets.pop(), OF_ANOTHER_TABLE


def _check_sigmas(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that the largest radii of a log fit its sigma."""
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
        # A few radii, or coarse ones, fit many budgets by chance.
        different = np.unique(table.radius[is_telling(table.radius)])
        tells = len(different) >= FEWEST_OF_A_COPY
        implied = implied_sigmas(table) if tells else []
        if implied:
            facts["implied"] = implied[0]
            yield Check("sigma", FAILED, facts)
        else:
            yield Check("sigma", UNKNOWN, facts)


def _check_implied_sigmas(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that logs that do not say their sigma have largest radii of the same one."""
    sigma_of_silent = {}
    for table in tables:
        sigma = known_sigma(table)
        if sigma is not None and table.header.sigma is None:
            sigma_of_silent[table.name] = sigma
    if len(sigma_of_silent) < 2:
        return
    (first, sigma_of_first), *others = sigma_of_silent.items()
    for name, sigma in others:
        if sigma != sigma_of_first:
            facts = {
                "a": first,
                "b": name,
                "sigma_a": sigma_of_first,
                "sigma_b": sigma,
            }
            yield Check("sigmas", FAILED, facts)


def _check_orders(pairs: Sequence[Pair]) -> Iterator[Check]:
    """Check that two tables find the same images of a class hard.

    At least one of them is a log; two tables of counts are not asked.
    """
    for a, b in pairs:
        if not (a.is_log or b.is_log) or differing_source(a, b):
            continue
        facts: dict[str, Any] = {"a": a.name, "b": b.name}
        correlation, images = _correlation_of_orders(a, b)
        if correlation is None:
            yield Check("order", UNKNOWN, facts)
            continue
        facts["correlation"] = correlation
        accused = correlation < EXCHANGED_CORRELATION and images >= FEWEST_TO_ACCUSE
        if correlation >= LEAST_CORRELATION:
            yield Check("order", PASSED, facts)
        elif accused:
            yield Check("order", FAILED, facts)
        else:
            yield Check("order", UNKNOWN, facts)


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
    correlation, _ = _correlation_of_orders(a, b)
    return correlation


def _correlation_of_orders(
    a: Certificates, b: Certificates
) -> tuple[float | None, int]:
    """Return what `order_correlation` does, and of how many images."""
    rows_of_a, rows_of_b = shared_rows(a, b)
    radius_of_a = (a.radius * a.correct)[rows_of_a]
    radius_of_b = (b.radius * b.correct)[rows_of_b]
    ordered = is_telling(radius_of_a, a.radius.max(initial=0.0))
    ordered &= is_telling(radius_of_b, b.radius.max(initial=0.0))
    labels = a.label[rows_of_a]

    images = []
    correlations = []
    for label in np.unique(labels[ordered]):
        of_class = ordered & (labels == label)
        if of_class.sum() < FEWEST_OF_A_CLASS:
            continue
        correlation = rank_correlation(radius_of_a[of_class], radius_of_b[of_class])
        if correlation is not None:
            images.append(int(of_class.sum()))
            correlations.append(correlation)
    if sum(images) < FEWEST_IMAGES:
        return None, sum(images)
    mean = round(float(np.average(correlations, weights=images)), 12)
    return mean, sum(images)
