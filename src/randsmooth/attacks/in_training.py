"""Attacks that training runs: on images, moved alike under each of their m noises, and on the noises themselves."""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.attacks import shared
from randsmooth.attacks.shared import (
    Attacked,
    FixedNoise,
    check,
    frozen,
    norms,
    unit,
    within_ball,
)
from randsmooth.errors import BadValue, check_known

Look = Callable[[FixedNoise, Tensor, Tensor], tuple[Tensor, Tensor]]

GAMMA = 0.05  # by how much of it DDN changes the norm in a step


def pgd(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noise: Tensor,
    *,
    steps: int,
    step: float,
    eps: float = math.inf,
    start: Tensor | None = None,
) -> Attacked:
    """Climb -log(mean over the noises of the label's probability) by steps along the unit gradient.

    Args:
        model: gives logits (N, K); it is frozen during the attack.
        x: (B, C, H, W) images in [0, 1]. y: (B,) labels. noise: (m, B, C, H, W), held fixed.
        steps: T, the number of steps. step: the L2 length of each.
        eps: radius of the L2 ball around x; after each step the image is clamped to [0, 1], then projected to the ball.
        start: (B, C, H, W) where to begin; None: at x.

    Returns:
        Attacked: the images, and under which noises each was classified correctly before.

    Raises:
        Problem: no step, or a length that is not a finite number above 0 (eps may be infinite).

    Source: Salman et al. 2019, section 3.1; without a ball Jeong et al. 2021 (SmoothMix), algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), 0.5 * torch.randn(4, 3, 1, 2, 2)
        >>> attacked = pgd(model, x, y, noise, steps=4, step=0.25, eps=0.5)
        >>> bool(((attacked.points - x).flatten(1).norm(dim=1) <= 0.5001).all())
        True
    """
    check(steps, step=step)
    if eps != math.inf:
        check(steps, eps=eps)
    return _climb(
        _gradient,
        FixedNoise(model, noise),
        x,
        y,
        x if start is None else start,
        steps,
        step,
        eps,
    )


def gradient_free(
    model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, *, steps: int, eps: float
) -> Attacked:
    """As `pgd` with steps of 2 eps / T, the gradient being estimated as - mean of p_y(x + noise) * noise.

    By Stein's lemma that is the gradient of the smoothed -p_y, times sigma^2. No backward pass is needed.

    Args:
        model, x, y, noise: as for `pgd`, with m >= 2: the direction of a single noise does not depend on the model.
        steps: T. eps: radius of the L2 ball around x.

    Returns:
        Attacked, as of `pgd`.

    Raises:
        Problem: as `pgd`, and for a single noise.

    Source: Salman et al. 2019, appendix B ("gradient-free").

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), 0.5 * torch.randn(4, 3, 1, 2, 2)
        >>> attacked = gradient_free(model, x, y, noise, steps=4, eps=0.5)
        >>> bool(((attacked.points - x).flatten(1).norm(dim=1) <= 0.5001).all())
        True
    """
    check(steps, eps=eps)
    if len(noise) < 2:
        raise BadValue(
            "gradient-free needs m >= 2 noises, better 8: with one, its direction ignores the model"
        )
    return _climb(
        _estimate, FixedNoise(model, noise), x, y, x, steps, 2.0 * eps / steps, eps
    )


def ddn(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noise: Tensor,
    *,
    steps: int,
    eps: float,
    released: bool = False,
) -> Attacked:
    """Search for the smallest perturbation that is misclassified, its direction and its norm in separate steps.

    The norm begins at eps. It shrinks by 1 - gamma where the mean prediction is wrong and grows by 1 + gamma where it
    is correct (gamma = 0.05), up to the farthest corner of [0, 1]. Step i (from 0) has length
    0.01 + 0.99 (1 + cos(pi i / T)) / 2.

    Args:
        model, x, y, noise: as for `pgd`.
        steps: T; the point that the last step reaches is not evaluated, so a single step moves nothing.
        eps: the first norm that is tried, and the largest that is returned.
        released: as in the code of Salman et al.: the prediction is the majority vote of the m noises (of a tie the
            first class), iterates and result are rounded to multiples of 1/255, and step i has the length of step
            i + 1 above.

    Returns:
        Attacked: the smallest misclassified iterate of each image, within eps; the image itself where none was found.

    Raises:
        Problem: no step, or eps that is not a finite number above 0.

    Source: Rony et al. 2019, algorithm 1, on the objective of `pgd` as in Salman et al. 2019.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), 0.5 * torch.randn(4, 3, 1, 2, 2)
        >>> attacked = ddn(model, x, y, noise, steps=4, eps=0.5)
        >>> bool(((attacked.points - x).flatten(1).norm(dim=1) <= 0.5001).all())
        True
    """
    check(steps, eps=eps)
    farthest = norms(torch.maximum(x, 1.0 - x))
    delta, best, smallest = torch.zeros_like(x), torch.zeros_like(x), farthest
    length = torch.full_like(farthest, eps)
    with frozen(model):
        under = FixedNoise(model, noise)
        for i in range(steps):
            gradient, logits = _gradient(under, x + delta, y)
            if i == 0:
                right = logits.argmax(dim=-1) == y
            wrong = (_prediction(logits, vote=released) != y).view_as(farthest)
            size = norms(delta)
            better = wrong & (size < smallest)
            best, smallest = (
                torch.where(better, delta, best),
                torch.where(better, size, smallest),
            )
            moved = delta + (
                0.01 + 0.495 * (1.0 + math.cos(math.pi * (i + released) / steps))
            ) * unit(gradient)
            length = torch.minimum(
                length * torch.where(wrong, 1.0 - GAMMA, 1.0 + GAMMA), farthest
            )
            reached = x + length * unit(moved)
            delta = (_rounded(reached) if released else reached).clamp(0.0, 1.0) - x
    best = within_ball(best, eps)
    return Attacked(x + (_rounded(best) if released else best), right)


