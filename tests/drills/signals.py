"""Ctrl-C, Ctrl-C twice, and the request to end that batch systems send."""

from __future__ import annotations

import os
import signal
import time

from drills.bench import PATIENCE, Bench

BETWEEN = 0.2  # seconds, at most, between two


def interrupted(bench: Bench) -> None:
    _signalled(bench, [signal.SIGINT], {130})


def interrupted_twice(bench: Bench) -> None:
    _signalled(bench, [signal.SIGINT, signal.SIGINT], {130, -signal.SIGINT})


def terminated(bench: Bench) -> None:
    _signalled(bench, [signal.SIGTERM], {-signal.SIGTERM})


def _signalled(bench: Bench, sent: list[signal.Signals], codes: set[int]) -> None:
    """Send the signals at `times` random moments: the exit code tells of it, and no traceback."""
    tally = bench.tally
    while tally.tried < bench.times:
        bench.clear()
        process = bench.begin(bench.command())
        time.sleep(bench.rng.uniform(0.0, bench.took))
        met = process.is_alive()
        for number in sent:
            if process.is_alive() and process.pid:
                os.kill(process.pid, number)
                time.sleep(bench.rng.uniform(0.0, BETWEEN) * (len(sent) > 1))
        process.join(PATIENCE)
        if process.exitcode == 0 or not met:  # it came when all was done
            tally.missed += 1
            continue
        tally.tried += 1
        said = bench.said.read_text(errors="replace")
        told = process.exitcode in codes and "Traceback" not in said and "Exception ignored" not in said
        tally.refused, tally.raw = tally.refused + told, tally.raw + (not told)
        tally.note("" if told else f"exit code {process.exitcode}: {said.strip()[-1500:]}")
        tally.judge(bench.settle())
