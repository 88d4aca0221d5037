"""Attacks on the noises themselves: every noise moves on its own, the image stays."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.errors import InputError
from randsmooth.noise.attacked import Attacked, check_attack
from randsmooth.noise.freezing import frozen
from randsmooth.noise.geometry import norms, unit, with_moments_of, within_ball
from randsmooth.noise.losses import at_least_float32, cross_entropy, divergence


def ball_attack(
    model: nn.Module,
    x: Tensor,
    target: Tensor,
    noise: Tensor,
    *,
    steps: int,
    eps: float,
    damp: float = 0.0,
    rms: bool = False,
) -> Attacked:
    """Climb each noise's loss within a ball around it, keeping its mean and standard deviation.

    Steps along the unit gradient are 2 eps / T long; after each, the noise is projected to the ball of radius
    eps around where it began, then shifted and scaled to the mean and standard deviation it began with.

    Args:
        model: gives logits (N, K); it is frozen meanwhile.
        x: (N, C, H, W) images. noise: (N, C, H, W), one noise an image.
        target: (N,) labels, to climb the cross-entropy; or (N, K) probabilities, to climb KL(target || prediction).
        steps: T. eps: the L2 radius.
        damp: added to the gradient's norm before it divides the gradient. The authors' code has m * 1e-8.
        rms: scale by root mean squares, which is what the authors' code takes for standard deviations.

    Returns:
        Attacked: the noises; `right` compares with the label, or with the target's top class.

    Raises:
        InputError: no step, or eps that is not a finite number above 0.

    Source: Jeong et al. 2023 (CAT-RS), section 3.2 and algorithm 1.
    """
    check_attack(steps, eps=eps)
    loss = cross_entropy if target.dim() == 1 else lambda logits, probabilities: divergence(probabilities, logits)
    top = target if target.dim() == 1 else target.argmax(dim=-1)
    moved = noise
    with frozen(model), torch.enable_grad():
        for i in range(steps):
            delta = moved.detach().requires_grad_()
            logits = at_least_float32(model(x + delta))
            (gradient,) = torch.autograd.grad(loss(logits, target).sum(), delta)
            if i == 0:
                right = logits.argmax(dim=-1) == top
            moved = noise + within_ball(moved + 2.0 * eps / steps * unit(gradient, damp) - noise, eps)
            moved = with_moments_of(moved, noise, rms=rms)
    return Attacked(moved, right)


def sphere_attack(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noise: Tensor,
    *,
    steps: int,
    eps: float,
    norm: Literal["l2", "linf"] = "l2",
    damp: float = 0.0,
) -> Attacked:
    """Walk each noise up its own cross-entropy on the sphere of its norm, until it is misclassified.

    A noise that is misclassified is left where it is, from the start too, and takes no more part, so that
    the cost falls as the attack succeeds.

    Args:
        model: gives logits (B, K); it is frozen meanwhile.
        x: (B, C, H, W) images. y: (B,) labels. noise: (B, C, H, W), one noise an image.
        steps: T, the most steps a noise takes.
        eps: length of a step along the unit gradient; for "linf", of each sign step of eps / sqrt(d).
        damp: added to the gradient's norm before it divides the gradient, which then is that of the cross-entropy as
            it rounds: where the label's probability rounds to 1, steps grow short and lose the label's part. The
            authors' code has m * 1e-8, by which noises with a margin beyond about 20 hardly move.

    Returns:
        Attacked: the noises, of the same norms, and which were right before.

    Raises:
        InputError: no step, eps that is not a finite number above 0, or another `norm`.

    Source: Sun et al. 2025, algorithm 1.
    """
    check_attack(steps, eps=eps)
    if norm not in ("l2", "linf"):
        raise InputError(f"norm={norm!r} must be 'l2' or 'linf'")
    attacked = noise.clone()
    active = torch.arange(len(noise), device=noise.device)
    radius = norms(noise)
    with frozen(model), torch.enable_grad():
        for i in range(steps):
            delta = attacked[active].requires_grad_()
            logits = at_least_float32(model(x[active] + delta))
            (gradient,) = torch.autograd.grad(_summed(logits, y[active], damp > 0.0), delta)
            right = logits.argmax(dim=1) == y[active]
            if i == 0:
                first = right
            left = right.nonzero()[:, 0]  # a step's only wait for the device
            active = active[left]
            if not len(active):
                break
            moved = delta.detach()[left] + _step(gradient[left], eps, norm, damp)
            attacked[active] = unit(moved) * radius[active]
    return Attacked(attacked, first)


def _summed(logits: Tensor, y: Tensor, rounding: bool) -> Tensor:
    """The cross-entropies' sum, in the form whose gradient keeps its direction, or the usual one that rounds."""
    return F.cross_entropy(logits, y, reduction="sum") if rounding else cross_entropy(logits, y).sum()


def _step(gradient: Tensor, eps: float, norm: str, damp: float) -> Tensor:
    if norm == "l2":
        return unit(gradient, damp) * eps
    step: float = eps / gradient[0].numel() ** 0.5
    return gradient.sign() * step
