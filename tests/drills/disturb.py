"""What is done to a running command: kills, signals, a rival, a torn journal."""

import os
import shutil
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from drills.bench import PATIENCE, Bench
from drills.facts import facts, made_twice

CHAIN = 4  # kills of one run, at most, before it is let go on to its end
LINES = 8  # of the journal that is torn


# --- kills ----------------------------------------------------------------------------------------------------------


def kills(bench: Bench) -> None:
    """kill -9 at `times` random moments, of runs and of those that go on with them; each end's result is equal."""
    while bench.tally.tried < bench.times:
        bench.clear()
        for _ in range(min(CHAIN, bench.times - bench.tally.tried)):
            if not _killed(bench):
                break
            bench.tally.note(bench.torn())
        bench.tally.judge(bench.settle() or made_twice(bench.out))


def of_sweeps(bench: Bench) -> None:
    """`kills`, a quarter as often: of the process that runs the others, which must not outlive it."""
    bench.times = max(1, bench.times // 4)
    kills(bench)


def _killed(bench: Bench) -> bool:
    """Whether the kill came before the end."""
    process = bench.begin(bench.command())
    bench.pause()
    process.kill()
    process.join()
    if process.exitcode == -9:
        bench.tally.tried += 1
        return True
    bench.tally.missed += 1
    bench.tally.end(process.exitcode, bench.words())
    return False


# --- signals --------------------------------------------------------------------------------------------------------


def signalled(bench: Bench, sent: Sequence[signal.Signals], codes: set[int]) -> None:
    """Send the signals at `times` random moments: the exit code tells of it, and no traceback."""
    tally = bench.tally
    while tally.tried < bench.times:
        bench.clear()
        process = bench.begin(bench.command())
        bench.pause()
        met = process.is_alive()
        for number in sent:
            if process.is_alive() and process.pid:
                os.kill(process.pid, number)
                bench.pause(0.2 * (len(sent) > 1))
        process.join(PATIENCE)
        if process.exitcode == 0 or not met:  # it came when all was done
            tally.missed += 1
            continue
        tally.tried += 1
        said = bench.words()
        told = (
            process.exitcode in codes
            and "Traceback" not in said
            and "Exception ignored" not in said
        )
        tally.refused, tally.raw = tally.refused + told, tally.raw + (not told)
        tally.note(
            "" if told else f"exit code {process.exitcode}: {said.strip()[-1500:]}"
        )
        tally.judge(bench.settle())


# --- a rival, the journal --------------------------------------------------------------------


def rivals(bench: Bench) -> None:
    """Begin two that would write other results, `times` times, the second while the first runs, each as the first.

    Neither is told to go on or to overwrite: of the two one must win, and its result be whole.
    """
    shutil.rmtree(bench.kept, ignore_errors=True)
    results = []
    for other in (False, True):
        bench.clear()
        bench.finish(bench.command(again=False, other=other))
        results.append(facts(bench.out))
    for _ in range(bench.times):
        bench.clear()
        codes = _both(bench, first=bench.rng.random() < 0.5)
        bench.tally.tried += 1
        winners = [other for other, code in codes.items() if code == 0]
        alone = len(winners) == 1
        bench.tally.judge(
            bench.difference(results[winners[0]])
            if alone
            else f"{len(winners)} of 2 won"
        )


def _both(bench: Bench, first: bool) -> dict[bool, int | None]:
    """Exit codes of the command and of its rival; `first`: the rival begins."""
    said, begun = (
        {other: bench.root / f"said {other}" for other in (first, not first)},
        {},
    )
    for other in said:
        begun[other] = bench.begin(
            bench.command(again=False, other=other), said=said[other]
        )
        bench.pause(None if other == first else 0.0)
    for other, process in begun.items():
        process.join()
        bench.tally.end(process.exitcode, bench.words(said[other]))
    return {other: process.exitcode for other, process in begun.items()}


def torn(bench: Bench) -> None:
    """Cut the journal off at every byte of its last line, and at `times` others; then put zeros for `times` tails.

    So kills and power failures leave it; a file system may keep a file's length and lose what was in it. Fewer than 20
    times, at every so many-th byte.
    """
    journal, path = _journal(bench)
    last = journal[:-1].rindex(b"\n") + 1
    cuts = [
        *range(last, len(journal) + 1, bench.step),
        *(bench.rng.randrange(last) for _ in range(bench.times)),
    ]
    tails = [bench.rng.randrange(last, len(journal)) for _ in range(bench.times)]
    for left in [
        *(journal[:cut] for cut in cuts),
        *(journal[:cut] + bytes(len(journal) - cut) for cut in tails),
    ]:
        bench.clear()
        path.parent.mkdir(parents=True)
        path.write_bytes(left)
        bench.tally.tried += 1
        bench.tally.judge(bench.settle())


def _journal(bench: Bench) -> tuple[bytes, Path]:
    """What is in the journal of a run that was killed after some lines, and where."""
    bench.clear()
    process, path = bench.begin(bench.command()), bench.out / "a.parquet.partial"
    while not path.exists() or path.read_bytes().count(b"\n") < LINES:
        if not process.is_alive():
            raise RuntimeError(
                "the run ended before it could be killed: make it longer"
            )
        time.sleep(0.002)
    process.kill()
    process.join()
    whole = path.read_bytes()
    return whole[: whole.rindex(b"\n") + 1], path


interrupted = partial(signalled, sent=[signal.SIGINT], codes={130})
interrupted_twice = partial(
    signalled, sent=[signal.SIGINT, signal.SIGINT], codes={130, -signal.SIGINT}
)
terminated = partial(signalled, sent=[signal.SIGTERM], codes={130})
