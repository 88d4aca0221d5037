"""kill -9 at random moments, of runs and of the runs that go on with them, until one ends."""

from __future__ import annotations

import time

from drills.bench import Bench
from drills.facts import made_twice

CHAIN = 4  # kills of one run, at most, before it is let go on to its end


def kills(bench: Bench) -> None:
    """Kill the command `times` times; its result, each time that it ends, is the undisturbed one."""
    tally = bench.tally
    while tally.tried < bench.times:
        bench.clear()
        for _ in range(min(CHAIN, bench.times - tally.tried)):
            if not _killed(bench):
                break
            tally.note(bench.torn())
        tally.judge(bench.settle() or made_twice(bench.out))


def of_sweeps(bench: Bench) -> None:
    """`kills`, a quarter as often: of the process that runs the others, which must not outlive it."""
    bench.times = max(1, bench.times // 4)
    kills(bench)


def _killed(bench: Bench) -> bool:
    """Whether the kill, at a moment of the undisturbed run's time, came before the end."""
    process = bench.begin(bench.command())
    time.sleep(bench.rng.uniform(0.0, bench.took))
    process.kill()
    process.join()
    if process.exitcode == -9:
        bench.tally.tried += 1
        return True
    bench.tally.missed += 1
    bench.tally.end(process.exitcode, bench.said.read_text(errors="replace"))
    return False
