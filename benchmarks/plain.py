"""A training step, the eight objectives and Amplify's attack as one writes them down from the papers: float32.

An objective takes the model, images x (B, C, H, W) in [0, 1], labels y (B,), m noises of the shape of x, sigma and the
method's hyperparameters by name. It returns the loss to minimise and the logits (m * B, K) of the noisy images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Values = Mapping[str, Any]
Answer = tuple[Tensor, Tensor]
Objective = Callable[[nn.Module, Tensor, Tensor, list[Tensor], float, Values], Answer]


class Normalized(nn.Module):
    """The network behind its normalisation, or without one where `mean` and `std` are None."""

    def __init__(self, network: nn.Module, mean: Tensor | None, std: Tensor | None) -> None:
        super().__init__()
        self.network, self.mean, self.std = network, mean, std

    def forward(self, x: Tensor) -> Tensor:
        if self.mean is not None and self.std is not None:
            x = (x - self.mean.to(x.device)) / self.std.to(x.device)
        logits: Tensor = self.network(x)
        return logits


def crop_and_flip(x: Tensor) -> Tensor:
    """Each image of x (B, C, H, W) padded by 4 and cut at a random place, then mirrored or not."""
    size = x.shape[-1]
    padded = F.pad(x, (4, 4, 4, 4))
    corners = torch.randint(0, 9, (len(x), 2)).tolist()
    flips = torch.rand(len(x)) < 0.5
    x = torch.stack([padded[i, :, top : top + size, left : left + size] for i, (top, left) in enumerate(corners)])
    x[flips] = x[flips].flip(-1)
    return x


def batches(pixels: Tensor, labels: Tensor, size: int, augment: bool, device: str) -> Iterator[Answer]:
    """Shuffled batches of `size` without end, from pixels (N, C, H, W) uint8 on the CPU."""
    while True:
        for indices in torch.randperm(len(pixels)).split(size):
            x = pixels[indices].float() / 255
            if augment:
                x = crop_and_flip(x)
            yield x.to(device), labels[indices].to(device)


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterator[Answer],
    objective: Callable[[nn.Module, Tensor, Tensor, list[Tensor]], Answer],
    steps: int,
    m: int,
    sigma: float,
) -> tuple[float, float]:
    """`steps` steps under m noises an image; the mean loss and accuracy, which are logged at every step."""
    losses, accuracies = [], []
    model.train()
    for _ in range(steps):
        x, y = next(batches)
        loss, logits = objective(model, x, y, [sigma * torch.randn_like(x) for _ in range(m)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append((logits.argmax(1) == y.repeat(m)).float().mean().item())
    return sum(losses) / steps, sum(accuracies) / steps


def gaussian(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """Cross-entropy under noise."""
    logits = noisy(model, x, noises)
    return F.cross_entropy(logits, y.repeat(len(noises))), logits


def stability(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """Cross-entropy of the clean image, and of its noisy predictions to the clean one."""
    clean, logits = model(x), noisy(model, x, noises)
    target = clean.softmax(1).repeat(len(noises), 1)
    agreement = -(target * logits.log_softmax(1)).sum(1).mean()
    return F.cross_entropy(clean, y) + values["lbd"] * agreement, logits


def consistency(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """Gaussian training, the divergence of the mean prediction from each, and the mean's entropy."""
    m = len(noises)
    logits = noisy(model, x, noises)
    mean = logits.view(m, len(x), -1).softmax(2).mean(0)
    divergence = F.kl_div(logits.log_softmax(1), mean.repeat(m, 1), reduction="batchmean")
    entropy = -(mean * (mean + 1e-20).log()).sum(1).mean()
    loss = F.cross_entropy(logits, y.repeat(m))
    return loss + values["lbd"] * divergence + values["eta"] * entropy, logits


