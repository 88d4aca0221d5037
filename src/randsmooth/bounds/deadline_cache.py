"""The boundaries of many thresholds, made with a bar that shows how far they are, and kept in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Ints
from randsmooth.bounds.boundary_cache import check_crossing, checked_counts
from randsmooth.bounds.deadlines import POWER, claims_by_deadline
from randsmooth.bounds.kept_tables import Question, check_asked, keep, kept, opened
from randsmooth.bounds.limits import check_level
from randsmooth.bounds.look_times import check_looks
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.progress import chosen_progress

FORMAT = 1  # to be raised when the tables of the same question would come out otherwise
KIND = "deadlines"  # of a file, among those of single boundaries

_one_at_a_time = Lock()  # threads would make the same tables


def cached_claims(q0: Sequence[float], looks: ArrayLike, alpha: float, deadlines: Sequence[int]) -> Ints:
    """`claims_by_deadline` of R thresholds (R, K), read from disk if they were computed before.

    They take some seconds. They are kept beside the boundaries of `cached_boundary`. The exact crossing probability of
    each is checked when they are made, and by `randsmooth verify`; whenever they are read, their digest and what they
    were made for are.

    Args:
        q0: failure probability at each threshold (R,), in (0, 1).
        looks: samples so far, increasing (K,).
        alpha: probability of a false claim about one threshold.
        deadlines: samples by which each test spends alpha (R,).

    Raises:
        InputError: as `claims_by_deadline`.
        RuntimeError: a new table failed the exact check of its level: a bug, to be reported.

    Example:
        >>> cached_claims([0.5, 0.2], [32, 64, 96], alpha=0.05, deadlines=[96, 96]).tolist()
        [[26, 42, 57], [33, 59, 84]]
    """
    check_level(alpha)
    question = _question([float(q) for q in q0], check_looks(looks), float(alpha), [int(d) for d in deadlines])
    with _one_at_a_time:
        found = kept(question, lambda stored: _answer(stored, question))
        return _made(question) if found is None else found


def _question(q0: list[float], looks: Ints, alpha: float, deadlines: list[int]) -> Question:
    """What the tables answer, to the last digit."""
    facts = {"kind": KIND, "format": FORMAT, "alpha": alpha.hex(), "power": POWER.hex(), "deadlines": deadlines}
    return {**facts, "looks": looks.tolist(), "q0": [q.hex() for q in q0]}


def _answer(stored: dict[str, object], question: Question) -> Ints:
    check_asked(stored, question)
    claims, looks = stored.get("claim"), np.array(question["looks"], np.int64)
    if not isinstance(claims, list) or len(claims) != len(question["q0"]):
        raise ValueError(f"claim is no list of {len(question['q0'])} lists")
    return np.stack([checked_counts(row, "claim", looks) for row in claims])


def _made(question: Question) -> Ints:
    """New tables, checked, and kept if that can be."""
    alpha, looks = float.fromhex(question["alpha"]), np.array(question["looks"], np.int64)
    q0, rows = [float.fromhex(q) for q in question["q0"]], []
    with chosen_progress(None)("boundaries", len(q0), "radii") as reporter:
        for q, deadline in zip(q0, question["deadlines"], strict=True):
            rows.append(claims_by_deadline(q, looks, alpha, deadline))
            try:
                check_crossing(rows[-1], looks, q, alpha)
            except ValueError as error:
                raise RuntimeError(f"the boundary for q0={q}, {alpha=} is wrong: {error}; please report") from error
            reporter.advance(1)
    keep(question, {"claim": [row.tolist() for row in rows]})
    return np.stack(rows)


def check(path: Path) -> str:
    """What is found to be right in the file at `path`, boundaries that were kept, in one sentence.

    Raises:
        InputError: it is damaged, or claims more than it may; it would be made anew.
    """
    try:
        stored = opened(path)
        q0, alpha = [float.fromhex(q) for q in stored["q0"]], float.fromhex(stored["alpha"])
        looks = check_looks(stored["looks"])
        claims = _answer(stored, _question(q0, looks, alpha, stored["deadlines"]))
        for row, q in zip(claims, q0, strict=True):
            check_crossing(row, looks, q, alpha)
    except (OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise InputError(f"{path} is damaged or no boundaries of this version ({shown(error)}): delete it") from None
    return (
        f"boundaries of {len(q0)} thresholds and {len(looks)} looks; they are as they were written, and each claims "
        f"falsely with probability <= {alpha}"
    )
