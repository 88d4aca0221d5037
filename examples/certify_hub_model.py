"""Certify an image classifier of transformers by its name: noise comes first, then all that its processor does.

    python examples/certify_hub_model.py

It needs `pip install 'randsmooth[hub]'`. The model here is a small vision transformer that is trained on noisy digits
of scikit-learn, and saved with its processor as users of transformers save theirs; "hf:user/name" works like it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
import transformers
from sklearn.datasets import load_digits
from torch.nn import functional as F

import randsmooth as rs

SIGMA = 0.25


def their_model(folder: Path) -> None:
    """A vision transformer for 16x16 grey images, normalised by mean 0.5 and standard deviation 0.5."""
    pixels, labels = load_digits(return_X_y=True)
    x = torch.tensor(pixels / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(labels)
    names = [str(digit) for digit in range(10)]
    config = transformers.ViTConfig(
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        image_size=16,
        patch_size=4,
        num_channels=1,
        id2label=dict(enumerate(names)),
        label2id={name: k for k, name in enumerate(names)},
    )
    torch.manual_seed(0)
    network = transformers.ViTForImageClassification(config)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3)
    for _ in range(200):
        pick = torch.randint(1400, (64,))
        noisy = F.interpolate(
            x[pick] + SIGMA * torch.randn(64, 1, 8, 8),
            size=(16, 16),
            mode="bilinear",
            antialias=True,
        )
        loss = F.cross_entropy(
            network(pixel_values=(noisy - 0.5) / 0.5).logits, y[pick]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval().save_pretrained(folder)
    sides = {"height": 16, "width": 16}
    transformers.ViTImageProcessorPil(
        size=sides, image_mean=[0.5], image_std=[0.5]
    ).save_pretrained(folder)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        their_model(Path(folder) / "vit")
        name = f"hf:{folder}/vit"
        # The same as: randsmooth certify hf:vit --dataset digits --sigma 0.25 --take 20 --n 1000
        table = rs.certify(
            name,
            "digits",
            sigma=SIGMA,
            take=20,
            n0=50,
            n=1000,
            out=Path(folder) / "digits.parquet",
        )
        for step in rs.load_model(name).notes:
            print(step)
        for radius in (0.0, 0.25):
            print(
                f"certified accuracy at radius {radius}: {rs.metrics.certified_accuracy(table, radius).value:.0%}"
            )


if __name__ == "__main__":
    main()
