"""A leaderboard of 3,000 released logs of 500 images: seconds to make it, and the weight of the page and its JSON.

    python benchmarks/leaderboard.py [--tables 3000] [--keep FOLDER] [--out results/bench/leaderboard-cpu.json]

The logs are made up, and lie where six released repositories have theirs: three data sets, four sigmas, six methods
with their settings. They are written first, which is not counted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import special

from harness import Figure, finish
from randsmooth import bounds

TABLES, IMAGES, ROUNDS = 3000, 500, 3
SECONDS, MEGABYTES = 60.0, 10.0
N, ALPHA = 100_000, 0.001


def places() -> Iterator[tuple[Path, float]]:
    """Where the logs lie, each once, and the sigma of each; without end."""
    methods = (
        "Hadisalman+smoothing-adversarial/data/certify/{d}/PGD_{t}steps_multiNoiseSamples/{m}-multitrain/eps_{e}/{d}/"
        "resnet110/noise_{s}/test/sigma_{s}",
        "Hadisalman+smoothing-adversarial/data/certify/{d}/DDN_{t}steps/eps_{e}/{d}/resnet110/noise_{s}/test/sigma_{s}",
        "jh-jeong+smoothing-consistency/data/certify/{d}/consistency/cohen/num_{m}/lbd_{t}.0/eta_0.5/noise_{s}_{e}",
        "jh-jeong+smoothmix/data/certify/{d}/smoothmix/smix_1.0_{t}_m0/tau_1.0/num_{m}/{e}/noise_{s}",
        "alinlab+smoothing-catrs/data/{d}/noise_{s}/cat-rs/adv_{e}.0_{t}/num_{m}/noise_{s}.tsv",
        "eth-sri+acr-weakness/data/certify/{d}/macer/num_{m}/lbd_{t}.0/gamma_8.0/{e}/noise_{s}.tsv",
    )
    for run in itertools.count(1):
        seen = set()
        for e, t, m, s, d, form in itertools.product(
            (64, 127, 255, 512),
            (2, 4, 6, 8, 10),
            (2, 4, 8),
            ("0.12", "0.25", "0.50", "1.00"),
            ("cifar10", "mnist", "imagenet"),
            methods,
        ):
            place = Path(str(run), form.format(d=d, t=t, m=m, e=e, s=s))  # which some do not need all settings for
            if place not in seen:
                seen.add(place)
                yield place, float(s)


def write_logs(folder: Path, tables: int) -> None:
    """Logs as the literature writes them, with radii of easy and hard images that all methods share."""
    rng = np.random.default_rng(0)
    label, hard = rng.integers(0, 10, IMAGES), rng.normal(size=IMAGES)
    counts = np.unique(np.rint(N * special.ndtr(np.linspace(-0.1, 5.0, 4000))).astype(np.int64))
    scaled = bounds.radius_of_tail(bounds.q_upper(counts, N, ALPHA), 1.0)  # of each count, in sigmas
    for place, sigma in itertools.islice(places(), tables):
        p_a = special.ndtr(rng.normal(1.2, 0.3) + 1.3 * hard + 0.4 * rng.normal(size=IMAGES))
        radius = sigma * scaled[np.clip(np.searchsorted(counts, N * p_a), 0, len(counts) - 1)]
        rows = zip(range(0, 20 * IMAGES, 20), label, radius, strict=True)
        lines = [f"{i}\t{y}\t{y if r > 0 else -1}\t{r:.3}\t{int(r > 0)}\t0:00:09.512345" for i, y, r in rows]
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *lines]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--keep", type=Path, help="folder for the logs and the page; by default they are removed")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/leaderboard.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        write_logs(folder / "logs", options.tables)
        page, seconds, before = folder / "board.html", [], os.times()
        for _ in range(options.rounds):
            start = time.perf_counter()
            command = [sys.executable, "-m", "randsmooth", "leaderboard", folder / "logs", "--out", page, "--overwrite"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
        after = os.times()
        cpu = (
            after.children_user + after.children_system - before.children_user - before.children_system
        ) / options.rounds
        sizes = {path.suffix[1:]: path.stat().st_size / 1e6 for path in (page, page.with_suffix(".json"))}
    what = f"{options.tables:,} logs of {IMAGES} images"
    figures = [
        Figure(f"leaderboard of {what}", min(seconds), SECONDS, [], f"{cpu:.1f} s of CPU", unit=" s", most=True),
        *(Figure(f"{kind} of {what}", size, MEGABYTES, [], unit=" MB", most=True) for kind, size in sizes.items()),
    ]
    for figure in figures:
        print(figure.line(), figure.note, flush=True)
    finish(figures, options.out)


if __name__ == "__main__":
    main()