def macer(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """-log of the mean prediction, and a hinge on the radius of images that are right."""
    logits = noisy(model, x, noises)
    each = logits.view(len(noises), len(x), -1)
    classification = F.nll_loss((each.softmax(2).mean(0) + 1e-20).log(), y)
    top, classes = (values["beta"] * each).softmax(2).mean(0).topk(2)
    top = top[(classes[:, 0] == y) & (top[:, 0] < 1) & (top[:, 1] > 0)]  # an infinite quantile has a NaN gradient
    quantiles = torch.distributions.Normal(0.0, 1.0).icdf(top)
    xi = quantiles[:, 0] - quantiles[:, 1]
    counted = xi < values["gamma"]
    robustness = sigma / 2 * (values["gamma"] - xi[counted]).sum() / len(x)
    return classification + values["lbd"] * robustness, logits


def smoothadv(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """Gaussian training at the attacked images."""
    steps, eps = values["T"], values["eps"]
    points = pgd(model, x, y, noises, steps, 2 * eps / steps, eps)
    return gaussian(model, points, y, noises, sigma, values)


def smoothmix(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """Gaussian training, and a less certain target on the way from the one-step adversary to the attacked image."""
    m, start = len(noises), x
    attacked = pgd(model, x, y, noises, values["T"], values["alpha"], math.inf)
    if values["start"]:
        start = x + (pgd(model, x, y, noises, 1, values["alpha"], math.inf) - x).renorm(2, 0, values["start"])
    logits = noisy(model, start, noises)
    mean = logits.view(m, len(x), -1).softmax(2).mean(0)
    share = torch.rand(len(x)) / 2
    target = (1 - share[:, None]) * mean + share[:, None] / mean.shape[1]
    mixture = (1 - share.view(-1, 1, 1, 1)) * start + share.view(-1, 1, 1, 1) * attacked
    mixed = noisy(model, mixture, noises).log_softmax(1)
    divergence = F.kl_div(mixed, target.repeat(m, 1), reduction="none").sum(1).view(m, -1)
    right = (mean.argmax(1) == y).float()
    return F.cross_entropy(logits, y.repeat(m)) + values["eta"] * (right * divergence).mean(), logits


def cat_rs(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """The K smallest of m cross-entropies, and the worst attacked one of images that are right under all noises."""
    m = len(noises)
    logits = noisy(model, x, noises)
    right = (logits.argmax(1) == y.repeat(m)).view(m, -1)
    losses = F.cross_entropy(logits, y.repeat(m), reduction="none").view(m, -1).sort(0).values
    k = torch.distributions.Binomial(m, right.float().mean(0)).sample().clamp(min=1)
    easiest = torch.arange(m)[:, None] < k
    low = torch.where(easiest, losses, (losses + math.log(values["p0"])).clamp(min=0)).mean()
    moved = ball(model, x.repeat(m, 1, 1, 1), y.repeat(m), torch.cat(noises), values["T"], values["eps"])
    attacked = F.cross_entropy(noisy(model, x, list(moved.chunk(m))), y.repeat(m), reduction="none").view(m, -1)
    high = (right.all(0) * attacked.max(0).values).mean()
    return low + values["lbd"] * high, logits


def amplify(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], sigma: float, values: Values) -> Answer:
    """Gaussian training under noises that were moved on their spheres."""
    m = len(noises)
    moved = sphere(model, x.repeat(m, 1, 1, 1), y.repeat(m), torch.cat(noises), steps=values["T"], eps=values["eps"])
    return gaussian(model, x, y, list(moved.chunk(m)), sigma, values)


METHODS: dict[str, Objective] = {
    each.__name__.replace("_", "-"): each
    for each in (gaussian, stability, consistency, macer, smoothadv, smoothmix, cat_rs, amplify)
}


def noisy(model: nn.Module, x: Tensor, noises: list[Tensor]) -> Tensor:
    """(m * B, K)"""
    logits: Tensor = model(torch.cat([x + noise for noise in noises]))
    return logits


def pgd(model: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor], steps: int, step: float, eps: float) -> Tensor:
    """The images after steps along the unit gradient of -log of the mean prediction for the label."""
    model.eval()
    points = x
    for _ in range(steps):
        points = points.detach().requires_grad_()
        mean = noisy(model, points, noises).view(len(noises), len(x), -1).softmax(2).mean(0)
        loss = F.nll_loss(mean.clamp(min=1e-20).log(), y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, points)
        points = (points.detach() + step * gradient / length(gradient)).clamp(0, 1)
        if eps < math.inf:
            points = x + (points - x).renorm(2, 0, eps)
    model.train()
    return points


def ball(model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, steps: int, eps: float) -> Tensor:
    """The noises after steps along the unit gradient of their cross-entropy, in a ball, with the moments they had."""
    model.eval()
    std, mean = torch.std_mean(noise, dim=(1, 2, 3), keepdim=True)
    moved = noise
    for _ in range(steps):
        moved = moved.detach().requires_grad_()
        loss = F.cross_entropy(model(x + moved), y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, moved)
        moved = moved.detach() + 2 * eps / steps * gradient / length(gradient)
        moved = noise + (moved - noise).renorm(2, 0, eps)
        now, centre = torch.std_mean(moved, dim=(1, 2, 3), keepdim=True)
        moved = (moved - centre) * std / now + mean
    model.train()
    return moved


def sphere(model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, steps: int, eps: float) -> Tensor:
    """Algorithm 1 of Sun et al. (2025): every noise takes part in every step; what is misclassified stays."""
    model.eval()
    radius = length(noise)
    for _ in range(steps):
        noise = noise.detach().requires_grad_()
        logits = model(x + noise)
        (gradient,) = torch.autograd.grad(F.cross_entropy(logits, y, reduction="sum"), noise)
        moved = noise + eps * gradient / length(gradient)
        moved = moved / length(moved) * radius
        wrong = logits.argmax(1) != y
        noise = torch.where(wrong.view(-1, 1, 1, 1), noise, moved)
    model.train()
    return noise.detach()


def length(v: Tensor) -> Tensor:
    """(N, 1, 1, 1) norms, none of them 0."""
    return v.flatten(1).norm(dim=1).view(-1, 1, 1, 1) + 1e-12
