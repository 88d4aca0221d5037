"""Classifiers of clean MNIST images, certified alone, behind a DnCNN, and behind a diffusion model.

Started again, it goes on where it was.

    python benchmarks/denoised_mnist.py --out runs/denoised-mnist --results results/denoised-mnist

Neither classifier ever saw noise: a LeNet trained at sigma 0, and scikit-learn's MLPClassifier. Both denoisers are
trained here without either. `--scale tiny` tries every part in a minute; `--device cuda` runs the same on a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import randsmooth as rs
import tiny_unet
from harness import machine
from randsmooth import data, metrics
from randsmooth.certificates import Certificates
from randsmooth.models import load
from randsmooth.progress import console

SIGMAS = (0.25, 0.5)
ALPHA, N0 = 0.001, 100
RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
CLASSIFIERS = ("lenet", "mlp")
DENOISERS = ("none", "dncnn", "diffusion")
LENET = {"lr": 0.05, "lr_milestones": [2]}  # the usual schedule, of 150 epochs, would drop too early in so few


@dataclass(frozen=True)
class Scale:
    """How much of everything; `take` None is all training images."""

    images: int
    n: int
    take: int | None
    arch: str
    lenet_epochs: int
    mlp_epochs: int
    dncnn_epochs: int
    diffusion_epochs: int


SCALES = {
    "full": Scale(200, 10_000, None, "dncnn-5x16", 3, 10, 2, 5),
    "tiny": Scale(4, 128, 256, "dncnn-3x4", 1, 2, 1, 1),
}


@dataclass(frozen=True)
class Run:
    """One of the twelve: a classifier, what stands before it, and sigma."""

    classifier: str
    denoiser: str
    sigma: float

    @property
    def name(self) -> str:
        before = "" if self.denoiser == "none" else f"{self.denoiser}-"
        return f"{before}{self.classifier}-{self.sigma:g}"


class Work:
    """The models, each trained when it is first asked for and stored in the folder `out`."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.scale = options, SCALES[options.scale]
        self.out: Path = options.out
        self.training = {"precision": "bf16-mixed" if options.precision == "bf16" else "32", "device": options.device}
        self._mlp: Any = None

    def lenet(self) -> rs.models.Classifier:
        folder = self.out / "lenet"
        if (folder / "config.json").exists():
            return load(folder)
        chosen = {"sigma": 0.0, "epochs": self.scale.lenet_epochs, "take": self.scale.take, "set": LENET}
        return rs.train("mnist", **chosen, **self.training, out=folder, resume=folder.exists(), progress=console)

    def mlp(self) -> Any:
        """A perceptron of 128 hidden units; scikit-learn stores none, so that it is fitted again on every start."""
        if self._mlp is None:
            from sklearn.neural_network import MLPClassifier

            x, y = _pixels(self.scale.take)
            self._mlp = MLPClassifier((128,), max_iter=self.scale.mlp_epochs, batch_size=256, random_state=0)
            start = time.perf_counter()
            self._mlp.fit(x, y)
            print(f"MLP: {self.scale.mlp_epochs} epochs in {time.perf_counter() - start:.0f} s", flush=True)
        return self._mlp

    def dncnn(self, sigma: float) -> rs.models.Denoiser:
        folder = self.out / f"dncnn-{sigma:g}"
        if (folder / "config.json").exists():
            return rs.models.load_denoiser(folder)
        chosen = {"sigma": sigma, "arch": self.scale.arch, "epochs": self.scale.dncnn_epochs, "take": self.scale.take}
        chosen |= {"batch": 64, "lr": 2e-3}
        return rs.train_denoiser(
            "mnist", **chosen, **self.training, out=folder, resume=folder.exists(), progress=console
        )

    def diffusion(self, sigma: float) -> rs.DiffusionDenoiser:
        network = tiny_unet.train(
            self.out / "diffusion",
            epochs=self.scale.diffusion_epochs,
            take=self.scale.take,
            device=rs.models.pick_device(self.options.device),
            precision=self.options.precision,
        )
        return rs.DiffusionDenoiser(network, sigma=sigma, alphas_cumprod=tiny_unet.ALPHAS_CUMPROD)

    def train_all(self) -> None:
        """The networks, before anything is certified."""
        self.lenet()
        for sigma in SIGMAS:
            self.dncnn(sigma)
            self.diffusion(sigma)

    def model(self, run: Run) -> Any:
        classifier = {"lenet": self.lenet, "mlp": self.mlp}[run.classifier]()
        if run.denoiser == "none":
            return classifier
        return rs.Denoised({"dncnn": self.dncnn, "diffusion": self.diffusion}[run.denoiser](run.sigma), classifier)

    def table(self, run: Run) -> Path:
        return self.out / "certificates" / f"{run.name}.parquet"

    def certify(self, run: Run) -> Certificates:
        """The finished table of a run, from where it was left."""
        path = self.table(run)
        if path.exists():
            return rs.read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        alone = run == Run("mlp", "none", run.sigma)  # which computes as scikit-learn does
        settings = rs.CertificationSettings(
            sigma=run.sigma,
            n0=N0,
            n=self.scale.n,
            alpha=ALPHA,
            precision="32" if alone else self.options.precision,
            backend=self.options.backend if run.classifier == "lenet" else None,
        )
        how = {"take": self.scale.images, "device": self.options.device, "resume": True, "progress": console}
        return rs.certify(self.model(run), "mnist", settings, out=path, **how)


