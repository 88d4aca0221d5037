"""Shares that tell how training goes, from which noisy samples are right.

What an attack saw before it is of the network in eval mode, what the loss saw after it of the network in training:
with batch normalisation the two differ a little without any attack.
"""

from __future__ import annotations

from torch import Tensor


def p_a_shares(right: Tensor) -> dict[str, Tensor]:
    """Shares of easy (p_A > 0.5) and hard (p_A < 0.5) images, p_A being estimated by right (m, B) under m noises."""
    p_a = right.float().mean(dim=0)
    return {"easy_share": (p_a > 0.5).float().mean(), "hard_share": (p_a < 0.5).float().mean()}


def attack_success(before: Tensor, after: Tensor) -> dict[str, Tensor]:
    """Share of samples, right before an attack, that are wrong after it; bool tensors of one shape."""
    return {"attack_success": (before & ~after).sum() / before.sum().clamp_min(1)}
