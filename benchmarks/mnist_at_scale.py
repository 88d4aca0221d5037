"""MNIST models trained on all images for all epochs, beside their authors' logs. Started again, it goes on.

    python benchmarks/mnist_at_scale.py --logs FOLDER --out runs/mnist-at-scale --results results/mnist-at-scale

FOLDER is `data/certify/mnist` of the repository jh-jeong/smoothing-consistency: five training seeds a method, all
10,000 test images at n = 100,000. Their ACR and accuracies are brought down to the n used here, in expectation over
subsets of the samples. The two cannot be paired image by image where the files of MNIST differ in their order.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from harness import written
from randsmooth import metrics, read
from randsmooth.certificates import Certificates
from randsmooth.report.formats import pipes

ALPHA, THEIR_N = 0.001, 100_000
RADII = (0.0, 0.5, 1.0, 1.5)
SIGMAS = (0.25, 0.5, 1.0)
CERTIFIED_AS = {"bf16-mixed": "bf16", "32": "32"}


@dataclass(frozen=True)
class Model:
    """A preset and where the logs of its authors lie; `*` stands for the training seed."""

    preset: str
    logs: dict[float, str]

    @property
    def name(self) -> str:
        return self.preset.split("/")[1]


MODELS = (
    Model(
        "consistency/consistency",
        {
            sigma: f"consistency/cohen/num_2/lbd_{lbd}/eta_0.5/noise_{sigma:.2f}_[1-9]"
            for sigma, lbd in ((0.25, "10.0"), (0.5, "5.0"), (1.0, "5.0"))
        },
    ),
    Model("cat-rs/gaussian/table1", {sigma: f"cohen/noise_{sigma:.2f}_*" for sigma in SIGMAS}),
    Model("cat-rs/stability/table1", {sigma: f"stab/lbd_2/noise_{sigma}_*" for sigma in SIGMAS}),
    Model(
        "cat-rs/macer/table1",
        {
            sigma: f"macer_deferred30/num_16/lbd_{lbd}/gamma_8.0/beta_16.0/noise_{sigma:.2f}_*"
            for sigma, lbd in ((0.25, "16.0"), (0.5, "16.0"), (1.0, "6.0"))
        },
    ),
    Model("cat-rs/smoothadv/table1", {sigma: f"salman/pgd_255.0_10_10/num_4/noise_{sigma:.2f}_*" for sigma in SIGMAS}),
)


@dataclass(frozen=True)
class Job:
    """One model of MNIST. `training`: the flags of `randsmooth train` that make it what it is."""

    name: str
    sigma: float
    training: tuple[str, ...]
    options: argparse.Namespace

    @property
    def model(self) -> Path:
        return self.options.out / f"sigma{self.sigma:g}" / self.name

    @property
    def certificates(self) -> Path:
        return self.options.results / f"sigma{self.sigma:g}" / f"{self.name}.parquet"

    def commands(self) -> list[list[str]]:
        o, common = self.options, ["--device", self.options.device, "--resume", "--out"]
        train = ["train", "mnist", *self.training, "--sigma", str(self.sigma), "--precision", o.precision]
        certify = ["certify", str(self.model), "--take", str(o.images), "--n", str(o.n)]
        certify += ["--precision", CERTIFIED_AS[o.precision], *common, str(self.certificates)]
        return [[*train, *common, str(self.model)], certify]

    def run(self) -> dict[str, object]:
        """Run what is left of the job; the seconds that it took, whenever they were spent."""
        told = self.certificates.with_suffix(".json")
        if not (told.exists() and self.certificates.exists()):
            for folder in (self.model.parent, self.certificates.parent):
                folder.mkdir(parents=True, exist_ok=True)
            for command in self.commands():
                self.call(command)
            history = pd.read_csv(self.model / "history.csv")
            certifying = float(read(self.certificates).seconds.sum())
            seconds = {"train": round(float(history["seconds"].sum()), 1), "certify": round(certifying, 1)}
            facts = {"method": self.name, "sigma": self.sigma, "epochs": len(history)}
            told.write_text(json.dumps(facts | seconds) + "\n")
            print(f"{self.name} at sigma {self.sigma:g}: {seconds}", flush=True)
        return dict(json.loads(told.read_text()))

    def call(self, command: list[str]) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": str(self.options.threads)}
        with self.model.with_suffix(".log").open("a") as log:
            program = [sys.executable, "-m", "randsmooth", *command]
            subprocess.run(program, check=True, stdout=log, stderr=log, env=environment)


def seeds(folder: Path, pattern: str, sigma: float) -> list[Certificates]:
    """The authors' logs, one a training seed."""
    logs = [read(path).assuming(sigma=sigma, n=THEIR_N, alpha=ALPHA) for path in sorted(folder.glob(pattern))]
    if len(logs) < 2:
        raise SystemExit(f"{folder / pattern}: {len(logs)} logs; expected those of several training seeds")
    return logs


