"""Certify a model for other images than the data set's: noise first, then its resize, channels and normalisation.

    python examples/wrap_a_model.py

The model takes 3 x 32 x 32 colour images, normalised; the data set has 1 x 8 x 8 grey ones in [0, 1], and the certified
radii are about these.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import randsmooth as rs

SIGMA = 0.25
NEEDS = {
    "channels": 3,
    "resize": 32,
    "mean": (0.5, 0.5, 0.5),
    "std": (0.25, 0.25, 0.25),
}


def trained() -> nn.Module:
    """A small network of colour images, trained on digits that were made such."""
    torch.manual_seed(0)
    convolutions = (
        nn.Conv2d(3, 16, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
    )
    network = nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(1152, 10))
    digits = rs.data.load("digits", "train")
    x, y = digits.batch(torch.arange(len(digits)))
    model = rs.wrap(network, **NEEDS)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for _ in range(200):
        pick = torch.randint(len(x), (64,))
        loss = F.cross_entropy(
            model(x[pick] + SIGMA * torch.randn(64, 1, 8, 8)), y[pick]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


def main() -> None:
    model = rs.wrap(trained(), **NEEDS)
    with tempfile.TemporaryDirectory() as folder:
        table = rs.certify(
            model,
            "digits",
            sigma=SIGMA,
            n=1000,
            take=10,
            out=Path(folder) / "wrapped.parquet",
        )
    print("between noise and label:", *table.header.model["notes"], sep="\n  ")
    print(
        f"certified and right: {table.correct.mean():.0%}; radii {table.radius.round(3).tolist()}"
    )


if __name__ == "__main__":
    main()
