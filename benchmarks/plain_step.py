"""A training step and Algorithm 1 of Sun et al. (2025) as one writes them down: float32, contiguous.

The networks have the parameter names of ours, so that one's weights load into the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def lenet() -> nn.Module:
    """LeNet for 28x28 grey images."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, a 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, width, 1, stride, bias=False),
                nn.BatchNorm2d(width),
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return self.relu(out)


class ResNet(nn.Module):
    """The CIFAR ResNet of depth 6n + 2."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self._layer(16, 16, n, 1)
        self.layer2 = self._layer(16, 32, n, 2)
        self.layer3 = self._layer(32, 64, n, 2)
        self.avgpool = nn.AvgPool2d(8)
        self.fc = nn.Linear(64, 10)

    def _layer(self, inputs: int, width: int, n: int, stride: int) -> nn.Sequential:
        return nn.Sequential(BasicBlock(inputs, width, stride), *(BasicBlock(width, width, 1) for _ in range(n - 1)))

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(self.avgpool(x).flatten(1))


class Normalized(nn.Module):
    """The network behind its normalisation, or without one where `mean` and `std` are None."""

    def __init__(self, network: nn.Module, mean: Tensor | None, std: Tensor | None) -> None:
        super().__init__()
        self.network, self.mean, self.std = network, mean, std

    def forward(self, x: Tensor) -> Tensor:
        if self.mean is not None:
            x = (x - self.mean.to(x.device)) / self.std.to(x.device)
        return self.network(x)


def crop_and_flip(x: Tensor) -> Tensor:
    """Each image of x (B, C, H, W) padded by 4 and cut at a random place, then mirrored or not."""
    size = x.shape[-1]
    padded = F.pad(x, (4, 4, 4, 4))
    corners = torch.randint(0, 9, (len(x), 2)).tolist()
    flips = torch.rand(len(x)) < 0.5
    x = torch.stack([padded[i, :, top : top + size, left : left + size] for i, (top, left) in enumerate(corners)])
    x[flips] = x[flips].flip(-1)
    return x


def batches(pixels: Tensor, labels: Tensor, size: int, augment: bool, device: str) -> Iterator[tuple[Tensor, Tensor]]:
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
    batches: Iterator[tuple[Tensor, Tensor]],
    objective: Callable[[nn.Module, Tensor, Tensor, list[Tensor]], tuple[Tensor, Tensor]],
    steps: int,
    m: int,
    sigma: float,
) -> tuple[float, float]:
    """`steps` steps under m noises an image; the mean loss and accuracy, which are logged at every step.

    `objective` gives the loss and the logits of the noisy images from the model, x, y and the noises.
    """
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


def attack(model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, steps: int, eps: float) -> Tensor:
    """Algorithm 1: x, noise (N, C, H, W). Every noise takes part in every step; what is misclassified stays."""
    model.eval()
    radius = noise.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    for _ in range(steps):
        noise = noise.detach().requires_grad_()
        logits = model(x + noise)
        loss = F.cross_entropy(logits, y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, noise)
        length = gradient.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        moved = noise + eps * gradient / (length + 1e-12)
        moved = moved / moved.flatten(1).norm(dim=1).view(-1, 1, 1, 1) * radius
        wrong = logits.argmax(1) != y
        noise = torch.where(wrong.view(-1, 1, 1, 1), noise, moved)
    model.train()
    return noise.detach()
