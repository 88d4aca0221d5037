"""What a model answers to a few images: hashes that show what weights do not, such as code; whether it guesses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.certification.checks import made_up
from randsmooth.certification.engine import Engine
from randsmooth.data import Images
from randsmooth.documents import shown

MADE_UP, OWN = "made-up images", "own images"  # the keys in headers
NAME = "behaviour"  # name of the noise stream
IMAGES = 16  # at most so many of the run's own images
ASKED, TOO_FEW = 64, 20  # images that a model is asked about without noise, and so few that they say nothing
NEAR = 0.15  # share of the errors of guessing that a model avoids which knows hardly more


def behaviour(engine: Engine, images: Images, indices: Sequence[int]) -> dict[str, str]:
    """Hashes of the logits of a prepared engine, for made-up images and for some of the run's own, a batch of each.

    Made-up images can be checked without the data set. The run's own distinguish models that give equal logits for all
    the made-up ones, as two decision trees may.
    """
    chosen = torch.tensor(indices)[data.take(len(indices), min(IMAGES, len(indices)))]
    own = [x for batch, _ in images.batches(chosen.split(1)) for x in batch]
    return on_made_up(engine, tuple(own[0].shape)) | {OWN: _hash(engine, own)}


def no_better_than_guessing(engine: Engine, images: Images, indices: Sequence[int]) -> list[str]:
    """A sentence where a prepared engine is right without noise about hardly more of the images than guessing is.

    Example:
        >>> blind = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> _ = blind[1].weight.data.zero_()
        >>> engine = Engine(blind, sigma=0.5, device=torch.device("cpu"))
        >>> _ = engine.prepare((1, 8, 8))
        >>> print(no_better_than_guessing(engine, data.load("digits", "test"), range(50))[0][:58])
        without noise the model is right about 5 of 50 of these im
    """
    if not images.labelled or len(indices) < TOO_FEW:
        return []
    chosen = torch.tensor(indices)[data.take(len(indices), min(ASKED, len(indices)))]
    asked = torch.cat([x.cpu() for x, _ in images.batches(chosen.split(1))])
    right = int((engine.clean_answers(asked) == images.labels_at(chosen)).sum())
    guess, total = 1 / engine.classes, len(chosen)
    if right > (guess + NEAR * (1 - guess)) * total:
        return []
    numbered = ", ".join(f"{place} {shown(name)}" for place, name in enumerate(images.spec.classes[:3]))
    return [
        f"without noise the model is right about {right} of {total} of these images, hardly more often than guessing "
        f"({guess:.1%}): are its classes numbered as the data's ({numbered}, ...), and does it take images in [0, 1]?"
    ]


def on_made_up(engine: Engine, shape: tuple[int, ...]) -> dict[str, str]:
    """The part of `behaviour` that needs no data, from an engine prepared for images of `shape` (C, H, W)."""
    return {MADE_UP: _hash(engine, made_up(shape))}


def _hash(engine: Engine, images: Sequence[Tensor]) -> str:
    logits = engine.answers(images, NAME)
    hashed = hashlib.sha256(f"{logits.dtype} {tuple(logits.shape)}\n".encode())
    hashed.update(logits.contiguous().numpy().tobytes())
    return f"sha256:{hashed.hexdigest()}"
