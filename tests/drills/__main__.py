"""`make drills`: every drill on every subject, a line each, and the figures as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import machine

from cli.processes import server
from drills import clocks, folders, full, kills, object_store, rivals, shards, signals, tails
from drills.bench import Bench, Tally, stage
from drills.subjects import Subject, named, subjects, sweeps

OUT = Path("runs/drills.json")
INSIDE = "DRILLS_INSIDE"  # set for the process that may mount
# Imported once, before the processes are forked that run the commands.
HEAVY = [
    *("randsmooth.training.run", "randsmooth.certification", "randsmooth.papers.reproduction", "randsmooth.report"),
    *("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_agg", "plotly.graph_objects", "plotly.subplots"),
    *("torch.utils.tensorboard", "sklearn.datasets", "drills.faults", "drills.clocks"),
]


@dataclass(frozen=True)
class Drill:
    name: str
    run: Callable[[Bench], None]
    on: list[Subject]


def drills() -> list[Drill]:
    """Kills of all subjects; what is tried many times more, of one of each kind."""
    each = named("train gaussian", "certify fixed", "compare", "leaderboard")
    quick = named("train few", "certify few", "compare", "leaderboard")
    return [
        Drill("kill -9", kills.kills, [subject for subject in subjects() if not subject.name.endswith(" few")]),
        Drill("kill -9", kills.of_sweeps, sweeps()),
        Drill("shards killed", shards.killed, named("certify fixed", "certify grid")),
        Drill("disk full", full.disk_full, quick),
        Drill("small disk", full.small_disk, quick),
        Drill("read-only", full.read_only, quick),
        Drill("folder removed", folders.removed, each),
        Drill("clock set back", clocks.set_back, each[:2]),
        Drill("two at once", rivals.rivals, each),
        Drill("object store", object_store.every_tenth, quick[:2]),
        Drill("disk full", full.disk_full, named("certify shard", "certify workers")),
        Drill("clock set back", clocks.set_back, named("certify shard", "certify workers")),
        Drill("two at once", rivals.rivals, named("certify shard")),
        Drill("torn journal", tails.torn, named("certify fixed")),
        Drill("SIGTERM", signals.terminated, each),
        Drill("Ctrl-C", signals.interrupted, each),
        Drill("Ctrl-C twice", signals.interrupted_twice, each),
    ]


def main() -> None:
    _enter_a_space_of_our_own()
    times, seed = int(os.environ.get("DRILLS_TIMES", "20")), int(os.environ.get("DRILLS_SEED", "0"))
    chosen = list(_chosen(os.environ.get("DRILLS", "")))
    if not chosen:
        sys.exit(f"DRILLS={os.environ['DRILLS']} names none of: {', '.join(drill.name for drill in drills())}")
    print(f"DRILLS_TIMES={times} DRILLS_SEED={seed}", flush=True)
    begun = time.monotonic()
    os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count() or 1))  # bits are compared: none shall choose its own
    with tempfile.TemporaryDirectory(prefix="drills-") as folder, server(HEAVY):
        root = Path(folder)
        stage(root / "stage")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            running = [pool.submit(_one, drill, subject, root, seed, times) for drill, subject in chosen]
            tallies = [one.result() for one in running]
    _write(tallies, times, seed, time.monotonic() - begun)
    print(f"{sum(tally.passed for tally in tallies)} of {len(tallies)} as they should be")
    sys.exit(not all(tally.passed for tally in tallies))


def _chosen(words: str) -> Iterator[tuple[Drill, Subject]]:
    """Drill and subject whose `drill: subject` holds one of the comma-separated words."""
    for drill in drills():
        for subject in drill.on:
            if any(word in f"{drill.name}: {subject.name}" for word in words.split(",")):
                yield drill, subject


def _one(drill: Drill, subject: Subject, root: Path, seed: int, times: int) -> Tally:
    """The drill on the subject, in a folder that is removed after it."""
    here = Path(tempfile.mkdtemp(dir=root))
    bench = Bench(subject, root / "stage", here, seed, times, drill.name)
    begun = time.monotonic()
    try:
        if drill.run is full.small_disk and not full.may_mount():
            bench.tally.skipped = "not tried: a small disk cannot be mounted here"
        else:
            bench.measure()
            drill.run(bench)
    except Exception as error:  # one drill that breaks down is told, and the others go on
        bench.tally.note(f"the drill broke down: {error!r}")
    bench.tally.seconds = round(time.monotonic() - begun, 1)
    shutil.rmtree(here, ignore_errors=True)
    print(line(bench.tally), flush=True)
    return bench.tally


def line(tally: Tally) -> str:
    """A row of the table."""
    counts = {key: getattr(tally, key) for key in ("tried", "missed", "refused", "ended", "equal", "unequal", "raw")}
    told = tally.skipped or "  ".join(f"{key} {value}" for key, value in counts.items() if value or key != "missed")
    wrong = "".join(f"\n    {one}" for one in tally.wrong)
    return f"{tally.drill:32} {'' if tally.passed else 'WRONG  '}{told}  ({tally.seconds:.0f} s){wrong}"


def _write(tallies: list[Tally], times: int, seed: int, took: float) -> None:
    command = f"make drills DRILLS_TIMES={times} DRILLS_SEED={seed}"
    told = {"command": command, "machine": machine(), "seconds": round(took), "drills": [t.told() for t in tallies]}
    out = Path(os.environ.get("DRILLS_OUT", OUT))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(told, indent=1) + "\n")
    print(out)


def _enter_a_space_of_our_own() -> None:
    """Start again where a small disk may be mounted that nobody else sees, if the system lets us."""
    ours = ["unshare", "--user", "--map-root-user", "--mount"]
    if INSIDE in os.environ or not shutil.which("unshare"):
        return
    if subprocess.run([*ours, "true"], capture_output=True).returncode == 0:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", [*ours, sys.executable, "-m", "drills"])


if __name__ == "__main__":
    main()