def _pixels(take: int | None) -> tuple[Any, Any]:
    """(N, 784) training images and (N,) labels, as arrays."""
    images = data.load("mnist", "train")
    x, y = images.batch(data.take(len(images), len(images) if take is None else take))
    return x.flatten(1).double().numpy(), y.numpy()


def runs(classifiers: tuple[str, ...]) -> Iterator[Run]:
    for classifier in classifiers:
        for denoiser in DENOISERS:
            yield from (Run(classifier, denoiser, sigma) for sigma in SIGMAS)


def row(run: Run, table: Certificates) -> dict[str, Any]:
    n = table.header.settings.n
    accuracies = {f"accuracy@{r:g}": metrics.accuracy_at(table, r, n, ALPHA).value for r in RADII}
    return {
        "classifier": run.classifier,
        "denoiser": run.denoiser,
        "sigma": run.sigma,
        "acr": metrics.acr_at(table, n, ALPHA).value,
        **accuracies,
        "abstained": float((table.predict < 0).mean()),
        "images": len(table),
        "n": table.header.n,
        "backend": table.header.backend,
        "precision": table.header.precision,
        "seconds": round(float(table.seconds.sum()), 1),
    }


def markdown(table: pd.DataFrame) -> str:
    """ACR with three decimals, accuracies in per cent, best of each classifier and sigma not marked."""
    radii = [name for name in table if str(name).startswith("accuracy@")]
    heads = ["classifier", "before it", "sigma", "ACR", *(f"% at {str(name).split('@')[1]}" for name in radii)]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for _, line in table.sort_values(["classifier", "sigma"], kind="stable").iterrows():
        before = {"none": "nothing", "dncnn": "DnCNN", "diffusion": "diffusion model"}[line["denoiser"]]
        cells = [line["classifier"], before, f"{line['sigma']:g}", f"{line['acr']:.3f}"]
        lines.append(f"| {' | '.join(cells + [f'{100 * line[name]:.1f}' for name in radii])} |")
    return "\n".join(lines) + "\n"


def write(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    table = pd.DataFrame(rows)
    table.to_csv(options.results / "table.csv", index=False)
    (options.results / "table.md").write_text(markdown(table))
    told = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "scale": SCALES[options.scale].__dict__}
    told |= {"training_seconds": training_seconds(options.out)}
    (options.results / "made.json").write_text(json.dumps(told, indent=1) + "\n")


def training_seconds(out: Path) -> dict[str, float]:
    """Of each model with a history."""
    histories = sorted(out.glob("*/history.csv"))
    return {path.parent.name: round(float(pd.read_csv(path)["seconds"].sum()), 1) for path in histories}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/denoised-mnist"), help="of models and certificates")
    parser.add_argument("--results", type=Path, default=Path("runs/denoised-mnist/results"), help="of the tables")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("32", "bf16"), default="bf16")
    parser.add_argument("--backend", default="auto", help="of the runs with LeNet")
    parser.add_argument("--classifiers", nargs="+", choices=CLASSIFIERS, default=CLASSIFIERS)
    parser.add_argument("--train-only", action="store_true", help="train the networks and stop")
    parser.add_argument(
        "--report", action="store_true", help="write the tables of the runs that are finished, and stop"
    )
    options = parser.parse_args()
    for folder in (options.out, options.results):
        folder.mkdir(parents=True, exist_ok=True)
    work = Work(options)
    wanted = list(runs(tuple(options.classifiers)))
    if options.report:
        wanted = [run for run in wanted if work.table(run).exists()]
    else:
        work.train_all()
    rows: list[dict[str, Any]] = []
    for run in [] if options.train_only else wanted:
        rows.append(row(run, work.certify(run)))
        write(options, rows)  # after each, so that what is finished can be read
        print(f"{run.name}: ACR {rows[-1]['acr']:.3f} after {rows[-1]['seconds']:,.0f} s", flush=True)
    if rows:
        print((options.results / "table.md").read_text(), end="")


if __name__ == "__main__":
    main()
