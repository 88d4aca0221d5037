"""Attacks on the noise: steps up a loss, taken with the network as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TINY = 1e-12


@contextmanager
def frozen(model: nn.Module) -> Iterator[nn.Module]:
    """The model in eval mode with parameters that take no gradient; both are as before afterwards, always."""
    modes = {module: module.training for module in model.modules()}
    wanted = {parameter: parameter.requires_grad for parameter in model.parameters()}
    model.eval().requires_grad_(False)
    try:
        yield model
    finally:
        for module, training in modes.items():
            module.training = training
        for parameter, requires_grad in wanted.items():
            parameter.requires_grad_(requires_grad)


def norms(v: Tensor) -> Tensor:
    """L2 norm of each row, shaped (B, 1, ..., 1) to scale `v` (B, ...) by."""
    return v.flatten(1).norm(dim=1).view(-1, *(1,) * (v.dim() - 1))  # type: ignore[no-any-return]


def unit(v: Tensor) -> Tensor:
    """Each row of `v` (B, ...) scaled to L2 norm 1, however short it is; a zero row stays zero."""
    largest = v.flatten(1).abs().amax(dim=1).view(-1, *(1,) * (v.dim() - 1))
    v = v / largest.clamp_min(torch.finfo(v.dtype).tiny)  # first, so that no square underflows
    return v / norms(v).clamp_min(TINY)


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """(B,) cross-entropy of logits (B, K), written as log(1 + exp(others - own)).

    Where the label's probability rounds to 1, the gradient of the usual form loses its part for the label;
    this one keeps its direction, and those are the images that an attack is for.
    """
    own = y[:, None]
    others = logits.scatter(1, own, -torch.inf).logsumexp(dim=1)
    return F.softplus(others - logits.gather(1, own)[:, 0])


def sphere_attack(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noise: Tensor,
    *,
    steps: int,
    eps: float,
    norm: Literal["l2", "linf"] = "l2",
) -> Tensor:
    """Walk each noise up its own cross-entropy on the sphere of its norm, until it is misclassified.

    A noise that is misclassified is left where it is, from the start too, and takes no more part, so that
    the cost falls as the attack succeeds.

    Args:
        model: gives logits (B, K); it is frozen meanwhile.
        x: (B, C, H, W) images. y: (B,) labels. noise: (B, C, H, W), one noise an image.
        steps: T, the most steps a noise takes.
        eps: length of a step along the unit gradient; for "linf", of each sign step of eps / sqrt(d).

    Returns:
        (B, C, H, W) noise of the same norms.

    Source: Sun et al. 2025, algorithm 1.
    """
    attacked = noise.clone()
    active = torch.arange(len(noise), device=noise.device)
    radius = norms(noise)
    with frozen(model):
        for _ in range(steps):
            delta = attacked[active].requires_grad_()
            logits = model(x[active] + delta).float()
            (gradient,) = torch.autograd.grad(cross_entropy(logits, y[active]).sum(), delta)
            right = (logits.argmax(dim=1) == y[active]).nonzero()[:, 0]  # a step's only wait for the device
            active = active[right]
            if not len(active):
                break
            moved = delta.detach()[right] + _step(gradient[right], eps, norm)
            attacked[active] = unit(moved) * radius[active]
    return attacked


def _step(gradient: Tensor, eps: float, norm: str) -> Tensor:
    if norm == "l2":
        return unit(gradient) * eps
    step: float = eps / gradient[0].numel() ** 0.5
    return gradient.sign() * step
