"""Jeong et al., "SmoothMix: Training Confidence-calibrated Smoothed Classifiers for Certified Robustness", on MNIST."""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets.base import LOGGED, Preset, each, row

PAPER = "Jeong et al., NeurIPS 2021"
PLACE = f"{PAPER}: the authors' commands and logs"

ON_MNIST = Preset(
    name="smoothmix/smoothmix",
    method="smoothmix",
    source=PLACE,
    datasets=("mnist",),
    optimisation=LOGGED,
    fixed={"m": 4, "alpha": 1.0, "eta": 5.0},
    by_sigma=each(T=(2, 4, 8)),
)
# With eta 1, sigma 0.25 takes a step more. The one-step adversary moves the clean end by alpha.
WEAK = replace(
    ON_MNIST, name=f"{ON_MNIST.name}/eta=1", fixed={**ON_MNIST.fixed, "eta": 1.0}, by_sigma=each(T=(3, 4, 8))
)

PRESETS = (ON_MNIST, row(ON_MNIST, "one-step", PLACE, start=1.0), WEAK, row(WEAK, "eta=1+one-step", PLACE, start=1.0))
