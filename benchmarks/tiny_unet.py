"""A small diffusion model of 28x28 images: its network, its schedule and its training, in plain torch."""

import math
import time
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth import data
from randsmooth.noise import Stream

STEPS = 1000
ALPHAS_CUMPROD = torch.cumprod(
    1.0 - torch.linspace(1e-4, 0.02, STEPS, dtype=torch.float64), 0
)  # Ho et al. 2020
BATCH, LR = 256, 2e-3


class Block(nn.Module):
    """x + two convolutions, of which the first is scaled and shifted by the timestep."""

    def __init__(self, width: int, embedding: int) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Conv2d(width, width, 3, padding=1),
            nn.Conv2d(width, width, 3, padding=1),
        )
        self.by_time = nn.Linear(embedding, 2 * width)
        nn.init.zeros_(self.second.weight)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        scale, shift = self.by_time(time)[:, :, None, None].chunk(2, dim=1)
        return x + self.second(F.silu(self.first(F.silu(x)) * (1.0 + scale) + shift))


class TinyUNet(nn.Module):
    """The noise in x_t (B, 1, 28, 28) at timesteps t (B,): at 14x14 and 7x7 only, 4 million products an image."""

    def __init__(self, width: int = 16, deep: int = 48, embedding: int = 32) -> None:
        super().__init__()
        self.embedding = embedding
        self.time = nn.Sequential(
            nn.Linear(embedding, 2 * embedding),
            nn.SiLU(),
            nn.Linear(2 * embedding, embedding),
        )
        self.enter = nn.Conv2d(4, width, 3, padding=1)
        self.down, self.up = (
            nn.Conv2d(width, deep, 3, stride=2, padding=1),
            nn.Conv2d(deep, width, 1),
        )
        self.blocks = nn.ModuleList(
            [Block(width, embedding), Block(deep, embedding), Block(width, embedding)]
        )
        self.leave = nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x_t: Tensor, t: Tensor) -> Tensor:
        time = self.time(self._waves(t).to(x_t.dtype))
        high = self.blocks[0](self.enter(F.pixel_unshuffle(x_t, 2)), time)
        low = self.blocks[1](self.down(high), time)
        high = self.blocks[2](high + F.interpolate(self.up(low), scale_factor=2), time)
        return F.pixel_shuffle(self.leave(F.silu(high)), 2)

    def _waves(self, t: Tensor) -> Tensor:
        """(B, embedding) sines and cosines of t."""
        half = self.embedding // 2
        speeds = torch.exp(
            -math.log(10_000.0) * torch.arange(half, device=t.device) / half
        )
        angles = t[:, None].float() * speeds
        return torch.cat([angles.sin(), angles.cos()], dim=1)


def trained(
    folder: Path, *, epochs: int, take: int | None, device: torch.device, precision: str
) -> TinyUNet:
    """The network, trained on MNIST to predict the noise (Ho et al. 2020, eq. 14); kept in `folder`."""
    path, rows = folder / "network.pt", []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = TinyUNet().to(device)
    if path.exists():
        network.load_state_dict(
            torch.load(path, map_location=device, weights_only=True)
        )
        return network.eval()
    images = data.load("mnist", "train", device=device)
    images = images if take is None else images.subset(data.take(len(images), take))
    optimiser = torch.optim.Adam(network.parameters(), LR)
    folder.mkdir(parents=True, exist_ok=True)
    for epoch in range(epochs):
        start, mean = (
            time.perf_counter(),
            _epoch(network, optimiser, images, epoch, epochs, precision),
        )
        rows.append(
            {
                "epoch": epoch,
                "mse": mean,
                "seconds": round(time.perf_counter() - start, 3),
            }
        )
        pd.DataFrame(rows).to_csv(folder / "history.csv", index=False)
        print(f"diffusion: epoch {epoch + 1}/{epochs}, mse {mean:.4f}", flush=True)
    torch.save(network.state_dict(), path)
    return network.eval()


def _epoch(
    network: TinyUNet,
    optimiser: torch.optim.Optimizer,
    images: data.Images,
    epoch: int,
    epochs: int,
    precision: str,
) -> float:
    """One epoch at its learning rate, which falls along a cosine; the mean loss."""
    stream, device = Stream(0, "diffusion").at(epoch), images.device
    generator, order = (
        stream.torch(device),
        torch.randperm(len(images), generator=stream.at(0).torch()),
    )
    abar, total, batches = ALPHAS_CUMPROD.float().to(device), 0.0, order.split(BATCH)
    for step, (x, _) in enumerate(images.batches(batches)):
        for group in optimiser.param_groups:
            group["lr"] = (
                LR
                * (1.0 + math.cos(math.pi * (epoch + step / len(batches)) / epochs))
                / 2.0
            )
        t = torch.randint(STEPS, (len(x),), generator=generator, device=device)
        noise = torch.randn(x.shape, generator=generator, device=device)
        signal, level = (
            abar[t].sqrt()[:, None, None, None],
            (1.0 - abar[t]).sqrt()[:, None, None, None],
        )
        with torch.autocast(device.type, torch.bfloat16, enabled=precision != "32"):
            loss = F.mse_loss(
                network(signal * (2.0 * x - 1.0) + level * noise, t).float(), noise
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += float(loss) * len(x)
    return total / len(images)
