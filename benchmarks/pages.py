"""What a page and a start cost: comparisons and leaderboards of made-up logs, and commands that do nothing yet.

    python benchmarks/pages.py report [--out results/bench/report-cpu.json]
    python benchmarks/pages.py leaderboard [--tables 3000] [--keep FOLDER]
    python benchmarks/pages.py startup [--out results/bench/startup-cpu.json]

report: seconds to read, compare and draw 21 logs of 10,000 images; the page's weight.
leaderboard: seconds to make that of 3,000 logs of 500 images, and the weight of the page and its JSON. The logs lie
    where six released repositories have theirs: three data sets, four sigmas, six methods with their settings.
startup: CPU seconds of a command beside those of the imports that it cannot do without, each in a process of its own,
    in turn; user and system together, so that a busy machine does not matter much.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import special

from harness import Figure, finish, options_of
from randsmooth import bounds, read, report
from randsmooth.noise import Gaussian

ROUNDS, STARTS, N, ALPHA = 3, 11, 100_000, 0.001
RANDSMOOTH = [sys.executable, "-m", "randsmooth"]
PLACES = (  # of a log in a released repository
    "Hadisalman+smoothing-adversarial/data/certify/{d}/PGD_{t}steps_multiNoiseSamples/{m}-multitrain/eps_{e}/{d}/"
    "resnet110/noise_{s}/test/sigma_{s}",
    "Hadisalman+smoothing-adversarial/data/certify/{d}/DDN_{t}steps/eps_{e}/{d}/resnet110/noise_{s}/test/sigma_{s}",
    "jh-jeong+smoothing-consistency/data/certify/{d}/consistency/cohen/num_{m}/lbd_{t}.0/eta_0.5/noise_{s}_{e}",
    "jh-jeong+smoothmix/data/certify/{d}/smoothmix/smix_1.0_{t}_m0/tau_1.0/num_{m}/{e}/noise_{s}",
    "alinlab+smoothing-catrs/data/{d}/noise_{s}/cat-rs/adv_{e}.0_{t}/num_{m}/noise_{s}.tsv",
    "eth-sri+acr-weakness/data/certify/{d}/macer/num_{m}/lbd_{t}.0/gamma_8.0/{e}/noise_{s}.tsv",
)
SETTINGS = {
    "e": (64, 127, 255, 512),
    "t": (2, 4, 6, 8, 10),
    "m": (2, 4, 8),
    "s": ("0.12", "0.25", "0.50", "1.00"),
    "d": ("cifar10", "mnist", "imagenet"),
}


def places() -> Iterator[tuple[Path, float]]:
    """Where the logs of a leaderboard lie, each once, and the sigma of each; without end."""
    for run in itertools.count(1):
        seen = set()
        for *values, form in itertools.product(*SETTINGS.values(), PLACES):
            named = dict(zip(SETTINGS, values, strict=True))
            place = Path(
                str(run), form.format(**named)
            )  # which some do not need all settings for
            if place not in seen:
                seen.add(place)
                yield place, float(str(named["s"]))


def write_logs(
    folder: Path, logs: Iterable[tuple[Path, float]], images: int, step: int = 1
) -> list[Path]:
    """Logs as the literature writes them, of every `step`th image, with easy and hard images that all share.

    Args:
        logs: where each lies in the folder, and its sigma.
    """
    rng, paths = np.random.default_rng(0), []
    label, hard = rng.integers(0, 10, images), rng.normal(size=images)
    counts = np.unique(
        np.rint(N * special.ndtr(np.linspace(-0.1, 5.0, 4000))).astype(np.int64)
    )
    scaled = Gaussian(1.0).radius(
        bounds.q_upper(counts, N, ALPHA)
    )  # of each count, in sigmas
    for place, sigma in logs:
        p_a = special.ndtr(
            rng.normal(1.2, 0.3) + 1.3 * hard + 0.4 * rng.normal(size=images)
        )
        radius = (
            sigma
            * scaled[np.clip(np.searchsorted(counts, N * p_a), 0, len(counts) - 1)]
        )
        rows = zip(range(0, step * images, step), label, radius, strict=True)
        lines = [
            f"{i}\t{y}\t{y if r > 0 else -1}\t{r:.3g}\t{int(r > 0)}\t0:00:09.5"
            for i, y, r in rows
        ]
        paths.append(folder / place)
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(
            "\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *lines]) + "\n"
        )
    return paths


def seconds_of(run: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return found


def compare(options: argparse.Namespace) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        methods = ["gaussian", *(f"method-{i}" for i in range(1, 21))]
        logs = write_logs(
            Path(name), [(Path(f"{method}.tsv"), 0.5) for method in methods], 10_000
        )
        page = Path(name) / "report.html"

        def draw() -> None:
            report.write_comparison(
                [read(log).assuming(sigma=0.5, n=N, alpha=ALPHA) for log in logs], page
            )

        seconds, size = statistics.median(seconds_of(draw)), page.stat().st_size / 1e6
    what = "21 logs of 10,000 images"
    yield Figure(
        f"read, compare and draw {what}", seconds, 20.0, [], unit=" s", most=True
    ).told()
    yield Figure(f"page of {what}", size, 8.0, [], unit=" MB", most=True).told()


def leaderboard(options: argparse.Namespace) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        write_logs(
            folder / "logs", itertools.islice(places(), options.tables), 500, step=20
        )
        page = folder / "board.html"
        command = [
            *RANDSMOOTH,
            "leaderboard",
            str(folder / "logs"),
            "--out",
            str(page),
            "--overwrite",
        ]
        seconds = min(
            seconds_of(
                lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            )
        )
        sizes = {
            path.suffix[1:]: path.stat().st_size / 1e6
            for path in (page, page.with_suffix(".json"))
        }
    what = f"{options.tables:,} logs of 500 images"
    yield Figure(
        f"leaderboard of {what}", seconds, 60.0, [], unit=" s", most=True
    ).told()
    for kind, size in sizes.items():
        yield Figure(f"{kind} of {what}", size, 10.0, [], unit=" MB", most=True).told()


def startup(options: argparse.Namespace) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        (log,) = write_logs(Path(folder), [(Path("gaussian.tsv"), 0.5)], 10_000)
        evaluate = [
            *RANDSMOOTH,
            "evaluate",
            str(log),
            "--sigma",
            "0.5",
            "--n",
            str(N),
            "--alpha",
            str(ALPHA),
        ]
        yield beside_imports("--help", [*RANDSMOOTH, "--help"], "click, rich", 2.0)
        yield beside_imports(
            "evaluate LOG of 10,000 images",
            evaluate,
            "pandas, scipy.stats, pyarrow",
            1.5,
        )


def beside_imports(
    name: str, command: Sequence[str], imports: str, target: float
) -> Figure:
    """CPU seconds of `command` over those of a Python process that only imports `imports`."""
    alone = [sys.executable, "-c", f"import {imports}"]
    (
        cpu_seconds(alone),
        cpu_seconds(command),
    )  # what is compiled or read from disk for the first time
    rounds = [(cpu_seconds(alone), cpu_seconds(command)) for _ in range(STARTS)]
    baseline, value = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    note = f"{baseline:.3f} s -> {value:.3f} s of CPU"
    return Figure(
        f"{name} beside import {imports}",
        value / baseline,
        target,
        rounds,
        note,
        most=True,
    ).told()


def cpu_seconds(command: Sequence[str]) -> float:
    """What one run of `command` takes; its output is discarded. Raises CalledProcessError where it fails."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime


QUESTIONS = {"report": compare, "leaderboard": leaderboard, "startup": startup}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument("--tables", type=int, default=3000, help="of leaderboard")
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder for the leaderboard's logs and page; default: removed",
    )
    options = parser.parse_args()
    finish(QUESTIONS[options.question](options), options.out, options.question)


if __name__ == "__main__":
    main()
