"""Whether logs are copies of each other, or were made from each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.certificates.logs.released import same_order
from randsmooth.certificates.logs.repositories import REPOSITORIES
from randsmooth.metrics.check_values import FAILED, PASSED, Check
from randsmooth.metrics.intervals import Floats, Ints
from randsmooth.metrics.pairing import differing_source, shared_rows
from randsmooth.metrics.radii import is_telling

Pair = tuple[Certificates, Certificates]

# The kinds of failed checks of a pair in which one table was made from the other.
MADE_FROM_KINDS = frozenset({"derived", "mostly_equal"})
COPY_KINDS = MADE_FROM_KINDS | {"copies", "part"}

# As many images must have radii that tell something for a table to be called a copy.
FEWEST_OF_A_COPY = 20

# From this share of equal answers and radii on, one table was made from the other. Two
# certifications of one model have other noise, and few radii alike to the last digit.
SHARE_OF_A_COPY = 0.5

# As many rows of a log must repeat others, and so many times more than chance explains:
# equal times beside equal answers.
FEWEST_REPEATED = 10
TIMES_OF_CHANCE = 10.0

# Tables of a folder are compared on so many images before any two are compared on all.
# Half of these are every 20th below 1,000, which tables of parts have, too.
IMAGES_OF_A_SKETCH = 100
STEP_OF_PARTS = 20
END_OF_PARTS = 1_000

# Two sketches must share so many images, of which so many tell something. Then the two
# tables are compared if this share of radii is equal, or if all answers are and radii
# correlate so.
FEWEST_SHARED = 24
FEWEST_TELLING = 8
SHARE_OF_CANDIDATES = 0.3
CORRELATION_OF_CANDIDATES = 0.98

# Stands for the answer to an image that a table does not hold: no class, no abstention.
NOT_HELD = -(10**6)

# Spreads positions over 32 bits (Knuth 1998, 6.4: the golden ratio of 2^32).
SPREADING_FACTOR = 2_654_435_761


def check_repeated(tables: Sequence[Certificates]) -> Iterator[Check]:
    """Check that no rows of a log repeat others to the radius and the time.

    Hardly two images take the same time to a microsecond and get the same answer and
    radius. Where times are coarse, many do by chance, and nothing is told. Images that
    are certified to the end, of which many have one radius, are left out.
    """
    for table in tables:
        # Counts of another table would be copied for nothing.
        if not table.is_log:
            continue
        told = table.rows(np.flatnonzero(is_telling(table.radius)))
        if len(told) < FEWEST_REPEATED:
            continue
        _, uses = np.unique(told.seconds, return_counts=True)
        # Most logs end here, and are not sorted by all their columns.
        if uses[uses > 1].sum() < FEWEST_REPEATED:
            continue
        repeated, originals = _repeated_rows(told)
        if len(repeated) < max(FEWEST_REPEATED, _most_by_chance(told)):
            continue
        facts = {
            "table": table.name,
            "number": len(repeated),
            "image": int(told.idx[repeated[0]]),
            "other": int(told.idx[originals[0]]),
        }
        yield Check("repeated", FAILED, facts)


def _repeated_rows(table: Certificates) -> tuple[Ints, Ints]:
    """Return the rows that repeat an earlier one, and which one each repeats."""
    rows = np.column_stack([_answers_of(table), table.seconds])
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    first_of_row = first[group.reshape(-1)]
    repeated = np.flatnonzero(first_of_row != np.arange(len(table)))
    return np.asarray(repeated), np.asarray(first_of_row[repeated])


def _most_by_chance(table: Certificates) -> float:
    """Return how many repeated rows equal times beside equal answers explain, by far."""
    pairs = len(table) * (len(table) - 1) / 2.0
    of_answers = _share_of_equal_pairs(_answers_of(table))
    of_times = _share_of_equal_pairs(table.seconds)
    return TIMES_OF_CHANCE * pairs * of_answers * of_times


def _answers_of(table: Certificates) -> Floats:
    """Return (N, 3) the label, the class and the radius of each row."""
    return np.stack([table.label, table.predict, table.radius], axis=1)


def _share_of_equal_pairs(rows: NDArray[np.float64]) -> float:
    """Return the share of pairs of rows (N,) or (N, K) that are equal."""
    _, times = np.unique(rows, axis=0, return_counts=True)
    number = len(rows)
    return float((times * (times - 1)).sum() / (number * (number - 1)))


def check_copies(
    tables: Sequence[Certificates], pairs: Sequence[Pair], released: Set[str]
) -> list[Check]:
    """Check that no log is a copy of another table, or comes from one.

    Tables of counts are not asked: one model may be certified twice, by two rules.

    Args:
        tables: all tables.
        pairs: the pairs of these that are compared.
        released: the names of tables that are released logs.
    """
    checks: list[Check] = []
    for one, other in pairs:
        if not (one.is_log and other.is_log) or differing_source(one, other):
            continue
        a, b, original = _original_first(one, other, released)
        check = _check_pair(a, b, original)
        # A repository may hold two certifications of one model, both as they were made.
        are_released = a.name in released and b.name in released
        if check is not None and not (are_released and check.kind in MADE_FROM_KINDS):
            checks.append(check)
    checks = _without_copies_of_one(checks)
    if len(tables) > 1 and not checks:
        return [Check("copies", PASSED)]
    return checks


def _without_copies_of_one(checks: Sequence[Check]) -> list[Check]:
    """Return the checks without those of two tables one of which is explained already.

    Two tables that were made from one original resemble each other, too.
    """
    explained = {
        name
        for check in checks
        if check.facts["original"] is not None
        for name in (check.facts["a"], check.facts["b"])
        if name != check.facts["original"]
    }
    return [
        check
        for check in checks
        if check.facts["original"] is not None
        or not explained & {check.facts["a"], check.facts["b"]}
    ]


def _check_pair(a: Certificates, b: Certificates, original: str | None) -> Check | None:
    """Return how one of two tables comes from the other; None where neither seems to.

    Args:
        a, b: the tables.
        original: the name of the one that was there first; None where it is not known.
    """
    rows_of_a, rows_of_b = shared_rows(a, b)
    radius_of_a = a.radius[rows_of_a]
    radius_of_b = b.radius[rows_of_b]
    tells = is_telling(radius_of_a)
    if len(np.unique(radius_of_a[tells])) < FEWEST_OF_A_COPY:
        return None
    same_answer = a.predict[rows_of_a] == b.predict[rows_of_b]
    equal = same_answer & (radius_of_a == radius_of_b)
    facts = {
        "a": a.name,
        "b": b.name,
        "shared": len(rows_of_a),
        "equal": int(equal.sum()),
        "original": original,
    }
    if equal.all() and len(a) == len(b):
        return Check("copies", FAILED, facts)
    if equal.all():
        fewer, more = (a, b) if len(a) < len(b) else (b, a)
        facts["fewer"] = fewer.name
        facts["more"] = more.name
        return Check("part", FAILED, facts)
    if same_answer.all() and same_order(radius_of_a, radius_of_b):
        return Check("derived", FAILED, facts)
    if equal[tells].mean() >= SHARE_OF_A_COPY:
        return Check("mostly_equal", FAILED, facts)
    return None


def _original_first(
    one: Certificates, other: Certificates, released: Set[str]
) -> tuple[Certificates, Certificates, str | None]:
    """Return two tables, the original first, and its name; None where it is not known.

    A released log is the original of a table that is none, and a log that lies in the
    clone of a repository that of one that lies in none. Of two released logs, the one of
    the older repository is, or the one that was given first: nobody forged a log by
    giving it twice. Of two others the order of names tells nothing.
    """
    standing_of_one = (one.name in released, _repository(one) is not None)
    standing_of_other = (other.name in released, _repository(other) is not None)
    if standing_of_one > standing_of_other:
        return one, other, one.name
    if standing_of_one < standing_of_other:
        return other, one, other.name
    if one.name not in released:
        return one, other, None
    if _age(other) < _age(one):
        return other, one, other.name
    return one, other, one.name


def _repository(table: Certificates) -> str | None:
    """Return the repository whose clone a log lies in."""
    repository = (table.header.model or {}).get("repository")
    return None if repository is None else str(repository)


def _age(table: Certificates) -> int:
    """Return the place of a table's repository among all, the oldest first."""
    names = [repository.name for repository in REPOSITORIES]
    repository = _repository(table)
    return names.index(repository) if repository in names else len(names)