def _prediction(logits: Tensor, *, vote: bool) -> Tensor:
    """(B,) the class that the m noises of logits (m, B, K) give: that of the mean softmax, or by a vote."""
    if vote:
        return (
            F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).sum(dim=0).argmax(dim=-1)
        )
    return logits.softmax(dim=-1).mean(dim=0).argmax(dim=-1)


def _rounded(v: Tensor) -> Tensor:
    """To steps of 1/255."""
    return (v * 255.0).round() / 255.0


def _gradient(under: FixedNoise, at: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The objective's gradient by each image, and the logits (m, B, K) there."""
    return shared.climb(under.logits, shared.mean_cross_entropy, y, at)


@torch.no_grad()
def _estimate(under: FixedNoise, at: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """What `gradient_free` takes for the gradient by each image, and the logits (m, B, K) there."""
    logits = under.logits(at)
    own = logits.softmax(dim=-1).gather(
        -1, y.expand(logits.shape[:-1])[..., None]
    )  # (m, B, 1)
    return -(own.view(*own.shape[:2], *(1,) * (at.dim() - 1)) * under.noise).mean(
        dim=0
    ), logits


def _climb(
    look: Look,
    under: FixedNoise,
    x: Tensor,
    y: Tensor,
    at: Tensor,
    steps: int,
    step: float,
    eps: float,
) -> Attacked:
    """From `at` by steps along the unit gradient that `look` finds, each into [0, 1] and the ball around x."""
    with frozen(under.model):
        for i in range(steps):
            gradient, logits = look(under, at, y)
            if i == 0:
                right = logits.argmax(dim=-1) == y
            at = (at + step * unit(gradient)).clamp(0.0, 1.0)
            at = (
                at if math.isinf(eps) else x + within_ball(at - x, eps)
            )  # nearer to x, and so still in [0, 1]
    return Attacked(at, right)


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
        Problem: no step, or eps that is not a finite number above 0.

    Source: Jeong et al. 2023 (CAT-RS), section 3.2 and algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), torch.randn(3, 1, 2, 2)
        >>> moved = ball_attack(model, x, y, noise, steps=2, eps=0.5).points
        >>> torch.allclose(moved.mean((1, 2, 3)), noise.mean((1, 2, 3)), atol=1e-6)
        True
    """
    check(steps, eps=eps)
    loss = (
        shared.cross_entropy
        if target.dim() == 1
        else lambda logits, wanted: shared.divergence(wanted, logits)
    )
    top = target if target.dim() == 1 else target.argmax(dim=-1)
    moved = noise
    with frozen(model):
        for i in range(steps):
            gradient, logits = shared.climb(
                lambda at: shared.at_least_float32(model(at)), loss, target, x + moved
            )
            if i == 0:
                right = logits.argmax(dim=-1) == top
            moved = noise + within_ball(
                moved + 2.0 * eps / steps * unit(gradient, damp) - noise, eps
            )
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
        Problem: no step, eps that is not a finite number above 0, or another `norm`.

    Source: Sun et al. 2025, algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y, noise = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0]), torch.randn(3, 1, 2, 2)
        >>> moved = sphere_attack(model, x, y, noise, steps=2, eps=0.5).points
        >>> torch.allclose(moved.flatten(1).norm(dim=1), noise.flatten(1).norm(dim=1))
        True
    """
    check(steps, eps=eps)
    check_known("norm", ("l2", "linf"), norm)
    usual = partial(
        F.cross_entropy, reduction="none"
    )  # whose gradient rounds where the label is sure
    loss = usual if damp else shared.cross_entropy
    attacked = noise.clone()
    active = torch.arange(len(noise), device=noise.device)
    radius = norms(noise)
    with frozen(model):
        for i in range(steps):
            noisy = x[active] + attacked[active]
            gradient, logits = shared.climb(
                lambda at: shared.at_least_float32(model(at)), loss, y[active], noisy
            )
            right = logits.argmax(dim=1) == y[active]
            if i == 0:
                first = right
            left = right.nonzero()[
                :, 0
            ]  # the only point of a step that waits for the device
            active = active[left]
            if not len(active):
                break
            up = gradient[left]
            step = (
                eps * unit(up, damp)
                if norm == "l2"
                else eps / up[0].numel() ** 0.5 * up.sign()
            )
            attacked[active] = unit(attacked[active] + step) * radius[active]
    return Attacked(attacked, first)
