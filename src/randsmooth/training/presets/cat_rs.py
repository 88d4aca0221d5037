"""Jeong, Kim & Shin, "Confidence-aware Training of Smoothed Classifiers for Certified Robustness".

Tables are numbered as in the submission, which has MNIST and CIFAR-10. A step takes 256 / m images, as in the authors'
code; only MACER takes 256 images, with 16 noises each.

On MNIST there are two versions of every model except CAT-RS itself. According to the text ("prose"), all are trained
for 150 epochs. But figures of tables 1 and 4 agree digit for digit with logs released with the Consistency and
SmoothMix papers, whose commands train for 90 epochs ("table1"). At sigma 1 these are all figures of five baselines,
each from one log. For Consistency they are the accuracies of seed 2 and the mean ACR of the five seeds at sigma 0.5,
and the rows of lambda 5 and 25 in table 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from randsmooth.training.presets.base import (
    CIFAR,
    CIFAR10,
    IMAGENET,
    LOGGED,
    MNIST,
    PROSE,
    TABLE,
    Preset,
    each,
    row,
    rows,
)
from randsmooth.training.presets.macer import K16
from randsmooth.training.schedule import Optimisation

PAPER = "Jeong et al., AAAI 2023, submission"
TABLE_1, TABLE_2 = f"{PAPER}, table 1 and appendix B.2", f"{PAPER}, table 2 and appendix B.2"
TEXT = f"{PAPER}, section 4 and appendix B.2"
BY_LOGS = f"{PAPER}, table 1 as its figures' logs were made"
MACER_BATCH = 256 * 16


def _mnist(method: str, fixed: dict[str, Any], by_sigma: Any = None, schedule: Optimisation = MNIST) -> Preset:
    return Preset(f"cat-rs/{method}/{PROSE}", method, TEXT, ("mnist",), schedule, fixed, by_sigma or each())


def _cifar(method: str, fixed: dict[str, Any], by_sigma: Any = None, schedule: Optimisation = CIFAR) -> Preset:
    return Preset(f"cat-rs/{method}", method, TABLE_2, CIFAR10, schedule, fixed, by_sigma or each())


def _logged(prose: Preset, **changes: Any) -> Preset:
    """The version with which the table's figures were made, from the one of the text."""
    assert prose.optimisation is not None
    return replace(row(prose, TABLE, BY_LOGS, **changes), optimisation=LOGGED.replace(batch=prose.optimisation.batch))


GAUSSIAN_MNIST = _mnist("gaussian", {"m": 1})
CONSISTENCY_MNIST = _mnist("consistency", {"m": 2, "eta": 0.5}, each(lbd=(10.0, 5.0, 5.0)))
SMOOTHMIX_MNIST = _mnist("smoothmix", {"m": 4, "alpha": 1.0, "eta": 5.0}, each(T=(2, 4, 8)))
SMOOTHADV_MNIST = _mnist("smoothadv", {"m": 4, "eps": 1.0, "T": 10})
MACER_MNIST = _mnist("macer", K16, each(lbd=(16.0, 16.0, 6.0)), MNIST.replace(batch=MACER_BATCH))
CAT_RS_MNIST = Preset(
    "cat-rs/cat-rs", "cat-rs", TABLE_1, ("mnist",), MNIST,
    {"m": 4, "T": 4, "eps": 1.0, "lbd": 1.0, "p0": 0.2}, each(),
)  # fmt: skip

STABILITY_MNIST = _mnist("stability", {"m": 1, "lbd": 2.0})
ON_MNIST = (
    GAUSSIAN_MNIST, STABILITY_MNIST, SMOOTHADV_MNIST, MACER_MNIST, CONSISTENCY_MNIST, SMOOTHMIX_MNIST, CAT_RS_MNIST,
)  # fmt: skip

# The commands have --epsilon 255, out of 256, and --deferred, which leaves the robustness term out while epoch <= 30.
EPS_255 = 255 / 256
DEFERRED = 31
CHANGED: dict[str, dict[str, Any]] = {"smoothadv": {"eps": EPS_255}, "macer": {"lbd_from": DEFERRED}}
AS_LOGGED = tuple(_logged(p, **CHANGED.get(p.method, {})) for p in ON_MNIST if p.method != "cat-rs")

