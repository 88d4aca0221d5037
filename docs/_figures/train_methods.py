"""Train every method briefly on MNIST and keep its history.csv. Started again, it goes on.

    python docs/_figures/train_methods.py --runs runs/methods-training --results results/methods-training

All take the same images, in the same number of steps and epochs, so that the curves can be laid beside each other. They
show how a method trains, not how good it is: `results/mnist-methods` compares the methods.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from randsmooth import methods
from randsmooth.extras import versions

SIGMA, EPOCHS, IMAGES = 0.5, 8, 1600
IMAGES_PER_STEP = 32
LR_DROP = EPOCHS - 2  # one only: with so few steps the usual ones come before anything is learnt
# The quickest first.
ORDER = ("gaussian", "stability", "consistency", "amplify", "macer", "smoothmix", "cat-rs", "smoothadv")
# For digits and MNIST the values of the tables, what counts epochs being scaled to the length of the run.
PRESET = "randsmooth/{method}"


def command(method: str, out: Path) -> list[str]:
    """The words of the training run of `method`."""
    batch = IMAGES_PER_STEP * methods.create(method, **_fixed(method)).m
    changed = ["--set", f"batch={batch}", "--set", f"lr_milestones=[{LR_DROP}]"]
    short = ["--epochs", str(EPOCHS), "--take", str(IMAGES), *changed, "--precision", "bf16-mixed"]
    preset = ["--preset", PRESET.format(method=method), "--sigma", str(SIGMA)]
    return ["train", "mnist", *preset, *short, "--device", "cpu", "--out", str(out)]


def _fixed(method: str) -> dict[str, object]:
    from randsmooth.training import presets

    return presets.find(method, "mnist", PRESET.format(method=method)).hyperparameters(SIGMA)


def train(method: str, runs: Path, results: Path) -> dict[str, object]:
    """Train `method`, and keep its history: how it was made and what processor time that took."""
    words, before = command(method, runs / method), os.times()
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "randsmooth", *words, "--resume"], check=True, env=env)
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    results.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(runs / method / "history.csv", results / f"{method}.csv")
    return {"command": " ".join(["randsmooth", *words]), "cpu_seconds": round(took, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/methods-training"))
    parser.add_argument("--results", type=Path, default=Path("results/methods-training"))
    parser.add_argument("--methods", nargs="+", default=ORDER)
    options = parser.parse_args()
    path = options.results / "made.json"
    told = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    for method in options.methods:
        if method in told["runs"]:
            continue
        told["runs"][method] = train(method, options.runs, options.results)
        told |= {
            "script": "python docs/_figures/train_methods.py",
            "threads": 1,
            "machine": {"cpu": platform.processor(), "versions": versions()},
        }
        path.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
