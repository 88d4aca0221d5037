"""Certify a classifier that you have already: any torch module that takes images in [0, 1] will do.

    python examples/certify_your_model.py

The model here is a small network trained on scikit-learn's digits in plain torch, without a line of randsmooth.
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import randsmooth as rs

SIGMA = 0.25


def your_model() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A network trained on noisy digits, and 20 images that it has not seen, with their labels."""
    pixels, labels = load_digits(return_X_y=True)
    x = torch.tensor(pixels / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(labels)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(500):
        pick = torch.randint(1700, (128,))
        loss = F.cross_entropy(
            model(x[pick] + SIGMA * torch.randn(128, 1, 8, 8)), y[pick]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), x[1700:1720], y[1700:1720]


def main() -> None:
    model, x, y = your_model()
    smoothed = rs.SmoothedClassifier(model, sigma=SIGMA)
    certified = smoothed.certify(x, n0=100, n=10_000, alpha=0.001)
    print(
        f"seed {certified.seed}"
    )  # new at every call; SmoothedClassifier(..., seed=...) repeats it
    for label, predicted, radius in zip(
        y.tolist(), certified.predict.tolist(), certified.radius.tolist(), strict=True
    ):
        verdict = (
            "abstains"
            if predicted == rs.ABSTAIN
            else f"{predicted}, cannot change within {radius:.3f}"
        )
        print(f"label {label}: {verdict}")


if __name__ == "__main__":
    main()
