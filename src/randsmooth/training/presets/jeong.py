"""Two earlier papers of Jeong and others.

Jeong & Shin, "Consistency Regularization for Certified Robustness of Smoothed Classifiers", and Jeong et al.,
"SmoothMix: Training Confidence-calibrated Smoothed Classifiers for Certified Robustness", on MNIST.
"""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets.base import CIFAR, CIFAR10, LOGGED, Preset, each, row

CONSISTENCY = "Jeong & Shin, NeurIPS 2020"

COMMANDS = f"{CONSISTENCY}, section 4: the authors' commands and logs"
CONSISTENCY_MNIST = Preset(
    "consistency/consistency", "consistency", COMMANDS, ("mnist",), LOGGED,
    {"m": 2, "eta": 0.5}, each(lbd=(10.0, 5.0, 5.0)),
)  # fmt: skip
ATTACKED = "consistency/smoothadv+consistency"
ATTACKED_MNIST = Preset(
    ATTACKED, "consistency", COMMANDS, ("mnist",), LOGGED,
    {"m": 4, "lbd": 1.0, "eta": 0.5, "eps": 255 / 256, "T": 10}, each(),
)  # fmt: skip
ATTACKED_CIFAR = Preset(
    ATTACKED, "consistency", f"{CONSISTENCY}, section 4 and appendix A.1", CIFAR10, CIFAR, {"eta": 0.5, "T": 10},
    by_sigma=each(m=(4, 2, 2), lbd=(2.0, 1.0, 1.0), eps=(1.0, 2.0, 2.0)),
)  # fmt: skip

SMOOTHMIX = "Jeong et al., NeurIPS 2021"
LOGS = f"{SMOOTHMIX}: the authors' commands and logs"

SMOOTHMIX_MNIST = Preset(
    "smoothmix/smoothmix", "smoothmix", LOGS, ("mnist",), LOGGED,
    {"m": 4, "alpha": 1.0, "eta": 5.0}, each(T=(2, 4, 8)),
)  # fmt: skip
# With eta 1, sigma 0.25 takes a step more. The one-step adversary moves the clean end by alpha.
WEAK = replace(SMOOTHMIX_MNIST, fixed={**SMOOTHMIX_MNIST.fixed, "eta": 1.0}, by_sigma=each(T=(3, 4, 8)))
WEAK = replace(WEAK, name=f"{WEAK.name}/eta=1")

PRESETS = (
    *(CONSISTENCY_MNIST, ATTACKED_MNIST, ATTACKED_CIFAR),
    SMOOTHMIX_MNIST,
    row(SMOOTHMIX_MNIST, "one-step", LOGS, start=1.0),
    WEAK,
    row(WEAK, "eta=1+one-step", LOGS, start=1.0),
)
