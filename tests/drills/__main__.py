"""`make drills`: every drill on every subject, a line each, and the figures as JSON."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.harness import machine

from cli.processes import server
from drills import disks, disturb
from drills.bench import Bench, Tally, stage
from drills.subjects import SUBJECTS

OUT = Path("runs/drills.json")
# Imported once, before the processes are forked that run the commands.
HEAVY = [
    *(
        "randsmooth.training.run",
        "randsmooth.certification",
        "randsmooth.papers.reproduction",
        "randsmooth.report",
    ),
    *(
        "matplotlib.backends.backend_pdf",
        "matplotlib.backends.backend_agg",
        "plotly.graph_objects",
        "plotly.subplots",
    ),
    *("torch.utils.tensorboard", "sklearn.datasets", "drills.disks", "drills.disturb"),
]
EACH = ("train gaussian", "certify fixed", "compare", "leaderboard")
QUICK = ("train few", "certify few", "compare", "leaderboard")
PARTS = ("certify shard", "certify workers")
RUNS = tuple(name for name in SUBJECTS if not name.endswith((" few", "sweep")))
# Kills of all subjects; what is tried many times more, of one of each kind.
DRILLS: tuple[tuple[str, Callable[[Bench], None], tuple[str, ...]], ...] = (
    ("kill -9", disturb.kills, RUNS),
    ("kill -9", disturb.of_sweeps, ("sweep",)),
    ("disk full", disks.disk_full, (*QUICK, *PARTS)),
    ("read-only", disks.read_only, QUICK),
    ("two at once", disturb.rivals, (*EACH, "certify shard")),
    ("torn journal", disturb.torn, ("certify fixed",)),
    ("SIGTERM", disturb.terminated, EACH),
    ("Ctrl-C", disturb.interrupted, EACH),
    ("Ctrl-C twice", disturb.interrupted_twice, EACH),
)


def main() -> None:
    times, seed = (
        int(os.environ.get("DRILLS_TIMES", "20")),
        int(os.environ.get("DRILLS_SEED", "0")),
    )
    todo = list(chosen(os.environ.get("DRILLS", "")))
    if not todo:
        sys.exit(
            f"DRILLS={os.environ['DRILLS']} names none of: {', '.join(name for name, *_ in DRILLS)}"
        )
    print(f"DRILLS_TIMES={times} DRILLS_SEED={seed}", flush=True)
    begun = time.monotonic()
    os.environ.setdefault(
        "OMP_NUM_THREADS", str(os.cpu_count() or 1)
    )  # bits are compared: none shall choose its own
    with tempfile.TemporaryDirectory(prefix="drills-") as folder, server(HEAVY):
        root = Path(folder)
        stage(root / "stage")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tallies = [
                *pool.map(
                    lambda one: drilled(one[0], one[1], one[2], root, seed, times), todo
                )
            ]
    command = f"make drills DRILLS_TIMES={times} DRILLS_SEED={seed}"
    told = {
        "command": command,
        "machine": machine(),
        "seconds": round(time.monotonic() - begun),
    }
    out = Path(os.environ.get("DRILLS_OUT", OUT))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        json.dumps(told | {"drills": [tally.told() for tally in tallies]}, indent=1)
        + "\n"
    )
    print(
        f"{out}\n{sum(tally.passed for tally in tallies)} of {len(tallies)} as they should be"
    )
    sys.exit(not all(tally.passed for tally in tallies))


def chosen(words: str) -> Iterator[tuple[str, Callable[[Bench], None], str]]:
    """Those whose `drill: subject` holds one of the comma-separated words."""
    for name, drill, subjects in DRILLS:
        for subject in subjects:
            if any(word in f"{name}: {subject}" for word in words.split(",")):
                yield name, drill, subject


def drilled(
    name: str,
    drill: Callable[[Bench], None],
    subject: str,
    root: Path,
    seed: int,
    times: int,
) -> Tally:
    """The drill on the subject, in a folder that is removed after it."""
    here = Path(tempfile.mkdtemp(dir=root))
    bench, begun = (
        Bench(SUBJECTS[subject], root / "stage", here, seed, times, name),
        time.monotonic(),
    )
    try:
        bench.measure()
        drill(bench)
    except (
        Exception
    ) as error:  # one drill that breaks down is told, and the others go on
        bench.tally.note(f"the drill broke down: {error!r}")
    bench.tally.seconds = round(time.monotonic() - begun, 1)
    shutil.rmtree(here, ignore_errors=True)
    print(line(bench.tally), flush=True)
    return bench.tally


def line(tally: Tally) -> str:
    """A row of the table."""
    counts = {
        key: getattr(tally, key)
        for key in ("tried", "missed", "refused", "ended", "equal", "unequal", "raw")
    }
    told = "  ".join(
        f"{key} {value}" for key, value in counts.items() if value or key != "missed"
    )
    wrong = "".join(f"\n    {one}" for one in tally.wrong)
    return f"{tally.drill:32} {'' if tally.passed else 'WRONG  '}{told}  ({tally.seconds:.0f} s){wrong}"


if __name__ == "__main__":
    main()
