"""Import a checkpoint of another project: the architecture and the normalisation are found out, and then it certifies.

    python examples/import_checkpoint.py

The checkpoint is made here as locuslab/smoothing and its followers save theirs: a network behind a normalisation layer
that is not stored. It is trained on scikit-learn's digits in plain torch.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch.nn import functional as F

import randsmooth as rs

SIGMA = 0.25


def their_checkpoint(path: Path) -> None:
    """Train a CIFAR ResNet-8 on noisy digits and save it with the names that nn.Sequential(layer, network) gives."""
    pixels, labels = load_digits(return_X_y=True)
    x = torch.tensor(pixels / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(labels)
    torch.manual_seed(0)
    network = rs.models.build("resnet8", in_channels=1, image_size=8, num_classes=10)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(150):
        pick = torch.randint(1400, (128,))
        loss = F.cross_entropy(
            network(x[pick] + SIGMA * torch.randn(128, 1, 8, 8)), y[pick]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state = {f"1.{name}": tensor for name, tensor in network.state_dict().items()}
    torch.save(
        {
            "epoch": 1,
            "arch": "cifar_resnet8",
            "state_dict": state,
            "optimizer": optimizer.state_dict(),
        },
        path,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "checkpoint.pth.tar", Path(folder) / "model"
        their_checkpoint(file)
        # The same as: randsmooth import checkpoint.pth.tar --dataset digits --sigma 0.25 --out model
        model = rs.models.import_checkpoint(file, "digits", sigma=SIGMA, out=out)
        found = model.provenance["normalisation"]
        print(
            f"{model.arch}, epoch {model.provenance['imported']['epoch']}; normalisation {found['layer']}"
        )
        print(f"accuracy on {found['images']} noisy images: {found['accuracy']}")
        table = rs.certify(
            out, take=20, n0=50, n=1000, out=Path(folder) / "digits.parquet"
        )
        for radius in (0.0, 0.25):
            print(
                f"certified accuracy at radius {radius}: {rs.metrics.certified_accuracy(table, radius).value:.0%}"
            )


if __name__ == "__main__":
    main()
