"""Hashes of the logits for a few noisy images: they show differences that weights do not, such as in code."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.certification.engine import Engine
from randsmooth.data import Images
from randsmooth.noise import Stream

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


def made_up(shape: tuple[int, ...]) -> list[Tensor]:
    """Images of `shape` (C, H, W), on the grid k/255: black, grey, white, gradients, checks and noise."""
    channels, height, width = shape
    down, across = torch.arange(height)[:, None], torch.arange(width)[None]
    checks = 255 * ((down + across) % 2)
    planes = [0 * checks, 0 * checks + 128, 0 * checks + 255, checks]
    planes += [(255 * down // max(1, height - 1)).expand(height, width)]
    planes += [(255 * across // max(1, width - 1)).expand(height, width)]
    same_in_every_channel = [plane.expand(shape) for plane in planes]
    rolled = planes[-1] + 64 * torch.arange(channels)[:, None, None]  # differs from channel to channel
    noise = torch.from_numpy(Stream(0, NAME).numpy().integers(0, 256, shape))
    return [image.float() / 255.0 for image in (*same_in_every_channel, rolled % 256, noise)]


def _hash(engine: Engine, images: Sequence[Tensor]) -> str:
    logits = engine.answers(images, NAME)
    hashed = hashlib.sha256(f"{logits.dtype} {tuple(logits.shape)}\n".encode())
    hashed.update(logits.contiguous().numpy().tobytes())
    return f"sha256:{hashed.hexdigest()}"
