"""Drills of workers: they and their driver are killed, stopped, or made unlike the others, and the table is compared.

    PYTHONPATH=tests python -m cluster.drill [--workers 20] [--drivers 5] [--seed 0] [--out results/drills/workers.json]

Each disturbs a run of `randsmooth certify ... --workers 3` and compares what it leaves with the table of one process:
every count, path and label; that no image is missing or there twice; and that no process outlives its driver.

- kill -9 of workers: at random moments, several in one run.
- kill -9 of the driver: at random moments, then --resume with workers.
- a slow worker: one is stopped (SIGSTOP) for good after the first row; the run ends without it.
- other weights: the second worker opens another model; it is left out.
- another release: the first worker says that it is another randsmooth; it is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from certification.runs import same
from randsmooth import read
from randsmooth.certificates import Certificates
from randsmooth.certificates.partial import journal_path

IMAGES, WORKERS, PATIENCE = 60, 3, 600.0
SETTINGS = ["--dataset", "digits", "--sigma", "0.25", "--n0", "100", "--n", "10000", "--rule", "grid"]
SETTINGS += ["--take", str(IMAGES), "--backend", "torch"]
KILLS_OF_A_RUN = 5

MODEL = """
import multiprocessing
import torch
from torch import nn

def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10)).eval()

def other_in_the_second_worker():
    return net(1 if multiprocessing.current_process().name == "randsmooth-2" else 0)
"""

# Found on the path by every Python that starts: the first worker of all takes the name of an older release.
OLD_RELEASE = """
import os, sys
from importlib import metadata

if "--multiprocessing-fork" in sys.orig_argv:
    try:
        os.close(os.open({mark!r}, os.O_CREAT | os.O_EXCL))
        true = metadata.version
        metadata.version = lambda name: "0.0.1" if name == "randsmooth" else true(name)
    except FileExistsError:
        pass
"""


@dataclass
class Tally:
    """What one drill came to.

    Attributes:
        drill: its name.
        tried: disturbances that took place.
        runs: tables that were compared.
        differ: of these, tables that differ from the undisturbed one.
        left_over: processes that outlived their driver.
        said: lines of the runs that tell of it, the first of each kind.
        seconds: what the drill took.
    """

    drill: str
    tried: int = 0
    runs: int = 0
    differ: int = 0
    left_over: int = 0
    said: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.runs > 0 and not self.differ and not self.left_over


class Run:
    """One `randsmooth certify` with workers, in a folder of its own."""

    def __init__(self, folder: Path, model: str = "net", path: str = "") -> None:
        self.folder, self.out = folder, folder / "a.parquet"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.py").write_text(MODEL)
        self.words = [
            sys.executable,
            "-m",
            "randsmooth",
            "certify",
            f"model.py:{model}",
            *SETTINGS,
            "--out",
            "a.parquet",
        ]
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [path, *sys.path]))}
        self.seen: set[int] = set()
        self.said = ""

    def start(self, *more: str) -> None:
        """Begin the command with `more` words; what it says goes to a file."""
        self.told = (self.folder / "said.txt").open("w+")
        words = [*self.words, "--workers", str(WORKERS), *more]
        self.driver = subprocess.Popen(
            words, cwd=self.folder, env=self.environment, stdout=self.told, stderr=subprocess.STDOUT
        )

    def workers(self) -> list[int]:
        """The processes that certify."""
        found = [pid for pid in children(self.driver.pid) if "--multiprocessing-fork" in command(pid)]
        self.seen |= {*found}
        return found

    def rows(self) -> int:
        path = journal_path(self.out)
        try:
            return max(0, path.read_bytes().count(b"\n") - 1)
        except FileNotFoundError:
            return IMAGES if self.out.exists() else 0

    def reaches(self, rows: int, workers: int = 1) -> bool:
        """Wait until so many images are finished, and so many workers there; whether that was before the end."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.driver.poll() is None:
            if len(self.workers()) >= workers and self.rows() >= rows:
                return True
            time.sleep(0.02)
        return False

    def end(self, tally: Tally) -> int:
        """Wait for the run's end, and for that of its workers."""
        self.reaches(IMAGES + 1)
        code = self.driver.wait(PATIENCE)
        deadline = time.monotonic() + 20
        while any(map(living, self.seen)) and time.monotonic() < deadline:
            time.sleep(0.05)
        tally.left_over += sum(map(living, self.seen))
        self.told.seek(0)
        self.said = self.told.read()
        self.told.close()
        return code

    def judge(self, tally: Tally, whole: Certificates, code: int) -> None:
        """Compare the table with that of one process."""
        tally.runs += 1
        good = code == 0 and self.out.exists() and not journal_path(self.out).exists()
        found = read(self.out) if good else None
        if found is None or found.header.behaviour != whole.header.behaviour or not same_rows(found, whole):
            tally.differ += 1
            tally.said.append(f"exit code {code}: {self.said[-500:]}")
        for line in self.said.splitlines():
            kind = line.partition("(")[0].rstrip("0123456789 ")
            if line.startswith("note: w") and not any(each.startswith(kind[:12]) for each in tally.said):
                tally.said.append(line)


