"""How the samples of images are divided into blocks, each with its own noise stream, and packed into full batches."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from randsmooth.certificates.settings import BLOCK, FINE, LARGE
from randsmooth.certification.algorithm import SampleRange
from randsmooth.noise import Stream

# Samples and values per forward pass by default. A CPU's caches cannot hold the activations of a bigger batch.
SAMPLES = {"cpu": 512, "cuda": 8192}
VALUES = {"cpu": 2**19, "cuda": 2**24}


@dataclass(frozen=True)
class Segment:
    """Up to one block of samples of an image, all that is drawn from one stream.

    Attributes:
        slot: index of the counts that the samples belong to.
        x: (C, H, W) the image, on the device.
        stream: the stream that the noise is drawn from.
        samples: number of samples.
        start: how many samples of the image, of the range that was asked for, come before them.
    """

    slot: int
    x: Tensor
    stream: Stream
    samples: int
    start: int = 0


def usual_block(shape: Sequence[int]) -> int:
    """Number of samples that share a noise stream, for images of `shape` (C, H, W)."""
    return BLOCK if math.prod(shape) <= LARGE else FINE


def usual_batch(device: torch.device, shape: Sequence[int]) -> int:
    """Samples per forward pass for images of `shape`, unless a batch is given: at least one block, and whole ones."""
    kind = "cpu" if device.type == "cpu" else "cuda"
    samples, block = min(SAMPLES[kind], VALUES[kind] // math.prod(shape)), usual_block(shape)
    return max(1, samples // block) * block


def segments(slot: int, x: Tensor, stream: Stream, samples: SampleRange) -> Iterator[Segment]:
    """Divide `samples` of image `x`, whose stream is `stream`, into blocks; `samples.start` is the start of a block."""
    block = samples.block or usual_block(x.shape)
    for start in range(samples.start, samples.stop, block):
        number = min(block, samples.stop - start)
        yield Segment(slot, x, stream.at(start // block), number, start - samples.start)


def take_batch(queue: deque[Segment], batch: int, *, mix: bool) -> list[Segment]:
    """Take up to `batch` samples off the front of the queue; unless `mix`, only those of the first segment's slot."""
    taken: list[Segment] = []
    passed: list[Segment] = []
    room = batch
    while queue and room:
        segment = queue.popleft()
        fits = segment.samples <= room and (mix or not taken or segment.slot == taken[0].slot)
        (taken if fits else passed).append(segment)
        room -= segment.samples if fits else 0
        if not fits and not mix:
            break
    queue.extendleft(reversed(passed))
    return taken


def packed(segments: Iterator[Segment], batch: int, *, mix: bool) -> list[list[Segment]]:
    """All `segments` in batches."""
    queue, batches = deque(segments), list[list[Segment]]()
    while queue:
        batches.append(take_batch(queue, batch, mix=mix))
    return batches
