"""Jeong & Shin, "Consistency Regularization for Certified Robustness of Smoothed Classifiers"."""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets.base import CIFAR, CIFAR10, Optimisation, Preset, each

PAPER = "Jeong & Shin, NeurIPS 2020"

ATTACKED_MNIST = Preset(
    name="consistency/smoothadv+consistency",
    method="consistency",
    source=f"{PAPER}, section 4 and appendix A.1",
    datasets=("mnist",),
    optimisation=Optimisation(epochs=90, lr=0.01, lr_drops=(30, 60)),
    fixed={"m": 4, "lbd": 5.0, "eta": 0.5, "eps": 1.0, "T": 10},
    by_sigma=each(),
)
ATTACKED_CIFAR = replace(
    ATTACKED_MNIST,
    datasets=CIFAR10,
    optimisation=CIFAR,
    fixed={"eta": 0.5, "T": 10},
    by_sigma=each(m=(4, 2, 2), lbd=(2.0, 1.0, 1.0), eps=(1.0, 2.0, 2.0)),
)

PRESETS = (ATTACKED_MNIST, ATTACKED_CIFAR)
