"""What can be checked of tables before they are judged: each check passes, fails, or cannot be told.

A check that passes shows no fault of one kind, and proves no honesty. What no check sees:
a few wrong images that were made right, and radii that were raised by little below the
largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.certificates.logs.budgets import (
    FINE_DECIMALS,
    ROUNDED,
    USUAL_ALPHA,
    Budget,
    possible_budgets,
)
from randsmooth.certificates.logs.inferred import log_at_alpha
from randsmooth.certificates.logs.ranks import rank_correlation
from randsmooth.certificates.logs.released import (
    ReleasedLog,
    find_released,
    same_order,
)
from randsmooth.metrics.intervals import Ints
from randsmooth.metrics.pairing import differing_source
from randsmooth.noise import Gaussian

State = Literal["passed", "failed", "unknown"]
Pair = tuple[Certificates, Certificates]

# The states of a check.
PASSED: State = "passed"
FAILED: State = "failed"
UNKNOWN: State = "unknown"

# The sigmas that logs of the field are certified at.
USUAL_SIGMAS = (0.12, 0.125, 0.25, 0.5, 1.0)

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

# As many images must have radii that tell something for a table to be called a copy.
FEWEST_OF_A_COPY = 20

# From this share of equal answers and radii on, one table was made from the other. Two
# certifications of one model have other noise, and few radii alike to the last digit.
SHARE_OF_A_COPY = 0.5

# Radii of this share of the largest or more are at the end of what n and alpha certify,
# where they say nothing about the order.
SHARE_AT_THE_END = 0.99

# Where more labels differ, the copy of the data set has its images in another order than
# that of the log, as folders of images have. Or labels were exchanged: other tables tell.
SHARE_IN_ANOTHER_ORDER = 0.5

# What a table is of that names no split.
USUAL_SPLIT = "test"

# All pairs of so many tables of a folder are compared; of more, each with the next few.
FEW_TABLES = 10
NEIGHBOURS = 2

# So many tables of a folder must have one budget for it to be that of another table.
FEWEST_SIBLINGS = 2

# Why labels were not compared with those of a data set.
NOT_AT_HAND = "which is not here"
IN_ANOTHER_ORDER = "whose images stand here in another order"

# The sentence for each kind and state of a check.
WORDING: dict[str, dict[State, str]] = {
    "rows": {
        PASSED: "each image has one row",
        FAILED: (
            "{table}: image {image} has {times} rows, one of {number:,} duplicates"
        ),
        UNKNOWN: "{table} does not say which image a row is about",
    },
    "images": {
        PASSED: "all tables are about the same {number:,} images",
        FAILED: (
            "{b} lacks {missing_in_b:,} images of {a}, and {a} lacks "
            "{missing_in_a:,} of {b}"
        ),
    },
    "subset": {
        PASSED: (
            "{fewer} is about {number:,} of the {images:,} images of {more}, "
            "evenly spaced: the two are compared on these"
        ),
    },
    "sources": {
        FAILED: "{a} and {b} differ in the {field} of their images",
    },
    "labels": {
        PASSED: "the tables agree on the label of every image that they share",
        FAILED: (
            "{number:,} of {shared:,} shared images have another label in {a} "
            "than in {b}"
        ),
    },
    "labels_of_data": {
        PASSED: "{table}: labels are those of the data set",
        FAILED: (
            "{table}: {number:,} of {images:,} labels are not those of the data set"
        ),
        UNKNOWN: "{table}: its labels were not compared with the data set, {reason}",
    },
    "radii": {
        PASSED: (
            "{table}: every radius is possible with n={n:,} and alpha={alpha:g}{origin}"
        ),
        FAILED: (
            "{table}: {number:,} radii, up to {largest:.4g}, are beyond "
            "{possible:.4g}, the most that n={n:,} and alpha={alpha:g}{origin} "
            "certify at sigma={sigma:g}"
        ),
        UNKNOWN: (
            "{table}: it is unknown with which sigma, n and alpha it was certified"
        ),
    },
    "sigma": {
        PASSED: "{table}: its largest radii are those of sigma={sigma:g}",
        FAILED: (
            "{table}: its largest radii, {largest:.4g}, are those of "
            "sigma={implied:g}, and not of sigma={sigma:g}"
        ),
        UNKNOWN: (
            "{table}: its largest radii do not say at which sigma it was certified"
        ),
    },
    "sigmas": {
        FAILED: (
            "{a} and {b} do not say their sigma, and their largest radii are those of "
            "different ones: {sigma_a:g} and {sigma_b:g}"
        ),
    },
    "copies": {
        PASSED: "no table is a copy of another",
        FAILED: "{b} is a copy of {a}: all answers and radii are equal",
    },
    "derived": {
        FAILED: (
            "{b} comes from {a}: all {shared:,} answers are equal, and the radii "
            "have the same order"
        ),
    },
    "mostly_equal": {
        FAILED: (
            "{b} comes from {a}: {equal:,} of {shared:,} images have the same answer and "
            "the same radius"
        ),
    },
    "order": {
        PASSED: (
            "images of a class have alike radii in {a} and {b} (rank correlation "
            "{correlation:.2f})"
        ),
        FAILED: (
            "images of a class have unlike radii in {a} and {b} (rank "
            "correlation {correlation:.2f}; mostly above 0.4 between released "
            "logs): were results exchanged between images?"
        ),
        UNKNOWN: "whether {a} and {b} find the same images of a class hard",
    },
    "is_released": {
        UNKNOWN: (
            "{table} agrees with the released log {log} on {images} images; the others "
            "were not compared"
        ),
    },
    "may_be_scaled": {
        UNKNOWN: (
            "{table} agrees with the released log {log} on {images} images, or is one "
            "with all its radii scaled"
        ),
    },
    "from_released": {
        FAILED: (
            "{table} comes from the released log {log}: of {images} images it "
            "certifies the same and orders them alike, with other radii"
        ),
    },
}


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        kind: the kind of check, such as "labels".
        state: "passed", "failed", or "unknown" where it cannot be told.
        facts: the facts that its sentence tells, by name.

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
        return WORDING[self.kind][self.state].format_map(self.facts)


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
    return [
        *check_rows(given),
        *_check_images(given),
        *_check_labels(labelled, labels or {}),
        *_check_radii(given),
        *_check_sigmas(given),
        *_check_implied_sigmas(given),
        *_check_copies(given, [*combinations(given, 2)]),
        *_check_orders([*combinations(labelled, 2)]),
        *_check_released(given),
    ]


def check_folder(
    tables: Sequence[CertificatesLike],
    labels: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Check]:
    """Check all tables of a folder, which may be of several data sets and sigmas.

    What one table tells is checked as by `check_tables`. Images and labels are compared
    with those of the image set that most tables of a data set have. Only some pairs are
    compared: those with equal answers, to find copies, and each table with the next
    ones of its sigma, to find exchanged images. Where a pair fails, the second is the
    one that is not usual, or that was made from the first; of exchanged images neither
    is said to be right.

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
        *_check_radii(given, FEWEST_SIBLINGS),
        *_check_sigmas(given),
        *_check_released(given),
    ]
    released = {check.facts["table"] for check in checks if check.kind == "is_released"}
    of_source: dict[tuple[str | None, str], list[Certificates]] = {}
    for table in given:
        source = (table.header.dataset, table.header.split or USUAL_SPLIT)
        of_source.setdefault(source, []).append(table)
    for group in of_source.values():
        ordered = _usual_images_first(group)
        labelled = [table for table in ordered if table.labelled]
        checks += _check_images(ordered)
        checks += _check_labels(labelled, labels or {})
        pairs = [*_pairs_with_equal_answers(ordered, released)]
        checks += _check_copies(ordered, pairs)
        checks += _check_orders([*_neighbours(labelled)])
    return checks