def beside(job: Job, logs: list[Certificates]) -> list[dict[str, object]]:
    """A row a figure: ours with its interval over the images, theirs over the training seeds, and how far apart."""
    table, n = read(job.certificates), job.options.n
    ours = [("acr", metrics.acr_at(table, n, ALPHA))]
    ours += [(f"accuracy@{r:g}", metrics.accuracy_at(table, r, n, ALPHA)) for r in RADII]
    theirs = [[metrics.acr_at(log, n, ALPHA), *(metrics.accuracy_at(log, r, n, ALPHA) for r in RADII)] for log in logs]
    return [
        {"method": job.name, "sigma": job.sigma, "metric": name, **row(mine, [seed[place] for seed in theirs])}
        for place, (name, mine) in enumerate(ours)
    ]


def row(mine: metrics.Estimate, theirs: list[metrics.Estimate]) -> dict[str, float]:
    """What is compared: one more training seed, seen on some images, with the seeds seen on all of them.

    `deviations` is how far apart they are in units of sqrt(e^2 (1 - f) + s^2 (1 + 1/S)), where e is the standard error
    over the images here, f the share that they are of the test set, which is theirs too, and s the deviation between
    S seeds.
    """
    values = np.array([estimate.value for estimate in theirs])
    error = (mine.high - mine.low) / (2.0 * float(stats.norm.ppf(0.975)))
    error *= math.sqrt(1.0 - mine.images / theirs[0].images)
    spread = float(values.std(ddof=1))
    deviation = math.hypot(error, spread * math.sqrt(1.0 + 1.0 / len(values)))
    apart = (mine.value - values.mean()) / deviation if deviation else math.nan
    return {
        "here": mine.value,
        "here_low": mine.low,
        "here_high": mine.high,
        "images": mine.images,
        "theirs": float(values.mean()),
        "theirs_least": float(values.min()),
        "theirs_most": float(values.max()),
        "between_seeds": spread,
        "seeds": len(values),
        "deviations": apart,
    }


def markdown(table: pd.DataFrame) -> str:
    """ACR with three decimals, accuracies in per cent."""
    heads = ["method", "metric", "here", "95% over the images", "theirs, mean of seeds", "least to most"]
    lines = [[*heads, "apart, deviations"]]
    for r in table.itertuples():
        scale, digits = (1.0, 3) if r.metric == "acr" else (100.0, 1)
        here, low, high, theirs, least, most = (
            f"{scale * value:.{digits}f}"
            for value in (r.here, r.here_low, r.here_high, r.theirs, r.theirs_least, r.theirs_most)
        )
        name = "ACR" if r.metric == "acr" else f"% at {r.metric.split('@')[1]}"
        apart = "–" if math.isnan(r.deviations) else f"{r.deviations:+.1f}"
        lines.append([r.method, name, here, f"{low} to {high}", theirs, f"{least} to {most}", apart])
    return "\n".join(pipes(lines, [False] * 7)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs = Path("runs/mnist-at-scale")
    parser.add_argument("--out", type=Path, default=runs, help="folder of the models")
    parser.add_argument("--results", type=Path, default=runs / "results", help="folder of certificates and tables")
    parser.add_argument("--images", type=int, default=2000, help="test images to certify")
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--precision", default="bf16-mixed", choices=CERTIFIED_AS, help="of training")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    names = [model.name for model in MODELS]
    parser.add_argument("--logs", type=Path, required=True, help="folder of the authors' logs")
    parser.add_argument("--methods", nargs="+", default=names[:3], choices=names)
    parser.add_argument("--sigma", type=float, default=0.5, choices=SIGMAS)
    parser.add_argument("--epochs", type=int, help="fewer than the preset's, to try the command")
    options = parser.parse_args()
    models = [model for model in MODELS if model.name in options.methods]
    logs = [seeds(options.logs, model.logs[options.sigma], options.sigma) for model in models]
    short = () if options.epochs is None else ("--epochs", str(options.epochs))
    jobs = [Job(model.name, options.sigma, ("--preset", model.preset, *short), options) for model in models]
    with ThreadPoolExecutor(options.workers) as pool:
        [*pool.map(Job.run, jobs)]
    table = pd.DataFrame([line for job, theirs in zip(jobs, logs, strict=True) for line in beside(job, theirs)])
    stem = f"sigma{options.sigma:g}"
    table.to_csv(options.results / f"{stem}.csv", index=False)
    (options.results / f"{stem}.md").write_text(markdown(table))
    took = [json.loads(path.read_text()) for path in sorted(options.results.glob("sigma*/*.json"))]
    written(options.results / "made.json", {"models": took})
    print(markdown(table), end="")


if __name__ == "__main__":
    main()
