"""A training step and five objectives as one writes them down from the papers: in float32.

They are without terms, with one on the predictions, with one on the radius, with an attack on images, and with one on
the noise; the other methods are made of the same parts.

An objective takes the model, images x (B, C, H, W) in [0, 1], labels y (B,), m noises of the shape of x, sigma and the
method's hyperparameters by name. It returns the loss to minimise and the logits (m * B, K) of the noisy images.
"""

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

    def __init__(
        self, network: nn.Module, mean: Tensor | None, std: Tensor | None
    ) -> None:
        super().__init__()
        self.network, self.mean, self.std = network, mean, std

    def forward(self, x: Tensor) -> Tensor:
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        logits: Tensor = self.network(x)
        return logits


def crop_and_flip(x: Tensor) -> Tensor:
    """Each image of x (B, C, H, W) padded by 4 and cut at a random place, then mirrored or not."""
    size = x.shape[-1]
    padded = F.pad(x, (4, 4, 4, 4))
    corners = torch.randint(0, 9, (len(x), 2)).tolist()
    flips = torch.rand(len(x)) < 0.5
    x = torch.stack(
        [
            padded[i, :, top : top + size, left : left + size]
            for i, (top, left) in enumerate(corners)
        ]
    )
    x[flips] = x[flips].flip(-1)
    return x


def batches(
    pixels: Tensor, labels: Tensor, size: int, augment: bool
) -> Iterator[Answer]:
    """Shuffled batches of `size` without end, from pixels (N, C, H, W) uint8."""
    while True:
        for indices in torch.randperm(len(pixels)).split(size):
            x = pixels[indices].float() / 255
            if augment:
                x = crop_and_flip(x)
            yield x, labels[indices]


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
        loss, logits = objective(
            model, x, y, [sigma * torch.randn_like(x) for _ in range(m)]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append((logits.argmax(1) == y.repeat(m)).float().mean().item())
    return sum(losses) / steps, sum(accuracies) / steps


def gaussian(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noises: list[Tensor],
    sigma: float,
    values: Values,
) -> Answer:
    """Cross-entropy under noise."""
    logits = noisy(model, x, noises)
    return F.cross_entropy(logits, y.repeat(len(noises))), logits


def consistency(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noises: list[Tensor],
    sigma: float,
    values: Values,
) -> Answer:
    """Gaussian training, the divergence of the mean prediction from each, and the mean's entropy."""
    m = len(noises)
    logits = noisy(model, x, noises)
    mean = logits.view(m, len(x), -1).softmax(2).mean(0)
    divergence = F.kl_div(
        logits.log_softmax(1), mean.repeat(m, 1), reduction="batchmean"
    )
    entropy = -(mean * (mean + 1e-20).log()).sum(1).mean()
    loss = F.cross_entropy(logits, y.repeat(m))
    return loss + values["lbd"] * divergence + values["eta"] * entropy, logits


def macer(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noises: list[Tensor],
    sigma: float,
    values: Values,
) -> Answer:
    """-log of the mean prediction, and a hinge on the radius of images that are right."""
    logits = noisy(model, x, noises)
    each = logits.view(len(noises), len(x), -1)
    classification = F.nll_loss((each.softmax(2).mean(0) + 1e-20).log(), y)
    top, classes = (values["beta"] * each).softmax(2).mean(0).topk(2)
    top = top[
        (classes[:, 0] == y) & (top[:, 0] < 1) & (top[:, 1] > 0)
    ]  # an infinite quantile has a NaN gradient
    quantiles = torch.distributions.Normal(0.0, 1.0).icdf(top)
    xi = quantiles[:, 0] - quantiles[:, 1]
    counted = xi < values["gamma"]
    robustness = sigma / 2 * (values["gamma"] - xi[counted]).sum() / len(x)
    return classification + values["lbd"] * robustness, logits


def smoothadv(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noises: list[Tensor],
    sigma: float,
    values: Values,
) -> Answer:
    """Gaussian training at the attacked images."""
    steps, eps = values["T"], values["eps"]
    points = pgd(model, x, y, noises, steps, 2 * eps / steps, eps)
    return gaussian(model, points, y, noises, sigma, values)


def amplify(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noises: list[Tensor],
    sigma: float,
    values: Values,
) -> Answer:
    """Gaussian training under noises that were moved on their spheres."""
    m = len(noises)
    moved = sphere(
        model,
        x.repeat(m, 1, 1, 1),
        y.repeat(m),
        torch.cat(noises),
        steps=values["T"],
        eps=values["eps"],
    )
    return gaussian(model, x, y, list(moved.chunk(m)), sigma, values)


METHODS: dict[str, Objective] = {
    each.__name__: each for each in (gaussian, consistency, macer, smoothadv, amplify)
}


def noisy(model: nn.Module, x: Tensor, noises: list[Tensor]) -> Tensor:
    """(m * B, K)"""
    logits: Tensor = model(torch.cat([x + noise for noise in noises]))
    return logits


def pgd(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    noises: list[Tensor],
    steps: int,
    step: float,
    eps: float,
) -> Tensor:
    """The images after steps along the unit gradient of -log of the mean prediction for the label."""
    model.eval()
    points = x
    for _ in range(steps):
        points = points.detach().requires_grad_()
        mean = (
            noisy(model, points, noises)
            .view(len(noises), len(x), -1)
            .softmax(2)
            .mean(0)
        )
        loss = F.nll_loss(mean.clamp(min=1e-20).log(), y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, points)
        points = (points.detach() + step * gradient / length(gradient)).clamp(0, 1)
        points = x + (points - x).renorm(2, 0, eps)
    model.train()
    return points


def sphere(
    model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, steps: int, eps: float
) -> Tensor:
    """Algorithm 1 of Sun et al. (2025): every noise takes part in every step; what is misclassified stays."""
    model.eval()
    radius = length(noise)
    for _ in range(steps):
        noise = noise.detach().requires_grad_()
        logits = model(x + noise)
        (gradient,) = torch.autograd.grad(
            F.cross_entropy(logits, y, reduction="sum"), noise
        )
        moved = noise + eps * gradient / length(gradient)
        moved = moved / length(moved) * radius
        wrong = logits.argmax(1) != y
        noise = torch.where(wrong.view(-1, 1, 1, 1), noise, moved)
    model.train()
    return noise.detach()


def length(v: Tensor) -> Tensor:
    """(N, 1, 1, 1) norms, none of them 0."""
    return v.flatten(1).norm(dim=1).view(-1, 1, 1, 1) + 1e-12
