"""Boundaries kept on disk, one file each: it states what it answers, and is checked whenever it is read."""

from __future__ import annotations

import hashlib
import json
import warnings
from contextlib import suppress
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.atomic import write_atomically
from randsmooth.bounds.binomial import Ints
from randsmooth.bounds.boundaries import Boundary, boundary, check_question, crossing_probability
from randsmooth.bounds.schedule import LATE, Spending, check_looks
from randsmooth.caches import cache_folder
from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import InputError, Note

FORMAT = 3  # to be raised when a table of the same question would come out otherwise
MOST_BYTES = 2**24  # of a file; a boundary of ten thousand looks takes a sixteenth

_one_at_a_time = Lock()  # threads share the name under which a file is written first; processes do not


def cached_boundary(q0: float, looks: ArrayLike, alpha: float, spending: Spending = LATE) -> Boundary:
    """The same as `boundary(q0, looks, alpha, spending)`, read from disk if it was computed before.

    Boundaries are kept in the folder `boundaries` of $RANDSMOOTH_CACHE or, if that is not set, of the user's cache
    folder. A file that is damaged, was made for other arguments, or whose crossing probability exceeds alpha is
    replaced, with a `Note`. Where the folder cannot be written to, boundaries are kept as long as the process runs.

    Raises:
        InputError: as `boundary`.
        RuntimeError: a new table failed the exact check of its level: a bug, to be reported.

    Example:
        >>> cached_boundary(0.5, [32, 64, 96], alpha=0.05).claim.tolist()
        [24, 42, 57]
    """
    looks = check_question(q0, looks, alpha, spending)
    with _one_at_a_time:
        return _remembered(float(q0), tuple(looks.tolist()), float(alpha), spending)


@lru_cache(maxsize=1024)
def _remembered(q0: float, looks: tuple[int, ...], alpha: float, spending: Spending) -> Boundary:
    levels = {"q0": q0.hex(), "alpha": alpha.hex(), "spending": [float(part).hex() for part in astuple(spending)]}
    question = {"format": FORMAT, **levels, "looks": list(looks)}
    path = cache_folder("boundaries") / f"{_digest(json.dumps(question).encode())[:32]}.json"
    try:
        if path.is_file():
            return _answer(_opened(path), question)
    except OSError:
        pass  # it is made, and kept as long as the process runs
    except ValueError as reason:
        said = f"{path} is not the table it is named for ({reason}), so it is made anew"
        warnings.warn(said, Note, stacklevel=3)
    table = boundary(q0, looks, alpha, spending)
    try:
        _check_crossing(table)
    except ValueError as error:
        raise RuntimeError(f"the boundary for {q0=}, {alpha=} is wrong: {error}; please report") from error
    body = json.dumps(question | {"claim": table.claim.tolist(), "give_up": table.give_up.tolist()}).encode()
    with suppress(OSError):
        write_atomically(path, _digest(body).encode() + b"\n" + body)
    return table


def _opened(path: Path) -> Any:
    """What the file states; ValueError, saying why, if it is not as it was written, OSError if it cannot be read."""
    digest, _, body = read_file(path, MOST_BYTES).partition(b"\n")
    if digest != _digest(body).encode():
        raise ValueError("damaged")
    return parse_json(body, "its content")


def _answer(stored: Any, question: dict[str, Any]) -> Boundary:
    """The table that was `stored`; ValueError, saying why, if it is no answer to `question` or claims too much."""
    other = [key for key, asked in question.items() if not isinstance(stored, dict) or stored.get(key) != asked]
    if other:
        raise ValueError(f"made for another {', '.join(other)}")
    q0, alpha = (float.fromhex(question[key]) for key in ("q0", "alpha"))
    looks = check_looks(question["looks"])
    table = Boundary(q0, alpha, looks, *(_counts(stored, key, looks) for key in ("claim", "give_up")))
    if np.any(table.give_up >= table.claim):
        raise ValueError("it gives up where it claims")
    _check_crossing(table)
    for counts in (looks, table.claim, table.give_up):
        counts.flags.writeable = False
    return table


def _counts(stored: dict[str, Any], key: str, looks: Ints) -> Ints:
    """(K,) what is stored as `key`, if they are whole numbers that can be counts at the looks, or just beyond."""
    counts = stored.get(key)
    if not isinstance(counts, list) or len(counts) != len(looks) or any(type(count) is not int for count in counts):
        raise ValueError(f"{key} is no list of {len(looks)} whole numbers")
    if any(not -1 <= count <= n + 1 for count, n in zip(counts, looks.tolist(), strict=True)):
        raise ValueError(f"{key} is out of range")
    return np.array(counts, np.int64)


def _check_crossing(table: Boundary) -> None:
    """Raise ValueError unless a false claim, at any look, has probability at most alpha."""
    level = crossing_probability(table.claim, table.looks, table.q0)
    if not level <= table.alpha:
        raise ValueError(f"it claims falsely with probability {level:.3g}, more than alpha={table.alpha}")


def check(path: Path) -> str:
    """What is found to be right in the file at `path`, a boundary that was kept, in one sentence.

    Raises:
        InputError: it is damaged, or claims more than it may; it would be made anew.
    """
    try:
        stored = _opened(path)
        table = _answer(stored, {"format": FORMAT} | {key: stored[key] for key in ("q0", "alpha", "looks")})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is damaged or no boundary of this version ({shown(error)}): delete it") from None
    said = f"boundary of {len(table.looks)} looks; it is as it was written, and claims falsely with probability"
    return f"{said} <= {table.alpha}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