GAUSSIAN_CIFAR = _cifar("gaussian", {"m": 1})
STABILITY_CIFAR = _cifar("stability", {"m": 1}, each(lbd=(2.0, 2.0, 1.0)))
SMOOTHADV_CIFAR = _cifar("smoothadv", {"T": 10}, each(eps=(1.0, 2.0, 2.0), m=(4, 2, 2)))
MACER_SIGMAS = each(lbd=(12.0, 4.0, 12.0), lbd_from=(0, 0, CIFAR.lr_milestones[0]))
MACER_CIFAR = _cifar("macer", K16, MACER_SIGMAS, CIFAR.replace(batch=MACER_BATCH))
CONSISTENCY_CIFAR = _cifar("consistency", {"m": 2, "eta": 0.5}, each(lbd=(20.0, 10.0, 10.0)))
ONE_STEP = each(alpha=(0.5, 1.0, 2.0), start=(0.0, 1.0, 2.0))  # the one-step adversary is used from sigma 0.5 on
SMOOTHMIX_CIFAR = _cifar("smoothmix", {"m": 2, "T": 4, "eta": 5.0}, ONE_STEP)
CAT_RS_CIFAR = _cifar("cat-rs", {"m": 4, "T": 4, "eps": 1.0}, each(lbd=(0.5, 2.0, 2.0), p0=(0.05, 0.1, 0.1)))
ON_CIFAR = (
    GAUSSIAN_CIFAR, STABILITY_CIFAR, SMOOTHADV_CIFAR, MACER_CIFAR, CONSISTENCY_CIFAR, SMOOTHMIX_CIFAR, CAT_RS_CIFAR,
)  # fmt: skip

# The authors' code differs from algorithm 1: it has another mask, no p0, a teacher, and another lbd at sigma 0.5.
RELEASED = replace(
    CAT_RS_CIFAR,
    name="cat-rs/cat-rs/released",
    source=f"{PAPER}, table 2 as the authors' code has it; needs a teacher: --set teacher=MODEL_DIR",
    fixed={"m": 4, "T": 4, "eps": 1.0, "variant": "released"},
    by_sigma=each(lbd=(0.5, 1.0, 2.0)),
)

# The published version's, by the same code.
ON_IMAGENET = replace(
    RELEASED,
    name="cat-rs/cat-rs",
    source=f"{PAPER}, which lacks it: the authors' command for ImageNet; needs a teacher: --set teacher=MODEL_DIR",
    datasets=("imagenet",),
    optimisation=IMAGENET.replace(lr_milestones=(30, 60, 85)),
    fixed={**RELEASED.fixed, "m": 2, "T": 1, "eps_doubled_from": 80, "confidence": "teacher"},
    by_sigma=each(sigmas=(1.0,), lbd=(2.0,)),
)

# Table 4: MNIST at sigma 1; Consistency and SmoothMix as in the logs. The table rounds to two decimals, so 0.12 may
# have been 0.125.
CONSISTENCY_LOGGED, SMOOTHMIX_LOGGED = (_logged(preset) for preset in (CONSISTENCY_MNIST, SMOOTHMIX_MNIST))
TABLE_4 = (
    *rows(CONSISTENCY_LOGGED, "lbd", (1.0, 5.0, 10.0, 15.0, 20.0, 25.0), f"{PAPER}, table 4", sigmas=(1.0,)),
    *rows(SMOOTHMIX_LOGGED, "eta", (1.0, 2.0, 4.0, 8.0, 16.0), f"{PAPER}, table 4", sigmas=(1.0,)),
    *rows(CAT_RS_MNIST, "lbd", (0.0, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0), f"{PAPER}, table 4", sigmas=(1.0,)),
)

# The other ablations: ResNet-20 on CIFAR-10 with lbd 1 and p0 1/10 (section 4.3).
SMALL = replace(CAT_RS_CIFAR, arch="resnet20", fixed={**CAT_RS_CIFAR.fixed, "lbd": 1.0, "p0": 0.1}, by_sigma=each())
WITHOUT_P0 = 1e-20  # eq. 6: the noises beyond the K smallest add nothing

TABLE_3 = (
    row(replace(GAUSSIAN_CIFAR, arch="resnet20"), "resnet20", f"{PAPER}, table 3", sigmas=(0.5,)),
    row(SMALL, "low-only", f"{PAPER}, table 3", sigmas=(0.5,), high="off"),
    row(SMALL, "high-only", f"{PAPER}, table 3", sigmas=(0.5,), low=False, mask=False),  # eq. 8 alone has no mask
    row(SMALL, "no-mask", f"{PAPER}, table 3", sigmas=(0.5,), mask=False),
    row(SMALL, "mean-high", f"{PAPER}, table 3", sigmas=(0.5,), high="mean"),
    row(SMALL, "resnet20", f"{PAPER}, table 3", sigmas=(0.5,)),
)
TABLE_5 = (
    *rows(SMALL, "p0", (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125), f"{PAPER}, table 5"),
    row(SMALL, "p0=0", f"{PAPER}, table 5", p0=WITHOUT_P0),
)
TABLE_6 = rows(SMALL, "lbd", (0.25, 0.5, 1.0, 2.0, 4.0), f"{PAPER}, table 6", sigmas=(0.5,))
TABLE_7 = rows(SMALL, "m", (1, 2, 4, 8), f"{PAPER}, table 7 (M there)", sigmas=(0.5,))

PRESETS = (*ON_MNIST, *AS_LOGGED, *ON_CIFAR, RELEASED, *TABLE_3, *TABLE_4, *TABLE_5, *TABLE_6, *TABLE_7)
