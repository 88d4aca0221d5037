"""Journals torn at every byte of their last lines, as a kill or a power failure in a write leaves them."""

from __future__ import annotations

import time
from pathlib import Path

from drills.bench import Bench

LINES = 8  # of the journal that is torn
LAST = 1  # lines of which every byte is tried


def torn(bench: Bench) -> None:
    """Cut the journal off at every byte of its last lines, and at `times` others; then put zeros for `times` tails.

    Fewer than 20 times, at every so many-th byte.
    """
    journal, path = _journal(bench)
    kept = b"".join(journal.splitlines(keepends=True)[:-LAST])
    cuts = [
        *range(len(kept), len(journal) + 1, bench.step),
        *(bench.rng.randrange(len(kept)) for _ in range(bench.times)),
    ]
    for cut in cuts:
        _resumed(bench, path, journal[:cut])
    for _ in range(bench.times):  # a file system may keep a file's length and lose what was in it
        cut = bench.rng.randrange(len(kept), len(journal))
        _resumed(bench, path, journal[:cut] + bytes(len(journal) - cut))


def _resumed(bench: Bench, path: Path, journal: bytes) -> None:
    bench.clear()
    path.parent.mkdir(parents=True)
    path.write_bytes(journal)
    bench.tally.tried += 1
    bench.tally.judge(bench.settle())


def _journal(bench: Bench) -> tuple[bytes, Path]:
    """What is in the journal of a run that was killed after some lines, and where."""
    bench.clear()
    process, path = bench.begin(bench.command()), bench.out / "a.parquet.partial"
    while not path.exists() or path.read_bytes().count(b"\n") < LINES:
        if not process.is_alive():
            raise RuntimeError("the run ended before it could be killed: make it longer")
        time.sleep(0.002)
    process.kill()
    process.join()
    whole = path.read_bytes()
    return whole[: whole.rindex(b"\n") + 1], path
