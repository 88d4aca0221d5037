"""Boundaries kept on disk, one file each: it names the arguments it was made for and is checked whenever it is used."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Ints
from randsmooth.bounds.boundaries import Boundary, boundary, check_question, crossing_probability
from randsmooth.bounds.kept_tables import Question, check_asked, keep, kept, opened
from randsmooth.bounds.spending import SQUARE_ROOT, Spending
from randsmooth.documents import shown
from randsmooth.errors import InputError

FORMAT = 2  # to be raised when a table of the same question would come out otherwise

_one_at_a_time = Lock()  # threads share the name under which a file is written first; processes do not


def cached_boundary(
    q0: float, looks: ArrayLike, alpha: float, beta: float | None = None, spending: Spending = SQUARE_ROOT
) -> Boundary:
    """The same as `boundary(q0, looks, alpha, beta, spending)`, read from disk if it was computed before.

    Boundaries are kept in the folder `boundaries` of $RANDSMOOTH_CACHE or, if that is not set, of the user's cache
    folder. A file that is damaged, was made for other arguments, or whose crossing probability exceeds alpha is
    replaced, with a `Note`. Where the folder cannot be written to, boundaries are kept as long as the process runs.

    Raises:
        InputError: as `boundary`.
        RuntimeError: a new table failed the exact check of its level: a bug, to be reported.

    Example:
        >>> cached_boundary(0.5, [32, 64, 96], alpha=0.05).claim.tolist()
        [23, 42, 57]
    """
    beta = spending.beta if beta is None else beta
    looks = check_question(q0, looks, alpha, beta)
    with _one_at_a_time:
        return _remembered(float(q0), tuple(looks.tolist()), float(alpha), float(beta), spending)


@lru_cache(maxsize=1024)
def _remembered(q0: float, looks: tuple[int, ...], alpha: float, beta: float, spending: Spending) -> Boundary:
    counts = np.array(looks, np.int64)
    question = _question(q0, counts, alpha, beta, spending)
    found = kept(question, lambda stored: _checked(stored, question, q0, counts, alpha))
    return found or _made(question, q0, counts, alpha, beta, spending)


def _question(q0: float, looks: Ints, alpha: float, beta: float, spending: Spending) -> Question:
    """What a table answers, to the last digit; stored beside the answer. The first spending of all is not named."""
    spent = [part.hex() for part in spending.of_alpha(looks, alpha).tolist()]
    levels = {"q0": q0.hex(), "alpha": alpha.hex(), "beta": beta.hex()}
    kind = {} if spending == SQUARE_ROOT else {"kind": {name: part.hex() for name, part in asdict(spending).items()}}
    return {"format": FORMAT, **levels, "looks": looks.tolist(), "spending": spent} | kind


def _checked(stored: dict[str, Any], question: Question, q0: float, looks: Ints, alpha: float) -> Boundary:
    """The table that was `stored`; ValueError, saying why, if it is no answer or claims more than it may."""
    claim, give_up = _answer(stored, question, looks)
    check_crossing(claim, looks, q0, alpha)
    for counts in (looks, claim, give_up):
        counts.flags.writeable = False
    return Boundary(q0, alpha, looks, claim, give_up)


def _answer(stored: dict[str, Any], question: Question, looks: Ints) -> tuple[Ints, Ints]:
    """The counts to claim and to give up in what was `stored`; ValueError, saying why, if it is no answer."""
    check_asked(stored, question)
    claim, give_up = (
        checked_counts(stored.get("claim"), "claim", looks),
        checked_counts(stored.get("give_up"), "give_up", looks),
    )
    if np.any(give_up >= claim):
        raise ValueError("gives up where it claims")
    return claim, give_up


def checked_counts(counts: object, key: str, looks: Ints) -> Ints:
    """(K,) from a list, called `key`, of K whole numbers that can be counts at the looks, or just beyond."""
    if not isinstance(counts, list) or len(counts) != len(looks) or any(type(count) is not int for count in counts):
        raise ValueError(f"{key} is no list of {len(looks)} whole numbers")
    if any(not -1 <= count <= n + 1 for count, n in zip(counts, looks.tolist(), strict=True)):
        raise ValueError(f"{key} is out of range")
    return np.array(counts, np.int64)


def check_crossing(claim: Ints, looks: Ints, q0: float, alpha: float) -> None:
    """Raise ValueError unless a false claim, at any look, has probability at most alpha."""
    level = crossing_probability(claim, looks, q0)
    if not level <= alpha:
        raise ValueError(f"it claims falsely with probability {level:.3g}, more than alpha={alpha}")


def _made(question: Question, q0: float, looks: Ints, alpha: float, beta: float, spending: Spending) -> Boundary:
    """A new table, checked, and kept if that can be."""
    table = boundary(q0, looks, alpha, beta, spending)
    try:
        check_crossing(table.claim, table.looks, q0, alpha)
    except ValueError as error:
        raise RuntimeError(f"the boundary for {q0=}, {alpha=} is wrong: {error}; please report") from error
    answer = {"claim": table.claim.tolist(), "give_up": table.give_up.tolist()}
    keep(question, answer)
    return table


def check(path: Path) -> str:
    """What is found to be right in the file at `path`, a boundary that was kept, in one sentence.

    Raises:
        InputError: it is damaged, or claims more than it may; it would be made anew.
    """
    try:
        stored = opened(path)
        q0, alpha, beta = (float.fromhex(stored[key]) for key in ("q0", "alpha", "beta"))
        looks = check_question(q0, stored["looks"], alpha, beta)
        kind = stored.get("kind")
        spending = SQUARE_ROOT if kind is None else Spending(**{key: float.fromhex(it) for key, it in kind.items()})
        question = _question(q0, looks, alpha, beta, spending)
        claim, _ = _answer(stored, question, looks)
        check_crossing(claim, looks, q0, alpha)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is damaged or no boundary of this version ({shown(error)}): delete it") from None
    return f"boundary of {len(looks)} looks; it is as it was written, and claims falsely with probability <= {alpha}"
