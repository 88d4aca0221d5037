"""Two commands that write one output: one wins, the other says so."""

from __future__ import annotations

import shutil
import time

from drills.bench import Bench
from drills.facts import facts


def rivals(bench: Bench) -> None:
    """Begin two that would write other results, `times` times, the second while the first runs, each as the first.

    Neither is told to go on or to overwrite: of the two one must win, and its result be whole.
    """
    shutil.rmtree(bench.kept, ignore_errors=True)
    results = [_alone(bench, other) for other in (False, True)]
    for _ in range(bench.times):
        bench.clear()
        first = bench.rng.random() < 0.5
        codes = _both(bench, first, bench.rng.uniform(0.0, bench.took))
        bench.tally.tried += 1
        winners = [other for other, code in codes.items() if code == 0]
        if len(winners) == 1:
            bench.tally.judge(bench.difference(results[winners[0]]))
        else:
            bench.tally.judge(f"{len(winners)} of 2 won")


def _alone(bench: Bench, other: bool) -> dict[str, str]:
    bench.clear()
    bench.finish(bench.command(again=False, other=other))
    return facts(bench.out)


def _both(bench: Bench, first: bool, apart: float) -> dict[bool, int | None]:
    """Exit codes of the command and of its rival; `first`: the rival begins."""
    said = {other: bench.root / f"said {other}" for other in (first, not first)}
    begun = {}
    for other in said:
        begun[other] = bench.begin(bench.command(again=False, other=other), said=said[other])
        time.sleep(apart * (other == first))
    for other, process in begun.items():
        process.join()
        bench.tally.end(process.exitcode, said[other].read_text(errors="replace"))
    return {other: process.exitcode for other, process in begun.items()}
