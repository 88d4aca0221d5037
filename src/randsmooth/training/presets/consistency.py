"""Jeong & Shin, "Consistency Regularization for Certified Robustness of Smoothed Classifiers"."""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets.base import CIFAR, CIFAR10, LOGGED, Preset, each

PAPER = "Jeong & Shin, NeurIPS 2020"

ON_MNIST = Preset(
    name="consistency/consistency",
    method="consistency",
    source=f"{PAPER}, section 4: the authors' commands and logs",
    datasets=("mnist",),
    optimisation=LOGGED,
    fixed={"m": 2, "eta": 0.5},
    by_sigma=each(lbd=(10.0, 5.0, 5.0)),
)
ATTACKED_MNIST = replace(
    ON_MNIST,
    name="consistency/smoothadv+consistency",
    fixed={"m": 4, "lbd": 1.0, "eta": 0.5, "eps": 255 / 256, "T": 10},
    by_sigma=each(),
)
ATTACKED_CIFAR = replace(
    ATTACKED_MNIST,
    source=f"{PAPER}, section 4 and appendix A.1",
    datasets=CIFAR10,
    optimisation=CIFAR,
    fixed={"eta": 0.5, "T": 10},
    by_sigma=each(m=(4, 2, 2), lbd=(2.0, 1.0, 1.0), eps=(1.0, 2.0, 2.0)),
)

PRESETS = (ON_MNIST, ATTACKED_MNIST, ATTACKED_CIFAR)
