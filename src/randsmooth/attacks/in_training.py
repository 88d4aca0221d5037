"""Attacks that training runs: on images, moved alike under each of their m noises, and on
the noises themselves.
"""

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

FindGradient = Callable[[FixedNoise, Tensor, Tensor], tuple[Tensor, Tensor]]
"""Noises, images and labels -> the gradient by each image, and the logits there."""

Loss = Callable[[Tensor, Tensor], Tensor]
"""Logits and what they are to be -> a loss of each image."""

# The share of the norm by which DDN changes it in a step.
GAMMA = 0.05


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
        x: (B, C, H, W) images in [0, 1]. y: (B,) labels. noise: (m, B, C, H, W), held
            fixed.
        steps: T, the number of steps. step: the L2 length of each.
        eps: radius of the L2 ball around x; after each step the image is clamped to
            [0, 1], then projected to the ball.
        start: (B, C, H, W) where to begin; None: at x.

    Returns:
        Attacked: the images, and under which noises each was classified correctly
            before.

    Raises:
        Problem: no step, or a length that is not a finite number above 0 (eps may be
            infinite).

    Source: Salman et al. 2019, section 3.1; without a ball Jeong et al. 2021
        (SmoothMix), algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0])
        >>> noise = 0.5 * torch.randn(4, 3, 1, 2, 2)
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
        start=x if start is None else start,
        steps=steps,
        step=step,
        eps=eps,
    )


