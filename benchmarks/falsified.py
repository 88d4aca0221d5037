"""Certificates of every noise, attacked: how many are refuted at their radius, and at three times that.

    python benchmarks/falsified.py [--certificates 500] [--only uniform,laplace]

A small network is trained on digits under each noise, certified under it with few samples, so that many certificates
are about as large as they can be, and `attack` searches the ball of each. None may be refuted. The control is the same
search of some of them with radii three times as large: those it refutes show that it would find what is wrong. (The
networks are not the worst ones for their certificates. tests/certification/test_refutation.py has such, whose radii
are refuted when they are half as large again.)
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import randsmooth as rs
from harness import options_of, written
from randsmooth.certification import Attacks, attack
from randsmooth.noise import (
    Ablation,
    Gaussian,
    GaussianPerCoordinate,
    Laplace,
    Noise,
    Splitting,
    Uniform,
)

SMALL = {"n0": 50, "n": 400}
NOISES: dict[str, tuple[Noise, dict[str, Any]]] = {
    "gaussian": (Gaussian(0.5), SMALL),
    "gaussian-per-coordinate": (
        GaussianPerCoordinate(np.linspace(0.2, 0.8, 64).reshape(1, 8, 8)),
        SMALL,
    ),
    "uniform": (Uniform(1.0), SMALL),
    "laplace": (Laplace(0.4), SMALL),
    "splitting": (Splitting(0.5), SMALL),
    "splitting, exact": (Splitting(0.5), {"rule": "exact"}),
    "ablation": (Ablation(16), SMALL),
}
INFLATED, CONTROLS, EPOCHS = 3.0, 50, 40
SEARCH: dict[str, Any] = {"steps": 10, "m": 16, "n": 400, "progress": False}


def falsified(name: str, certificates: int) -> dict[str, Any]:
    """What the search finds about so many certificates under one noise."""
    noise, how = NOISES[name]
    with tempfile.TemporaryDirectory() as folder:
        how_trained = {
            "noise": noise,
            "epochs": EPOCHS,
            "device": "cpu",
            "progress": False,
        }
        model = rs.train(
            "digits", method="gaussian", out=Path(folder) / "model", **how_trained
        )
    start = time.process_time()
    images = {"split": "train", "take": min(1433, 3 * certificates), "progress": False}
    table = rs.certify(model, "digits", noise=noise, **images, **how)
    took = {"certify": time.process_time() - start}
    start = time.process_time()
    certificates = min(
        certificates, int(((table.predict >= 0) & (table.radius > 0.0)).sum())
    )
    found = attack(model, table, take=certificates, **SEARCH)
    took["attack"] = time.process_time() - start
    radius = INFLATED * table.radius
    inflated = replace(table, radius=np.ceil(radius) if noise.norm == "l0" else radius)
    control = attack(model, inflated, take=min(certificates, CONTROLS), **SEARCH)
    return {
        "noise": noise.text,
        "norm": found.norm,
        **how,
        "median radius": round(float(np.median(found.radius)), 4),
        **told(found),
        f"at {INFLATED:g} times the radius": told(control),
        "processor seconds": {key: round(value, 1) for key, value in took.items()},
    }


def told(found: Attacks) -> dict[str, int]:
    return {
        "attacked": len(found),
        "abstained": int(found.abstained.sum()),
        "refuted": int(found.failed.sum()),
    }


def main() -> None:
    parser: argparse.ArgumentParser = options_of(__doc__, "falsified-noises")
    parser.add_argument(
        "--certificates",
        type=int,
        default=500,
        help="attacked, of each noise (default: 500)",
    )
    parser.add_argument("--only", help="names of noises, with commas")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {}
    for name in options.only.split(",") if options.only else NOISES:
        found[name] = falsified(name, options.certificates)
        print(name, found[name], flush=True)
    written(
        options.out,
        {
            "search": {k: v for k, v in SEARCH.items() if k != "progress"},
            "noises": found,
        },
    )
    raise SystemExit(any(row["refuted"] for row in found.values()))


if __name__ == "__main__":
    main()
