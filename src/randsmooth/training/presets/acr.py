"""Sun, Mao, Mueller & Vechev, "Average Certified Radius is a Poor Metric for Randomized Smoothing".

Hyperparameters are those of the ICML text. Ablation tables are numbered as in the arXiv version, the only one that
shows them in full. What the text leaves open follows the authors' code, with which the figures were made: the attack
divides by a damped norm, parts without discarding run from epoch 0, and without reweighting images are drawn with
replacement.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from randsmooth.training.presets import cat_rs, macer
from randsmooth.training.presets.base import CIFAR, CIFAR10, IMAGENET, Preset, each, row, rows

PAPER = "Sun et al., ICML 2025"
ARXIV = f"{PAPER}, arXiv version"

GAUSSIAN = Preset(
    "acr/gaussian", "gaussian", f"{PAPER}, table 2 and appendix A.1", CIFAR10, CIFAR, {"m": 4}, by_sigma=each()
)
GAUSSIAN_IMAGENET = Preset(
    "acr/gaussian", "gaussian", f"{PAPER}, appendix A.1", ("imagenet",), IMAGENET, {"m": 1}, by_sigma=each()
)
AMPLIFY = Preset(
    "acr/amplify", "amplify", f"{PAPER}, table 2, appendix A.1 and table 6", CIFAR10, CIFAR,
    fixed={"m": 4, "gradient": "damped"},
    by_sigma=each(E_t=(60, 70, 60), p_t=(0.5, 0.4, 0.4), T=(3, 6, 4), eps=(0.25, 0.25, 0.5)),
)  # fmt: skip
WITH_MODEL = f"{PAPER}, appendix A.1 and table 7; needs a trained model: --set p_A_from=MODEL_DIR"
AMPLIFY_IMAGENET = Preset(
    "acr/amplify", "amplify", WITH_MODEL, ("imagenet",), IMAGENET,
    fixed={"E_t": 0, "reweight": False, "discard_noises": 50, "gradient": "damped", "with_replacement": True},
    by_sigma=each(m=(1, 1, 2), p_t=(0.2, 0.2, 0.1), T=(2, 2, 1), eps=(0.5, 1.0, 2.0)),
)  # fmt: skip

PARTS = ("discard", "reweight", "attack")
SOME = (*((part,) for part in PARTS), ("discard", "reweight"), ("discard", "attack"), ("reweight", "attack"))
L_INF: dict[str, Any] = {"sigmas": (0.5,), "prefix": "linf-", "norm": "linf"}  # eps is what the paper calls sqrt(d) eps


def _only(some: tuple[str, ...]) -> dict[str, Any]:
    """Only `some` parts, as in the authors' code: without discarding from epoch 0, without weights with replacement."""
    beginning = {} if "discard" in some else {"E_t": 0}
    return {part: part in some for part in PARTS} | beginning | {"with_replacement": "reweight" not in some}


ABLATIONS = (
    *(row(AMPLIFY, "+".join(some), f"{ARXIV}, table 3", **_only(some)) for some in SOME),
    *rows(AMPLIFY, "E_t", (50, 70, 90, 110, 130), f"{ARXIV}, table 5", sigmas=(0.5,)),
    *rows(AMPLIFY, "p_t", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8), f"{ARXIV}, table 6", sigmas=(0.5,)),
    *rows(AMPLIFY, "eps", (0.125, 0.25, 0.5, 1.0, 2.0), f"{ARXIV}, table 7", sigmas=(0.5,)),
    *rows(AMPLIFY, "T", (2, 4, 6, 8, 10), f"{ARXIV}, table 8", sigmas=(0.5,)),
    *rows(AMPLIFY, "eps", (0.125, 0.25, 0.5, 1.0), f"{ARXIV}, table 9", **L_INF),
    *rows(AMPLIFY, "T", (3, 4, 5, 6, 7, 8), f"{ARXIV}, table 10", **L_INF),
)


def _baseline(preset: Preset, where: str) -> Preset:
    """A baseline of table 2: a model of its authors, or trained again with the settings of their paper."""
    return replace(preset, name=f"acr/{preset.method}", source=f"{PAPER}, table 2, {where}")


BASELINES = (
    replace(
        _baseline(cat_rs.SMOOTHADV_CIFAR, "which leaves eps and m to the earlier papers"),
        by_sigma=each(eps=(1.0, 1.0, 2.0), m=(4, 8, 2)),
    ),
    _baseline(macer.CIFAR, "with the settings of Zhai et al."),
    _baseline(cat_rs.CONSISTENCY_CIFAR, "with the settings of Jeong & Shin"),
    _baseline(cat_rs.SMOOTHMIX_CIFAR, "with the settings of Jeong et al."),
    _baseline(cat_rs.RELEASED, "the authors' models, so by their code: --set teacher=MODEL_DIR"),
)

PRESETS = (GAUSSIAN, GAUSSIAN_IMAGENET, AMPLIFY, AMPLIFY_IMAGENET, *ABLATIONS)
