"""Shares that show how training is going, computed from which noisy samples are classified correctly.

Before an attack this is known from the network in eval mode, after it from the network in training mode: with batch
normalisation the two differ a little even if the attack does nothing.
"""

from __future__ import annotations

from torch import Tensor


def p_a_shares(right: Tensor) -> dict[str, Tensor]:
    """Shares of easy (p_A > 0.5) and hard (p_A < 0.5) images; p_A is the share of m noises at which right (m, B)."""
    p_a = right.float().mean(dim=0)
    return {"easy_share": (p_a > 0.5).float().mean(), "hard_share": (p_a < 0.5).float().mean()}


def attack_success(before: Tensor, after: Tensor) -> dict[str, Tensor]:
    """Of the samples that were right `before` an attack, the share that is wrong `after` it; bools of equal shape."""
    return {"attack_success": (before & ~after).sum() / before.sum().clamp_min(1)}


def attacks_counted(before: Tensor) -> dict[str, Tensor]:
    """Of how many samples, those that were right `before` the attack, its success is the mean."""
    return {"attack_success": before.sum()}
