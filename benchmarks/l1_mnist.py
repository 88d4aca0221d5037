"""MNIST certified in L1 under uniform, Laplace, Gaussian and splitting noise, each at several scales.

    python benchmarks/l1_mnist.py --out runs/l1-mnist --results results/l1-mnist

Started again, it goes on where it was; killed, it has lost minutes. A scale is lam of uniform noise. Laplace and
Gaussian noise of the same scale have its standard deviation, lam / sqrt(3); splitting noise has the same lam, and so
the same radius for the same p_A. A Gaussian certificate in L2 is read in L1, where its radius holds too.

A splitting model is certified twice: from samples, and by counting all its copies. All samples are judged twice: by the
default bound, and by `pairwise`, which compares the class with the next one, as counting all copies does. One more
model sees 45 pixels of 784 (ablation), certified in L0: it is in no envelope.
"""

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import randsmooth as rs
from harness import written
from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.certificates.evidence import ARRAYS
from randsmooth.certificates.table import from_evidence
from randsmooth.noise import Ablation, Gaussian, Laplace, Noise, Splitting, Uniform
from randsmooth.progress import console
from randsmooth.report.layouts import pipes

ALPHA, N0 = 0.001, 100
SCALES = (1.0, 1.4, 2.0, 4.0)
RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
FINE = np.arange(0, 136) * 0.025  # of the figure
BOUND, EXACT = "clopper-pearson", "splitting, exact"


def noises(lam: float) -> dict[str, Noise]:
    """Noises of one scale: a standard deviation of lam / sqrt(3), or of splitting noise the same lam."""
    energy = {
        "laplace": Laplace(round(lam / math.sqrt(6.0), 4)),
        "gaussian": Gaussian(round(lam / math.sqrt(3.0), 4)),
    }
    return {"uniform": Uniform(lam), **energy, "splitting": Splitting(lam)}


@dataclass(frozen=True)
class Cell:
    """One model, and one table of its certificates."""

    name: str
    noise: Noise
    options: argparse.Namespace

    @property
    def model(self) -> Path:
        return Path(self.options.out) / self.noise.text

    @property
    def table(self) -> Path:
        return (
            Path(self.options.results)
            / f"{self.noise.text}{'-exact' if self.name == EXACT else ''}.parquet"
        )

    def train(self) -> None:
        """What is left of training."""
        o = self.options
        if not (self.model / "config.json").exists():
            how = {
                "take": o.train,
                "epochs": o.epochs,
                "set": {"lr": o.lr},
                "precision": "bf16-mixed",
            }
            how |= {
                "device": o.device,
                "resume": self.model.exists(),
                "out": self.model,
                "progress": console,
            }
            rs.train("mnist", method="gaussian", noise=self.noise, **how)

    def run(self) -> Certificates:
        """What is left of training and certifying, and the finished table."""
        if self.table.exists():
            return rs.read(self.table)
        self.train()
        o = self.options
        rule = (
            {"rule": "exact"}
            if self.name == EXACT
            else {"n0": N0, "n": o.n, "alpha": ALPHA}
        )
        how = {
            "noise": self.noise,
            "precision": "bf16",
            "take": o.images,
            "device": o.device,
            "resume": True,
            **rule,
        }
        return rs.certify(self.model, "mnist", out=self.table, progress=console, **how)

    def row(self, table: Certificates) -> dict[str, object]:
        history = (
            pd.read_csv(self.model / "history.csv")
            if self.model.exists()
            else pd.DataFrame({"seconds": []})
        )
        return {
            "noise": self.name,
            "text": self.noise.text,
            "norm": self.noise.norm,
            "images": len(table),
            "n": table.header.n,
            "largest": float(table.radius.max(initial=0.0)),
            **{
                f"accuracy@{r:g}": metrics.certified_accuracy(table, r).value
                for r in RADII
            },
            "train": round(float(history["seconds"].sum()), 1),
            "certify": round(float(table.seconds.sum()), 1),
        }


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    for lam in options.scales:
        for name, noise in noises(lam).items():
            yield Cell(name, noise, options)
        yield Cell(EXACT, Splitting(lam), options)
        if lam == options.scales[0]:
            yield Cell("ablation", Ablation(45), options)


def pairwise(table: Certificates) -> Certificates:
    """The same samples, judged by the bound that compares the class with each other one."""
    header = table.header.replace(bound="pairwise")
    return from_evidence(
        header, **{name: getattr(table, name) for name in ARRAYS}, name=table.name
    )


def envelopes(found: list[tuple[Cell, Certificates]]) -> pd.DataFrame:
    """A line a radius, noise and bound: the best of the scales, and an interval that knows they were several."""
    parts = []
    for name in dict.fromkeys(
        cell.name for cell, _ in found if cell.noise.norm != "l0"
    ):
        texts = [cell.noise.text for cell, _ in found if cell.name == name]
        tables = [table for cell, table in found if cell.name == name]
        judged = (
            {"exact": tables}
            if name == EXACT
            else {BOUND: tables, "pairwise": [pairwise(t) for t in tables]}
        )
        for bound, own in judged.items():
            best = metrics.envelope([in_l1(table) for table in own], FINE)
            shares = {
                "radius": FINE,
                "accuracy": best.share,
                "low": best.low,
                "high": best.high,
            }
            which = [texts[i] if i >= 0 else "" for i in best.best]
            parts.append(
                pd.DataFrame({"noise": name, "bound": bound, **shares, "best": which})
            )
    return pd.concat(parts).round(4)


def in_l1(table: Certificates) -> Certificates:
    return table if table.norm == "l1" else table.in_norm("l1")


def markdown(lines: pd.DataFrame) -> str:
    """Certified accuracies of the envelopes in per cent, by noise, bound and radius."""
    rows = [["noise", "bound", *(f"% at {r:g}" for r in RADII)]]
    for (name, bound), own in lines.groupby(["noise", "bound"], sort=False):
        shown = own[own.radius.isin(RADII)]
        cells = zip(
            100 * shown.accuracy, 100 * shown.low, 100 * shown.high, strict=True
        )
        rows.append(
            [
                name,
                bound,
                *(
                    f"{value:.1f} ({low:.1f} to {high:.1f})"
                    for value, low, high in cells
                ),
            ]
        )
    return "\n".join(pipes(rows, [False] * len(rows[0]))) + "\n"


def store(found: list[tuple[Cell, Certificates]], results: Path) -> None:
    """All tables so far, so that what is finished can be read."""
    pd.DataFrame([cell.row(table) for cell, table in found]).round(4).to_csv(
        results / "cells.csv", index=False
    )
    lines = envelopes(found)
    lines.to_csv(results / "envelopes.csv", index=False)
    (results / "envelopes.md").write_text(markdown(lines))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/l1-mnist"), help="folder of the models"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("runs/l1-mnist/results"),
        help="folder of the tables",
    )
    parser.add_argument(
        "--scales",
        type=float,
        nargs="+",
        default=SCALES,
        help="lam of uniform and splitting noise",
    )
    parser.add_argument("--train", type=int, default=20_000, help="training images")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument(
        "--images", type=int, default=500, help="test images to certify"
    )
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    found: list[tuple[Cell, Certificates]] = []
    for cell in cells(options):
        found.append((cell, cell.run()))
        store(found, options.results)
        print(json.dumps(cell.row(found[-1][1])), flush=True)
    written(
        options.results / "made.json",
        {"models": [cell.row(table) for cell, table in found]},
    )
    print((options.results / "envelopes.md").read_text(), end="")


if __name__ == "__main__":
    main()
