"""Boundaries kept on disk, each checked when it is made: one .npz file a table."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zipfile
import zlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike
from platformdirs import user_cache_dir

from randsmooth.atomic import write_atomically
from randsmooth.bounds.binomial import Ints
from randsmooth.bounds.boundary import Boundary, boundary, check_question, crossing_probability

FORMAT = 1  # to be raised when a table of the same arguments would come out otherwise
FOLDER = "RANDSMOOTH_CACHE"  # environment variable: where to keep what can be made again
# What reading raises when bits have turned over: a damaged flag may say that the file is encrypted (RuntimeError).
DAMAGED = (OSError, EOFError, ValueError, KeyError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)

_one_at_a_time = Lock()  # threads share the name under which a file is written first; processes do not


def cached_boundary(q0: float, looks: ArrayLike, alpha: float, beta: float = 0.01) -> Boundary:
    """`boundary(q0, looks, alpha, beta)`, from the cache where it is there: same arguments, errors and counts.

    Tables lie in the folder `boundaries` of $RANDSMOOTH_CACHE, or else of the user's cache folder. A damaged file is
    made anew. Where the folder cannot be written, tables last as long as the process.

    Raises:
        InputError: as `boundary`.
        RuntimeError: a new table failed the exact check of its level: a bug, to be reported.
    """
    looks = check_question(q0, looks, alpha, beta)
    with _one_at_a_time:
        return _remembered(float(q0), tuple(looks.tolist()), float(alpha), float(beta))


@lru_cache(maxsize=1024)
def _remembered(q0: float, looks: tuple[int, ...], alpha: float, beta: float) -> Boundary:
    counts = np.array(looks, np.int64)
    path = _path(q0, counts, alpha, beta)
    return _read(path, q0, counts, alpha) or _made(path, q0, counts, alpha, beta)


def _path(q0: float, looks: Ints, alpha: float, beta: float) -> Path:
    """The file of one table: its name is a hash of the arguments, to the last digit, and of the format."""
    numbers = " ".join([str(FORMAT), q0.hex(), alpha.hex(), beta.hex(), *map(str, looks.tolist())])
    folder = Path(os.environ.get(FOLDER) or user_cache_dir("randsmooth")) / "boundaries"
    return folder / f"{hashlib.sha256(numbers.encode()).hexdigest()[:32]}.npz"


def _read(path: Path, q0: float, looks: Ints, alpha: float) -> Boundary | None:
    """The table at `path`; None where there is none, or not a whole one of these looks."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            stored, claim, give_up = file["looks"], file["claim"], file["give_up"]
    except DAMAGED:
        return None
    whole = all(counts.dtype == np.int64 and counts.shape == looks.shape for counts in (claim, give_up))
    if not whole or not np.array_equal(stored, looks):
        return None
    for counts in (looks, claim, give_up):
        counts.flags.writeable = False
    return Boundary(q0, alpha, looks, claim, give_up)


def _made(path: Path, q0: float, looks: Ints, alpha: float, beta: float) -> Boundary:
    """A new table, checked, and written to `path` if that can be."""
    table = boundary(q0, looks, alpha, beta)
    level = crossing_probability(table.claim, table.looks, q0)
    if level > alpha:
        raise RuntimeError(f"the boundary for {q0=}, {alpha=} claims falsely with probability {level}: please report")
    file = io.BytesIO()
    np.savez(file, looks=table.looks, claim=table.claim, give_up=table.give_up)
    with suppress(OSError):  # no room to write in: the table is remembered, and made again by the next process
        write_atomically(path, file.getvalue())
    return table
