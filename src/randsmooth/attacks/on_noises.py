"""Attacks on the noises themselves: each noise is moved on its own, and the image stays as it is."""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.attacks import shared
from randsmooth.attacks.shared import Attacked, check, cross_entropy, frozen, norms, unit, within_ball
from randsmooth.errors import InputError


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

    Steps along the unit gradient have length 2 eps / T. After each, the noise is projected to the ball of radius
    eps around its start, then shifted and scaled to the mean and standard deviation that it had at the start.

    Args:
        model: gives logits (N, K); it is frozen during the attack.
        x: (N, C, H, W) images. noise: (N, C, H, W), one noise per image.
        target: (N,) labels, to climb the cross-entropy; or (N, K) probabilities, to climb KL(target || prediction).
        steps: T. eps: the L2 radius.
        damp: added to the gradient's norm, which the gradient is divided by; m * 1e-8 in the authors' code.
        rms: scale by root mean squares, as the authors' code does where the paper says standard deviations.

    Returns:
        Attacked: the noises; `right` compares with the label, or with the target's top class.

    Raises:
        InputError: no step, or eps that is not a finite number above 0.

    Source: Jeong et al. 2023 (CAT-RS), section 3.2 and algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), torch.randn(3, 1, 2, 2)
        >>> moved = ball_attack(model, x, y, noise, steps=2, eps=0.5).points
        >>> torch.allclose(moved.mean((1, 2, 3)), noise.mean((1, 2, 3)), atol=1e-6)
        True
    """
    check(steps, eps=eps)
    loss = cross_entropy if target.dim() == 1 else lambda logits, wanted: shared.divergence(wanted, logits)
    top = target if target.dim() == 1 else target.argmax(dim=-1)
    moved = noise
    with frozen(model), torch.enable_grad():
        for i in range(steps):
            delta = moved.detach().requires_grad_()
            logits = shared.at_least_float32(model(x + delta))
            (gradient,) = torch.autograd.grad(loss(logits, target).sum(), delta)
            if i == 0:
                right = logits.argmax(dim=-1) == top
            moved = noise + within_ball(moved + 2.0 * eps / steps * unit(gradient, damp) - noise, eps)
            moved = shared.with_moments_of(moved, noise, rms=rms)
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
    """Increase the cross-entropy of each noise on the sphere of its norm, until the noisy image is misclassified.

    A noise that makes its image misclassified, at the start or later, is not moved any further and not evaluated
    again, so the attack costs less as it succeeds.

    Args:
        model: gives logits (B, K); it is frozen during the attack.
        x: (B, C, H, W) images. y: (B,) labels. noise: (B, C, H, W), one noise per image.
        steps: T, the most steps that a noise takes.
        eps: length of a step along the unit gradient; for "linf", of each sign step of eps / sqrt(d).
        damp: added to the gradient's norm, which the gradient is divided by; m * 1e-8 in the authors' code. Above 0
            the gradient is that of the usual cross-entropy with its rounding: where the label's probability rounds to
            1, steps grow short and lose the label's part, so noises with a margin beyond about 20 hardly move.

    Returns:
        Attacked: the noises, with the norms that they had, and which were classified correctly before.

    Raises:
        InputError: no step, eps that is not a finite number above 0, or another `norm`.

    Source: Sun et al. 2025, algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), torch.randn(3, 1, 2, 2)
        >>> moved = sphere_attack(model, x, y, noise, steps=2, eps=0.5).points
        >>> torch.allclose(moved.flatten(1).norm(dim=1), noise.flatten(1).norm(dim=1))
        True
    """
    check(steps, eps=eps)
    if norm not in ("l2", "linf"):
        raise InputError(f"norm={norm!r} must be 'l2' or 'linf'")
    attacked = noise.clone()
    active = torch.arange(len(noise), device=noise.device)
    radius = norms(noise)
    with frozen(model), torch.enable_grad():
        for i in range(steps):
            delta = attacked[active].requires_grad_()
            logits = shared.at_least_float32(model(x[active] + delta))
            usual = partial(F.cross_entropy, reduction="none")  # whose gradient rounds where the label is sure
            (gradient,) = torch.autograd.grad((usual if damp else cross_entropy)(logits, y[active]).sum(), delta)
            right = logits.argmax(dim=1) == y[active]
            if i == 0:
                first = right
            left = right.nonzero()[:, 0]  # the only point of a step that waits for the device
            active = active[left]
            if not len(active):
                break
            up = gradient[left]
            step = eps * unit(up, damp) if norm == "l2" else eps / up[0].numel() ** 0.5 * up.sign()
            moved = delta.detach()[left] + step
            attacked[active] = unit(moved) * radius[active]
    return Attacked(attacked, first)
