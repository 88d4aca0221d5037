"""The clock of the wall set back while a command runs, as a server of time does to a machine that was ahead."""

from __future__ import annotations

import time
from functools import partial

import pandas as pd

from drills.bench import Bench
from randsmooth import read

DAY = 86_400.0


def set_back(bench: Bench) -> None:
    """Set it back by a day at `times` random moments: the result is equal, and nothing took less than no time."""
    for _ in range(bench.times):
        bench.clear()
        bench.tally.tried += 1
        code, said = bench.run(bench.command(), partial(install, bench.rng.uniform(0.0, bench.took)))
        bench.tally.end(code, said)
        bench.tally.judge(bench.difference(bench.whole) or _negative(bench))


def install(after: float) -> None:
    """Have the clock of this process be a day behind, `after` seconds from now on. No other clock can go back."""
    shown, counted, begun = time.time, time.time_ns, time.monotonic()

    def behind() -> float:
        return DAY if time.monotonic() - begun >= after else 0.0

    time.time = lambda: shown() - behind()
    time.time_ns = lambda: counted() - int(behind()) * 10**9


def _negative(bench: Bench) -> str:
    """Which files hold a time below 0."""
    times = {path: pd.read_csv(path)["seconds"] for path in bench.out.rglob("history.csv")}
    times |= {path: pd.Series(read(path).seconds) for path in bench.out.rglob("*.parquet")}
    odd = [path.name for path, seconds in times.items() if (seconds < 0).any()]
    return f"negative times in {', '.join(odd)}" if odd else ""
