"""Certify on images of your own: arrays, an .npz file, a folder, with labels or without.

    python examples/your_data.py

The images here are scikit-learn's digits, and the model a small network trained on them in plain torch.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import randsmooth as rs

SIGMA = 0.25


def your_data() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (N, H, W) in 0..255 and labels (N,)."""
    pixels, labels = load_digits(return_X_y=True)
    return (pixels.reshape(-1, 8, 8) * 255 / 16).round().astype(np.uint8), labels


def your_model(x: NDArray[np.uint8], y: NDArray[np.int64]) -> nn.Module:
    """A network trained on noisy images."""
    torch.manual_seed(0)
    images, labels = (
        torch.tensor(x[:, None] / 255, dtype=torch.float32),
        torch.tensor(y),
    )
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(300):
        pick = torch.randint(len(images), (128,))
        loss = F.cross_entropy(
            model(images[pick] + SIGMA * torch.randn(128, 1, 8, 8)), labels[pick]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def in_forms(
    folder: Path, x: NDArray[np.uint8], y: NDArray[np.int64]
) -> dict[str, object]:
    """The same images in several forms."""
    np.savez(folder / "mine.npz", x=x, y=y)
    for place, (image, label) in enumerate(zip(x, y, strict=True)):
        for name in (f"classes/{label}", "flat"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / name / f"{place:03d}.png")
    return {
        "arrays": (x, y),
        "an .npz file": folder / "mine.npz",
        "class folders": folder / "classes",
        "a flat folder, without labels": folder / "flat",
        "arrays without labels": x,
    }


def main() -> None:
    x, y = your_data()
    model = your_model(x[:1700], y[:1700])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for form, source in in_forms(folder, x[1700:1720], y[1700:1720]).items():
            table = rs.certify(
                model,
                source,
                sigma=SIGMA,
                n=1000,
                out=folder / "mine.parquet",
                overwrite=True,
            )
            right = (
                f"{table.correct.sum()} right" if table.labelled else "labels unknown"
            )
            print(
                f"{form}: {len(table)} images, {(table.radius > 0).sum()} certified, {right}"
            )


if __name__ == "__main__":
    main()
