"""A comparison of 21 logs of 10,000 images: seconds to read, compare and draw it, and the page's weight.

    python benchmarks/report.py [--out results/bench/report-cpu.json]

The logs are made up: radii of a hard and an easy part that all methods share.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from harness import Figure, finish
from randsmooth import read, report

LOGS, IMAGES, ROUNDS = 21, 10_000, 3
SECONDS, MEGABYTES = 20.0, 8.0


def write_logs(folder: Path, logs: int = LOGS) -> list[Path]:
    """Logs as the literature writes them, the first called gaussian."""
    rng = np.random.default_rng(0)
    label, hard = rng.integers(0, 10, IMAGES), rng.normal(size=IMAGES)
    paths = [folder / f"{'gaussian' if i == 0 else f'method-{i}'}.tsv" for i in range(logs)]
    for path in paths:
        radius = np.clip(0.5 * (rng.normal(0.9, 0.5) + hard + 0.3 * rng.normal(size=IMAGES)), 0.0, 1.9)
        rows = zip(range(IMAGES), label, radius, strict=True)
        lines = [f"{i}\t{y}\t{y if r > 0 else -1}\t{r:.3g}\t{int(r > 0)}\t0:00:09.5" for i, y, r in rows]
        path.write_text("\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *lines]) + "\n")
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/report.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        logs, page, seconds = write_logs(Path(name)), Path(name) / "report.html", []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            report.write_comparison([read(log).assuming(sigma=0.5, n=100_000, alpha=0.001) for log in logs], page)
            seconds.append(time.perf_counter() - start)
        size = page.stat().st_size / 1e6
    what = f"{LOGS} logs of {IMAGES:,} images"
    figures = [
        Figure(f"read, compare and draw {what}", statistics.median(seconds), SECONDS, [], unit=" s", most=True),
        Figure(f"page of {what}", size, MEGABYTES, [], unit=" MB", most=True),
    ]
    for figure in figures:
        print(figure.line(), flush=True)
    finish(figures, options.out)


if __name__ == "__main__":
    main()
