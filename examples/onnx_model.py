"""Write a trained network as an ONNX file, and certify that file as if somebody had sent it.

python examples/onnx_model.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import randsmooth as rs

SIGMA = 0.25


def trained() -> nn.Module:
    """A small convolutional network, trained on noisy digits."""
    pixels, labels = load_digits(return_X_y=True)
    x = torch.tensor(pixels[:1400] / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(labels[:1400])
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1024, 10),
    )
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(150):
        pick = torch.randint(1400, (128,))
        loss = F.cross_entropy(
            network(x[pick] + SIGMA * torch.randn(128, 1, 8, 8)), y[pick]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


def main() -> None:
    network = trained()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        for written, apart in rs.certification.export_model(
            network, onnx=path, shape=(1, 8, 8)
        ).items():
            print(
                f"{written.name}: logits differ by at most {apart:.0e} of the largest one"
            )
        tables = [
            rs.certify(
                model,
                "digits",
                sigma=SIGMA,
                n=2000,
                take=20,
                out=Path(folder) / f"{name}.parquet",
            )
            for name, model in (("network", network), ("onnx", path))
        ]
    print(rs.report.render(tables))


if __name__ == "__main__":
    main()
