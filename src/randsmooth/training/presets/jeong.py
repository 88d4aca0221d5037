"""Two earlier papers of Jeong and others.

Jeong & Shin, "Consistency Regularization for Certified Robustness of Smoothed Classifiers", and Jeong et al.,
"SmoothMix: Training Confidence-calibrated Smoothed Classifiers for Certified Robustness", on MNIST.
"""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets.base import CIFAR, CIFAR10, LOGGED, Preset, each, row

CONSISTENCY = "Jeong & Shin, NeurIPS 2020"

CONSISTENCY_MNIST = Preset(
    name="consistency/consistency",
    method="consistency",
    source=f"{CONSISTENCY}, section 4: the authors' commands and logs",
    datasets=("mnist",),
    optimisation=LOGGED,
    fixed={"m": 2, "eta": 0.5},
    by_sigma=each(lbd=(10.0, 5.0, 5.0)),
)
ATTACKED_MNIST = replace(
    CONSISTENCY_MNIST,
    name="consistency/smoothadv+consistency",
    fixed={"m": 4, "lbd": 1.0, "eta": 0.5, "eps": 255 / 256, "T": 10},
    by_sigma=each(),
)
ATTACKED_CIFAR = replace(
    ATTACKED_MNIST,
    source=f"{CONSISTENCY}, section 4 and appendix A.1",
    datasets=CIFAR10,
    optimisation=CIFAR,
    fixed={"eta": 0.5, "T": 10},
    by_sigma=each(m=(4, 2, 2), lbd=(2.0, 1.0, 1.0), eps=(1.0, 2.0, 2.0)),
)

SMOOTHMIX = "Jeong et al., NeurIPS 2021"
COMMANDS = f"{SMOOTHMIX}: the authors' commands and logs"

SMOOTHMIX_MNIST = Preset(
    name="smoothmix/smoothmix",
    method="smoothmix",
    source=COMMANDS,
    datasets=("mnist",),
    optimisation=LOGGED,
    fixed={"m": 4, "alpha": 1.0, "eta": 5.0},
    by_sigma=each(T=(2, 4, 8)),
)
# With eta 1, sigma 0.25 takes a step more. The one-step adversary moves the clean end by alpha.
WEAK = replace(
    SMOOTHMIX_MNIST,
    name=f"{SMOOTHMIX_MNIST.name}/eta=1",
    fixed={**SMOOTHMIX_MNIST.fixed, "eta": 1.0},
    by_sigma=each(T=(3, 4, 8)),
)

PRESETS = (
    *(CONSISTENCY_MNIST, ATTACKED_MNIST, ATTACKED_CIFAR),
    SMOOTHMIX_MNIST,
    row(SMOOTHMIX_MNIST, "one-step", COMMANDS, start=1.0),
    WEAK,
    row(WEAK, "eta=1+one-step", COMMANDS, start=1.0),
)