def pairs_to_compare(
    tables: Sequence[Certificates], released: Set[str]
) -> Iterator[Pair]:
    """Yield the pairs of a folder that may be copies: at most two for each table.

    All tables are compared on a few images. Each is then paired with the earlier one
    that has most of its radii there, and with the one of equal answers whose radii
    correlate most. Released logs come first, so that others are paired with these.

    Args:
        tables: the certificates, of one data set.
        released: the names of tables that are released logs.
    """
    logs = [table for table in tables if table.is_log]
    logs.sort(
        key=lambda table: (table.name in released, _repository(table) is not None),
        # True comes first.
        reverse=True,
    )
    if len(logs) < 2:
        return
    images = _images_of_sketches(logs)
    radii, answers = _sketches(logs, images)
    scores = (
        (_shares_of_equal(radii, answers), SHARE_OF_CANDIDATES),
        (_correlations(radii, answers), CORRELATION_OF_CANDIDATES),
    )
    for place in range(1, len(logs)):
        partners = {
            int(np.argmax(score[place, :place]))
            for score, least in scores
            if score[place, :place].max() >= least
        }
        for partner in sorted(partners):
            yield logs[partner], logs[place]


def _images_of_sketches(tables: Sequence[Certificates]) -> Ints:
    """Return the positions (M,) of the images on which all tables are compared.

    They depend on the numbers of images alone, so that a log and a part of it have many
    of them.
    """
    known = np.unique(np.concatenate([table.idx for table in tables]))
    known = known[known >= 0]
    order = np.argsort((known * SPREADING_FACTOR) % 2**32, kind="stable")
    spread = known[order]
    in_parts = (spread % STEP_OF_PARTS == 0) & (spread < END_OF_PARTS)
    first = spread[in_parts][: IMAGES_OF_A_SKETCH // 2]
    others = spread[~np.isin(spread, first)]
    return np.sort(np.concatenate([first, others])[:IMAGES_OF_A_SKETCH])


def _sketches(tables: Sequence[Certificates], images: Ints) -> tuple[Floats, Ints]:
    """Return the radii (L, M) of the tables for some images, and their answers (L, M).

    Where a table does not hold an image, its radius is NaN. So is one at the end of what
    is certified, or of an abstention, which tells nothing.
    """
    radii = np.full((len(tables), len(images)), np.nan)
    answers = np.full((len(tables), len(images)), NOT_HELD, np.int64)
    for place, table in enumerate(tables):
        _, columns, rows = np.intersect1d(images, table.idx, return_indices=True)
        radius = table.radius[rows]
        tells = is_telling(radius, table.radius.max(initial=0.0))
        radii[place, columns] = np.where(tells, radius, np.nan)
        answers[place, columns] = table.predict[rows]
    return radii, answers


def _shares_of_equal(radii: Floats, answers: Ints) -> NDArray[np.float32]:
    """Return (L, L) the share of telling radii that two sketches have in common.

    It is that of the sketch with fewer telling radii; 0 where these are too few.

    Args:
        radii, answers: the sketches (L, M) of L tables.
    """
    tells = ~np.isnan(radii)
    # float32 counts exactly, and halves the time.
    both = tells.astype(np.float32) @ tells.T.astype(np.float32)
    equal = np.zeros(both.shape, np.float32)
    # One image after the other: all at once would take the memory of M tables of L x L.
    for radius, answer in zip(radii.T, answers.T, strict=True):
        same = (radius[:, None] == radius[None]) & (answer[:, None] == answer[None])
        equal += same
    return np.where(both >= FEWEST_TELLING, equal / np.maximum(both, 1.0), 0.0)


def _correlations(radii: Floats, answers: Ints) -> NDArray[np.float32]:
    """Return (L, L) the correlation of the radii of two sketches with equal answers.

    It is 0 where answers differ, or too few images are shared or tell something.

    Args:
        radii, answers: the sketches (L, M) of L tables.
    """
    held = answers != NOT_HELD
    shared = held.astype(np.float32) @ held.T.astype(np.float32)
    same = np.zeros(shared.shape, np.float32)
    for answer, is_held in zip(answers.T, held.T, strict=True):
        same += (answer[:, None] == answer[None]) & is_held[:, None]
    is_candidate = (same == shared) & (shared >= FEWEST_SHARED)

    tells = ~np.isnan(radii)
    mask = tells.astype(np.float64)
    x = np.where(tells, radii, 0.0)
    # Sums over the images that tell something in both tables.
    number = mask @ mask.T
    divisor = np.maximum(number, 1.0)
    mean_of_a = (x @ mask.T) / divisor
    variance_of_a = (x**2 @ mask.T) / divisor - mean_of_a**2
    covariance = (x @ x.T) / divisor - mean_of_a * mean_of_a.T
    product = np.maximum(variance_of_a * variance_of_a.T, 1e-24)
    correlation = covariance / np.sqrt(product)
    tells_enough = number >= FEWEST_TELLING
    return np.where(is_candidate & tells_enough, correlation, 0.0).astype(np.float32)