def gradient_free(
    model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, *, steps: int, eps: float
) -> Attacked:
    """Climb as `pgd` does, in steps of 2 eps / T, without gradients.

    The gradient is estimated as - mean of p_y(x + noise) * noise. By Stein's lemma that
    is the gradient of the smoothed -p_y, times sigma^2. No backward pass is needed.

    Args:
        model, x, y, noise: as for `pgd`, with m >= 2: the direction of a single noise
            does not depend on the model.
        steps: T. eps: radius of the L2 ball around x.

    Returns:
        Attacked, as of `pgd`.

    Raises:
        Problem: as `pgd`, and for a single noise.

    Source: Salman et al. 2019, appendix B ("gradient-free").

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0])
        >>> noise = 0.5 * torch.randn(4, 3, 1, 2, 2)
        >>> attacked = gradient_free(model, x, y, noise, steps=4, eps=0.5)
        >>> bool(((attacked.points - x).flatten(1).norm(dim=1) <= 0.5001).all())
        True
    """
    check(steps, eps=eps)
    if len(noise) < 2:
        raise BadValue(
            "gradient-free needs m >= 2 noises, better 8: with one, its direction ignores "
            "the model"
        )
    return _climb(
        _estimate,
        FixedNoise(model, noise),
        x,
        y,
        start=x,
        steps=steps,
        step=2.0 * eps / steps,
        eps=eps,
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
    """Search for the smallest perturbation that is misclassified.

    Its direction and its norm are changed in separate steps. The norm begins at eps. It
    shrinks by 1 - gamma where the mean prediction is wrong and grows by 1 + gamma where
    it is correct (gamma = 0.05), up to the farthest corner of [0, 1]. Step i (from 0)
    has length 0.01 + 0.99 (1 + cos(pi i / T)) / 2.

    Args:
        model, x, y, noise: as for `pgd`.
        steps: T; the point that the last step reaches is not evaluated, so a single
            step moves nothing.
        eps: the first norm that is tried, and the largest that is returned.
        released: as in the code of Salman et al.: the prediction is the majority vote
            of the m noises (of a tie the first class), iterates and result are rounded
            to multiples of 1/255, and step i has the length of step i + 1 above.

    Returns:
        Attacked: the smallest misclassified iterate of each image, within eps; the
            image itself where none was found.

    Raises:
        Problem: no step, or eps that is not a finite number above 0.

    Source: Rony et al. 2019, algorithm 1, on the objective of `pgd` as in Salman et al.
        2019.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0])
        >>> noise = 0.5 * torch.randn(4, 3, 1, 2, 2)
        >>> attacked = ddn(model, x, y, noise, steps=4, eps=0.5)
        >>> bool(((attacked.points - x).flatten(1).norm(dim=1) <= 0.5001).all())
        True
    """
    check(steps, eps=eps)
    round_as_released = _rounded_to_255ths if released else _as_it_is
    farthest = norms(torch.maximum(x, 1.0 - x))
    delta = torch.zeros_like(x)
    best = torch.zeros_like(x)
    smallest = farthest
    norm = torch.full_like(farthest, eps)
    with frozen(model):
        noises = FixedNoise(model, noise)
        for i in range(steps):
            gradient, logits = _gradient(noises, x + delta, y)
            if i == 0:
                right = logits.argmax(dim=-1) == y
            wrong = (_prediction(logits, vote=released) != y).view_as(farthest)

            # Keep the smallest misclassified iterate.
            size = norms(delta)
            better = wrong & (size < smallest)
            best = torch.where(better, delta, best)
            smallest = torch.where(better, size, smallest)

            step = _step_length(i + released, steps)
            direction = unit(delta + step * unit(gradient))
            norm = torch.minimum(_next_norm(norm, wrong), farthest)
            delta = round_as_released(x + norm * direction).clamp(0.0, 1.0) - x
    return Attacked(x + round_as_released(within_ball(best, eps)), right)


def _step_length(i: int, steps: int) -> float:
    """Return the length of step i of T: 0.01 + 0.99 (1 + cos(pi i / T)) / 2."""
    return 0.01 + 0.495 * (1.0 + math.cos(math.pi * i / steps))


def _next_norm(norm: Tensor, wrong: Tensor) -> Tensor:
    """Return a smaller norm where the prediction is wrong, and a larger elsewhere."""
    return norm * torch.where(wrong, 1.0 - GAMMA, 1.0 + GAMMA)


def _prediction(logits: Tensor, *, vote: bool) -> Tensor:
    """Return (B,) the class that the m noises of logits (m, B, K) give.

    It is that of the mean softmax, or by a vote.
    """
    if vote:
        classes = logits.shape[-1]
        votes = F.one_hot(logits.argmax(dim=-1), classes).sum(dim=0)
        return votes.argmax(dim=-1)
    return logits.softmax(dim=-1).mean(dim=0).argmax(dim=-1)


def _rounded_to_255ths(v: Tensor) -> Tensor:
    """Return `v` rounded to multiples of 1/255."""
    return (v * 255.0).round() / 255.0


def _as_it_is(v: Tensor) -> Tensor:
    return v


def _gradient(noises: FixedNoise, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the objective's gradient by each image, and the logits (m, B, K) there."""
    return shared.climb(noises.logits, shared.mean_cross_entropy, y, x)


@torch.no_grad()
def _estimate(noises: FixedNoise, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `gradient_free` takes for the gradient, and the logits (m, B, K)."""
    logits = noises.logits(x)
    label = y.expand(logits.shape[:-1])[..., None]
    p_y = logits.softmax(dim=-1).gather(-1, label)  # (m, B, 1)
    p_y = p_y.view(*p_y.shape[:2], *(1,) * (x.dim() - 1))
    return -(p_y * noises.noise).mean(dim=0), logits


def _climb(
    find_gradient: FindGradient,
    noises: FixedNoise,
    x: Tensor,
    y: Tensor,
    *,
    start: Tensor,
    steps: int,
    step: float,
    eps: float,
) -> Attacked:
    """Climb by steps along the unit gradient, each into [0, 1] and the ball around x."""
    points = start
    with frozen(noises.model):
        for i in range(steps):
            gradient, logits = find_gradient(noises, points, y)
            if i == 0:
                right = logits.argmax(dim=-1) == y
            points = (points + step * unit(gradient)).clamp(0.0, 1.0)
            if not math.isinf(eps):
                # Nearer to x, and so still in [0, 1].
                points = x + within_ball(points - x, eps)
    return Attacked(points, right)


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

    Steps along the unit gradient have length 2 eps / T. After each, the noise is
    projected to the ball of radius eps around its start, then shifted and scaled to the
    mean and standard deviation that it had at the start.

    Args:
        model: gives logits (N, K); it is frozen during the attack.
        x: (N, C, H, W) images. noise: (N, C, H, W), one noise per image.
        target: (N,) labels, to climb the cross-entropy; or (N, K) probabilities, to
            climb KL(target || prediction).
        steps: T. eps: the L2 radius.
        damp: added to the gradient's norm, which the gradient is divided by; m * 1e-8
            in the authors' code.
        rms: scale by root mean squares, as the authors' code does where the paper says
            standard deviations.

    Returns:
        Attacked: the noises; `right` compares with the label, or with the target's top
            class.

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
    label = target
    loss: Loss = shared.cross_entropy
    if target.dim() == 2:
        label = target.argmax(dim=-1)
        loss = _divergence_from_target
    moved = noise
    with frozen(model):
        for i in range(steps):
            gradient, logits = shared.climb(
                lambda noisy: shared.at_least_float32(model(noisy)),
                loss,
                target,
                x + moved,
            )
            if i == 0:
                right = logits.argmax(dim=-1) == label
            stepped = moved + 2.0 * eps / steps * unit(gradient, damp)
            moved = noise + within_ball(stepped - noise, eps)
            moved = shared.with_moments_of(moved, noise, rms=rms)
    return Attacked(moved, right)


def _divergence_from_target(logits: Tensor, target: Tensor) -> Tensor:
    return shared.divergence(target, logits)


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
    """Increase the cross-entropy of each noise on the sphere of its norm.

    It ends when the noisy image is misclassified. A noise that makes its image
    misclassified, at the start or later, is not moved any further and not evaluated
    again, so the attack costs less as it succeeds.

    Args:
        model: gives logits (B, K); it is frozen during the attack.
        x: (B, C, H, W) images. y: (B,) labels. noise: (B, C, H, W), one noise per
            image.
        steps: T, the most steps that a noise takes.
        eps: length of a step along the unit gradient; for "linf", of each sign step of
            eps / sqrt(d).
        damp: added to the gradient's norm, which the gradient is divided by; m * 1e-8
            in the authors' code. Above 0 the gradient is that of the usual
            cross-entropy with its rounding: where the label's probability rounds to 1,
            steps grow short and lose the label's part, so noises with a margin beyond
            about 20 hardly move.

    Returns:
        Attacked: the noises, with the norms that they had, and which were classified
            correctly before.

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
    # The usual form's gradient rounds where the label is sure.
    usual = partial(F.cross_entropy, reduction="none")
    loss = usual if damp else shared.cross_entropy
    attacked = noise.clone()
    active = torch.arange(len(noise), device=noise.device)
    radius = norms(noise)
    with frozen(model):
        for i in range(steps):
            noisy = x[active] + attacked[active]
            gradient, logits = shared.climb(
                lambda noisy: shared.at_least_float32(model(noisy)),
                loss,
                y[active],
                noisy,
            )
            right = logits.argmax(dim=1) == y[active]
            if i == 0:
                right_at_first = right
            # The only point of a step that waits for the device.
            still_right = right.nonzero()[:, 0]
            active = active[still_right]
            if len(active) == 0:
                break
            gradient = gradient[still_right]
            d = gradient[0].numel()
            up = unit(gradient, damp) if norm == "l2" else gradient.sign()
            step = eps if norm == "l2" else eps / d**0.5
            attacked[active] = unit(attacked[active] + step * up) * radius[active]
    return Attacked(attacked, right_at_first)