def _usual_images_first(tables: Sequence[Certificates]) -> list[Certificates]:
    """Return the tables, one of the image set that most of them have before all others."""
    sets = [(table.idx.tobytes(), table.label.tobytes()) for table in tables]
    most = max(sets, key=sets.count)
    first = tables[sets.index(most)]
    return [first, *(table for table in tables if table is not first)]


def _pairs_with_equal_answers(
    tables: Sequence[Certificates], released: Set[str]
) -> Iterator[Pair]:
    """Yield tables that answer alike on the same images, each with one of them.

    That one is a released log, as far as there is one, and has the radii that most of
    them have: radii that were scaled look released, too.
    """
    of_answers: dict[tuple[bytes, bytes], list[Certificates]] = {}
    for table in tables:
        answers = (table.idx.tobytes(), table.predict.tobytes())
        of_answers.setdefault(answers, []).append(table)
    for group in of_answers.values():
        candidates = [table for table in group if table.name in released] or group
        radii = [table.radius.tobytes() for table in candidates]
        original = candidates[radii.index(max(radii, key=radii.count))]
        for other in group:
            if other is not original:
                yield original, other


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


def _check_images(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that all tables are about the same images."""
    if len(tables) < 2:
        return
    first, *others = tables
    all_same = True
    for other in others:
        check = _images_of_pair(first, other)
        if check is not None:
            all_same = False
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
    is_chosen_evenly = _is_evenly_spaced(fewer) and (
        is_nested or _is_evenly_spaced(more)
    )
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
    rows_of_a, rows_of_b = _shared_rows(a, b)
    return np.array_equal(a.label[rows_of_a], b.label[rows_of_b])


def _is_evenly_spaced(table: Certificates) -> bool:
    """Return whether the images of a table are every k-th of a range."""
    return len(np.unique(np.diff(np.sort(table.idx)))) <= 1


def _check_labels(
    tables: Sequence[Certificates], labels: Mapping[str, NDArray[np.int64]]
) -> Iterator[Check]:
    """Check labels against the data set where it is at hand, and against each other."""
    for table in tables:
        if table.header.data is not None:
            # Its labels were hashed with the images that were certified.
            continue
        name = f"{table.header.dataset} {table.header.split or USUAL_SPLIT}"
        true_labels = labels.get(name)
        inside = true_labels is not None and _lie_within(table.idx, len(true_labels))
        if true_labels is None or not inside:
            facts: dict[str, Any] = {"table": table.name, "reason": NOT_AT_HAND}
            yield Check("labels_of_data", UNKNOWN, facts)
            continue
        number = int(np.sum(table.label != true_labels[table.idx]))
        if number > SHARE_IN_ANOTHER_ORDER * len(table):
            facts = {"table": table.name, "reason": IN_ANOTHER_ORDER}
            yield Check("labels_of_data", UNKNOWN, facts)
            continue
        facts = {"table": table.name, "number": number, "images": len(table)}
        yield Check("labels_of_data", FAILED if number else PASSED, facts)

    if len(tables) < 2:
        return
    first, *others = tables
    all_same = True
    compared = 0
    for other in others:
        if differing_source(first, other):
            continue
        compared += 1
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
    if compared and all_same:
        yield Check("labels", PASSED)


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
        found = own_budget
        if found is None:
            siblings = _siblings_with_budget(table, settled, own_budgets)
            found = _budget_of_siblings(siblings, settled, own_budgets, fewest_siblings)
            sigma = settled[siblings[0]].header.sigma if found else sigma
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
    tables: Sequence[Certificates],
    own_budgets: Sequence[tuple[Budget, str] | None],
    fewest: int,
) -> tuple[Budget, str] | None:
    """Return the one n and alpha of some tables, and whose they are.

    Args:
        siblings: the places of these tables among all.
        tables: all tables.
        own_budgets: of each of these what `_budget_of` returns.
        fewest: the fewest tables that must tell the budget.
    """
    told = [own_budgets[place] for place in siblings]
    budgets = {found[0] for found in told if found is not None}
    if len(siblings) < fewest or len(budgets) != 1:
        return None
    return budgets.pop(), f", as of {tables[siblings[0]].name},"


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
        different = np.unique(table.radius[_is_telling(table.radius)])
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


def known_sigma(table: Certificates) -> float | None:
    """Return the sigma of a table, or the only one that its largest radii tell.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> known_sigma(from_radii([0.2, 1.91, 1.91])), known_sigma(from_radii([0.2]))
        (0.5, None)
    """
    if table.header.sigma is not None:
        return table.header.sigma
    implied = implied_sigmas(table)
    return implied[0] if len(implied) == 1 else None


def implied_sigmas(table: Certificates) -> list[float]:
    """Return the usual sigmas whose largest radii are those of a log; none of other tables.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> implied_sigmas(from_radii([0.2, 1.91, 1.91]))
        [0.5]
    """
    if not table.is_log or table.converted is not None or table.sigmas is not None:
        return []
    n = table.header.n
    alpha = table.header.alpha
    return [
        sigma
        for sigma in USUAL_SIGMAS
        if possible_budgets(table.radius, sigma, n, alpha)
    ]


def _check_copies(tables: Sequence[Certificates], pairs: Sequence[Pair]) -> list[Check]:
    """Check that no log is a copy of another table, or comes from one.

    Tables of counts are not asked: one model may be certified twice, by two rules.
    """
    checks = []
    for a, b in pairs:
        if not (a.is_log and b.is_log) or differing_source(a, b):
            continue
        rows_of_a, rows_of_b = _shared_rows(a, b)
        radius_of_a = a.radius[rows_of_a]
        radius_of_b = b.radius[rows_of_b]
        tells = _is_telling(radius_of_a)
        if len(np.unique(radius_of_a[tells])) < FEWEST_OF_A_COPY:
            continue
        same_answer = a.predict[rows_of_a] == b.predict[rows_of_b]
        equal = same_answer & (radius_of_a == radius_of_b)
        facts = {"a": a.name, "b": b.name, "shared": len(rows_of_a)}
        if equal.all():
            checks.append(Check("copies", FAILED, facts))
        elif same_answer.all() and same_order(
            radius_of_a, radius_of_b, SHARE_AT_THE_END
        ):
            checks.append(Check("derived", FAILED, facts))
        elif equal[tells].mean() >= SHARE_OF_A_COPY:
            facts["equal"] = int(equal.sum())
            checks.append(Check("mostly_equal", FAILED, facts))
    if len(tables) > 1 and not checks:
        return [Check("copies", PASSED)]
    return checks


def _is_telling(
    radius: NDArray[np.float64], largest: float | None = None
) -> NDArray[np.bool_]:
    """Return (N,) whether each radius is above 0, and not at the end.

    Args:
        radius: the radii (N,).
        largest: the largest radius of their table; None for the largest of these.
    """
    if largest is None:
        largest = radius.max(initial=0.0)
    return np.asarray((radius > 0.0) & (radius < SHARE_AT_THE_END * largest))


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
    rows_of_a, rows_of_b = _shared_rows(a, b)
    radius_of_a = (a.radius * a.correct)[rows_of_a]
    radius_of_b = (b.radius * b.correct)[rows_of_b]
    ordered = _is_telling(radius_of_a, a.radius.max(initial=0.0))
    ordered &= _is_telling(radius_of_b, b.radius.max(initial=0.0))
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


def _check_released(tables: Sequence[Certificates]) -> list[Check]:
    """Check whether a log comes from one of the released logs.

    Of a released log a few images are known. A log that agrees on them may be that log,
    or one that was changed elsewhere. A table of counts is not asked: who certifies a
    released checkpoint anew gets much the same radii.
    """
    checks = []
    for table in tables:
        log = _released_log(table) if table.is_log else None
        if log is None:
            continue
        facts = {"table": table.name, "log": log.name, "images": log.images}
        if log.equal:
            # Radii that were all scaled alike look released, but for their largest.
            explained = _explains_largest_radii(table)
            kind = "is_released" if explained else "may_be_scaled"
            checks.append(Check(kind, UNKNOWN, facts))
        else:
            checks.append(Check("from_released", FAILED, facts))
    return checks


def _explains_largest_radii(table: Certificates) -> bool:
    """Return whether the largest radii of a log are those of a usual budget."""
    header = table.header
    if table.converted is not None or table.sigmas is not None:
        return True
    if header.sigma is None:
        return bool(implied_sigmas(table))
    return bool(possible_budgets(table.radius, header.sigma, header.n, header.alpha))


def _released_log(table: Certificates) -> ReleasedLog | None:
    """Return the released log that the table agrees with best.

    A log that was made at another alpha than it is judged at is also compared at each
    usual alpha, one of which has the radii that were released.
    """
    found = find_released(table)
    if not found or found[0].equal or not _was_judged_again(table):
        return found[0] if found else None
    for alpha in USUAL_ALPHA:
        at_alpha = find_released(log_at_alpha(table, alpha))
        if at_alpha and at_alpha[0].equal:
            return at_alpha[0]
    return found[0]


def _was_judged_again(table: Certificates) -> bool:
    """Return whether the radii of a log were computed anew, at another alpha.

    Such radii have more decimals than any log prints.
    """
    header = table.header
    knows_budget = None not in (header.sigma, header.n, header.alpha)
    as_printed = np.array_equal(table.radius, table.radius.round(FINE_DECIMALS))
    return knows_budget and table.converted is None and not as_printed


def _shared_rows(a: Certificates, b: Certificates) -> tuple[Ints, Ints]:
    """Return the rows of both tables about the images that they share, in one order."""
    # Rows that do not say their image have numbers below 0.
    known = np.intersect1d(a.idx[a.idx >= 0], b.idx[b.idx >= 0])
    _, rows_of_a, _ = np.intersect1d(a.idx, known, return_indices=True)
    _, rows_of_b, _ = np.intersect1d(b.idx, known, return_indices=True)
    return np.asarray(rows_of_a), np.asarray(rows_of_b)
