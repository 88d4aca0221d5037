"""Whether logs are released ones, parts of such, or changed copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth.certificates import Certificates
from randsmooth.certificates.logs.budgets import FINE_DECIMALS, USUAL_ALPHA
from randsmooth.certificates.logs.inferred import log_at_alpha
from randsmooth.certificates.logs.paths import path_facts
from randsmooth.certificates.logs.released import (
    SUM_TOLERANCE,
    ReleasedLog,
    Totals,
    find_rearranged,
    find_released,
)
from randsmooth.metrics.changes import (
    PRINTED_DIGITS,
    RadiiChange,
    change_of_radii,
)
from randsmooth.metrics.check_values import FAILED, PASSED, UNKNOWN, Check, State
from randsmooth.metrics.pairing import is_evenly_spaced

# The kinds of checks that find a table to be a released log, whole or in part.
RELEASED_KINDS = frozenset({"is_released", "part_of_released"})


@dataclass(frozen=True)
class Agreement:
    """A released log that a table agrees with.

    Attributes:
        log: the released log.
        of_table: the totals of the table, as far as possible those of the log as it
            was printed.
        same_totals: whether these are the totals of the released log.
    """

    log: ReleasedLog
    of_table: Totals
    same_totals: bool


def check_released(tables: Sequence[Certificates]) -> list[Check]:
    """Check whether a log is a released one, or was made from one.

    Of a released log a few images are known, and the totals of all. A table of counts is
    not asked: who certifies a released checkpoint anew gets much the same radii.
    """
    checks = []
    for table in tables:
        agreement = _agreement(table) if table.is_log else None
        if agreement is None:
            continue
        change = change_of_radii(agreement.log)
        kind, state = _verdict(table, agreement, change)
        checks.append(Check(kind, state, _facts(table, agreement, change)))
    return checks


def _facts(
    table: Certificates, agreement: Agreement, change: RadiiChange
) -> dict[str, Any]:
    """Return which log a table agrees with, and how the two differ."""
    log = agreement.log
    told = path_facts(Path(log.name))
    return {
        "table": table.name,
        "log": log.name,
        "method": told.method,
        "repository": told.repository,
        "path": log.name.removeprefix(f"{told.repository}/"),
        "images": log.images,
        "of_table": agreement.of_table,
        "of_log": log.totals,
        "compared": change.compared,
        "changed": change.changed,
        "factor": change.factor,
        "added": change.added,
    }


def _verdict(
    table: Certificates, agreement: Agreement, change: RadiiChange
) -> tuple[str, State]:
    """Return kind and state of the check of a table that agrees with a released log.

    Who certifies the model of a log anew gets other radii by the noise of sampling, and
    other numbers of right images. Such a table is not accused: one is whose radii are
    those of the log after one operation; or all larger, with the same numbers.
    """
    log = agreement.log
    if log.images == 0:
        # The totals alone agree.
        if _is_unnumbered(table):
            return "unnumbered_released", UNKNOWN
        return "rearranged", FAILED
    if log.same_rows:
        return _verdict_of_same_rows(table, agreement, change)
    if table.converted is not None and log.equal:
        # Radii in another norm are those of the log, all scaled.
        return "is_released", UNKNOWN
    if change.is_explained:
        is_all_scaled = log.equal and change.factor is not None
        return ("scaled_released" if is_all_scaled else "from_released"), FAILED
    if change.one_sign and agreement.of_table.same_numbers(log.totals):
        return "from_released", FAILED
    return "from_released", UNKNOWN


def _verdict_of_same_rows(
    table: Certificates, agreement: Agreement, change: RadiiChange
) -> tuple[str, State]:
    """Return kind and state, where most radii that were compared are those of the log."""
    images = agreement.of_table.images
    images_of_log = agreement.log.totals.images
    if agreement.same_totals:
        return "is_released", PASSED
    if images > images_of_log:
        # The released log may be the part.
        return "is_released", UNKNOWN
    if images < images_of_log and is_evenly_spaced(table):
        return "part_of_released", UNKNOWN
    if not (change.has_rows_of_log or change.is_explained):
        # A new certification of the same model may have as many equal radii.
        return "from_released", UNKNOWN
    # Where images are missing here and there, they may have been left out for what became
    # of them.
    return "changed_released", FAILED


def _agreement(table: Certificates) -> Agreement | None:
    """Return the released log that the table agrees with best; None where none does.

    A log that was made at another alpha than it is judged at is also compared at each
    usual alpha, one of which has the radii that were released.
    """
    own_totals = Totals.of(table)
    found = find_released(table)
    if _was_judged_again(table) and not (found and found[0].same_rows):
        log = _released_at_another_alpha(table)
        if log is not None:
            return _agreement_of_judged_again(table, log)
    if found:
        return Agreement(found[0], own_totals, found[0].totals.same(own_totals))
    rearranged = [
        log
        for log in find_rearranged(table)
        # A part has fewer images; more than the log has are another table's.
        if own_totals.images <= log.totals.images
    ]
    if rearranged:
        log = rearranged[0]
        return Agreement(log, own_totals, log.totals.same(own_totals))
    return None


def _released_at_another_alpha(table: Certificates) -> ReleasedLog | None:
    """Return the released log with the rows that a log has at one of the usual alphas."""
    for alpha in USUAL_ALPHA:
        at_alpha = find_released(_as_printed(log_at_alpha(table, alpha)))
        if at_alpha and at_alpha[0].same_rows:
            return at_alpha[0]
    return None


def _agreement_of_judged_again(table: Certificates, log: ReleasedLog) -> Agreement:
    """Return the agreement of a log that was judged at another alpha than it was made.

    Images that are not certified any more abstain: of the log as it was made, the number
    of images and ACR are known alone.
    """
    logged_acr = _logged_acr(table)
    if logged_acr is None:
        # Nothing but the images is known, and nothing is told of the others.
        same_totals = len(table) == log.totals.images
        return Agreement(log, log.totals, same_totals)
    sum_of_radii = logged_acr * len(table)
    of_table = replace(log.totals, images=len(table), right_radii=sum_of_radii)
    same_sum = abs(sum_of_radii - log.totals.right_radii) <= SUM_TOLERANCE
    return Agreement(log, of_table, same_sum and len(table) == log.totals.images)


def _logged_acr(table: Certificates) -> float | None:
    """Return the ACR of a log as it was made, which a note of its header has."""
    for note in table.header.notes:
        if note.kind == "bound_anew":
            return float(note.facts["logged_acr"])
    return None


def _as_printed(table: Certificates) -> Certificates:
    """Return a table with its radii rounded to the digits that logs print."""
    with np.errstate(divide="ignore"):
        magnitude = np.floor(np.log10(table.radius))
    step = 10.0 ** np.where(table.radius > 0.0, magnitude - PRINTED_DIGITS + 1, 0.0)
    return replace(table, radius=np.rint(table.radius / step) * step)


def _is_unnumbered(table: Certificates) -> bool:
    """Return whether rows do not say their image: they have numbers below 0 then."""
    return bool((table.idx < 0).any())


def _was_judged_again(table: Certificates) -> bool:
    """Return whether the radii of a log were computed anew, at another alpha.

    Such radii have more decimals than any log prints.
    """
    header = table.header
    knows_budget = None not in (header.sigma, header.n, header.alpha)
    as_printed = np.array_equal(table.radius, table.radius.round(FINE_DECIMALS))
    return knows_budget and table.converted is None and not as_printed
