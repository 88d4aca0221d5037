"""Hashes of the logits for a few noisy images: they show differences that weights do not, such as in code."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.certification.checks import made_up
from randsmooth.certification.engine import Engine
from randsmooth.data import Images

MADE_UP, OWN = "made-up images", "own images"  # the keys in headers
NAME = "behaviour"  # name of the noise stream
IMAGES = 16  # at most so many of the run's own images


def behaviour(engine: Engine, images: Images, indices: Sequence[int]) -> dict[str, str]:
    """Hashes of the logits of a prepared engine, for made-up images and for some of the run's own, a batch of each.

    Made-up images can be checked without the data set. The run's own distinguish models that give equal logits for all
    the made-up ones, as two decision trees may.
    """
    chosen = torch.tensor(indices)[data.take(len(indices), min(IMAGES, len(indices)))]
    own = [x for batch, _ in images.batches(chosen.split(1)) for x in batch]
    return on_made_up(engine, tuple(own[0].shape)) | {OWN: _hash(engine, own)}


def on_made_up(engine: Engine, shape: tuple[int, ...]) -> dict[str, str]:
    """The part of `behaviour` that needs no data, from an engine prepared for images of `shape` (C, H, W)."""
    return {MADE_UP: _hash(engine, made_up(shape))}


def _hash(engine: Engine, images: Sequence[Tensor]) -> str:
    logits = engine.answers(images, NAME)
    hashed = hashlib.sha256(f"{logits.dtype} {tuple(logits.shape)}\n".encode())
    hashed.update(logits.contiguous().numpy().tobytes())
    return f"sha256:{hashed.hexdigest()}"