def same_rows(found: Certificates, whole: Certificates) -> bool:
    """Whether two tables hold the same evidence about the same images, each once, in the same order."""
    return len({*found.idx.tolist()}) == IMAGES and same(found, whole)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def living(pid: int) -> bool:
    """Whether it is there, as what it was when it was seen: a worker."""
    return "--multiprocessing-fork" in command(pid)


def kill_workers(tally: Tally, folder: Path, whole: Certificates, times: int, rng: random.Random) -> None:
    while tally.tried < times:
        run = Run(folder / f"workers-{tally.runs}")
        run.start()
        for _ in range(min(KILLS_OF_A_RUN, times - tally.tried)):
            if not run.reaches(run.rows() + rng.randrange(0, 8)):
                break
            time.sleep(rng.uniform(0.0, 0.3))
            victim = rng.choice(run.workers() or [0])
            if victim and run.driver.poll() is None:
                os.kill(victim, signal.SIGKILL)
                tally.tried += 1
        run.judge(tally, whole, run.end(tally))


def kill_drivers(tally: Tally, folder: Path, whole: Certificates, times: int, rng: random.Random) -> None:
    run, more = Run(folder / "driver-0"), list[str]()
    while tally.tried < times:
        run.start(*more)
        if run.reaches(run.rows() + rng.randrange(0, IMAGES // 3)):
            time.sleep(rng.uniform(0.0, 0.3))
            run.driver.kill()
            tally.tried += run.driver.wait() == -signal.SIGKILL
        code, more = run.end(tally), ["--resume"]
        if code == 0:
            run.judge(tally, whole, code)
            run, more = Run(folder / f"driver-{tally.runs}"), []
    run.start(*more)
    run.judge(tally, whole, run.end(tally))


def stop_one(tally: Tally, folder: Path, whole: Certificates) -> None:
    run = Run(folder / "slow")
    run.start()
    if run.reaches(1, WORKERS):
        os.kill(run.workers()[0], signal.SIGSTOP)
        tally.tried += 1
    run.judge(tally, whole, run.end(tally))


def other_weights(tally: Tally, folder: Path, whole: Certificates) -> None:
    run = Run(folder / "weights", model="other_in_the_second_worker")
    run.start()
    code = run.end(tally)
    tally.tried += "worker 2 is left out (another model: weights" in run.said
    mine = whole.header.having(model=(whole.header.model or {}) | {"source": "model.py:other_in_the_second_worker"})
    run.judge(tally, replace(whole, header=mine), code)


def other_release(tally: Tally, folder: Path, whole: Certificates) -> None:
    site = folder / "site"
    site.mkdir(parents=True)
    (site / "sitecustomize.py").write_text(OLD_RELEASE.format(mark=str(site / "taken")))
    run = Run(folder / "release", path=str(site))
    run.start()
    code = run.end(tally)
    tally.tried += "has randsmooth 0.0.1 and this process" in run.said
    run.judge(tally, whole, code)


def undisturbed(folder: Path) -> Certificates:
    """The table of one process."""
    alone = Run(folder / "alone")
    subprocess.run(
        alone.words, cwd=alone.folder, env=alone.environment, check=True, capture_output=True, timeout=PATIENCE
    )
    return read(alone.out)


def drilled(folder: Path, workers: int, drivers: int, seed: int, only: str = "") -> list[Tally]:
    """All drills whose name contains `only`."""
    whole, rng = undisturbed(folder), random.Random(seed)
    drills: dict[str, Callable[[Tally], None]] = {
        "kill -9 of workers": lambda tally: kill_workers(tally, folder, whole, workers, rng),
        "kill -9 of the driver": lambda tally: kill_drivers(tally, folder, whole, drivers, rng),
        "a slow worker": lambda tally: stop_one(tally, folder, whole),
        "other weights": lambda tally: other_weights(tally, folder, whole),
        "another release": lambda tally: other_release(tally, folder, whole),
    }
    tallies = []
    for name, drill in drills.items():
        if only in name:
            tally, start = Tally(name), time.monotonic()
            drill(tally)
            tally.seconds = round(time.monotonic() - start, 1)
            print(tally, flush=True)
            tallies.append(tally)
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=20, help="kills of workers")
    parser.add_argument("--drivers", type=int, default=5, help="kills of the driver")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="drills whose name contains this")
    parser.add_argument("--out", type=Path, default=Path("runs/drills/workers.json"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tallies = drilled(Path(folder), given.workers, given.drivers, given.seed, given.only)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    told = {"command": " ".join(["python -m cluster.drill", *sys.argv[1:]]), "seed": given.seed}
    given.out.write_text(json.dumps(told | {"drills": [asdict(tally) for tally in tallies]}, indent=1) + "\n")
    sys.exit(not all(tally.passed for tally in tallies))


if __name__ == "__main__":
    main()
