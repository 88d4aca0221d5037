"""How samples are addressed and packed: in blocks that share a noise stream, and batches that are full."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from randsmooth.certification.jobs import SampleRange
from randsmooth.noise import Stream

BLOCK, FINE = 128, 32  # samples that share a noise stream; for large images fewer, so that a batch may be small
LARGE = 2**14  # values of an image from which on it is large

# Samples and pixels a forward pass by default. A CPU's caches cannot hold the activations of a bigger batch.
SAMPLES = {"cpu": 256, "cuda": 8192}
TRIED = 2**20  # values of a larger batch that is tried
PIXELS = {"cpu": 2**19, "cuda": 2**24}


@dataclass(frozen=True)
class Segment:
    """Up to one block of samples of an image, drawn from one stream.

    Attributes:
        slot: which counts they belong to.
        x: (C, H, W) the image, on the device.
        stream: of the noise.
        samples: how many of them, from the start of the stream.
    """

    slot: int
    x: Tensor
    stream: Stream
    samples: int


def usual_block(shape: Sequence[int]) -> int:
    """Samples that share a stream, for images of `shape` (C, H, W)."""
    return BLOCK if math.prod(shape) <= LARGE else FINE


def usual_batch(device: torch.device, shape: Sequence[int]) -> int:
    """Samples a forward pass for images of `shape`: a whole number of blocks, at least one."""
    kind = "cpu" if device.type == "cpu" else "cuda"
    samples, block = min(SAMPLES[kind], PIXELS[kind] // math.prod(shape)), usual_block(shape)
    return max(1, samples // block) * block


def larger_batches(batch: int, shape: Sequence[int]) -> list[int]:
    """Larger batches than the usual one that are worth a trial: twice and four times it, as far as they are small."""
    return [b for b in (2 * batch, 4 * batch) if b * math.prod(shape) <= TRIED]


def segments(slot: int, x: Tensor, stream: Stream, samples: SampleRange) -> Iterator[Segment]:
    """The `samples` by blocks; they start at a whole number of blocks. `stream` is the image's."""
    block = samples.block or usual_block(x.shape)
    for start in range(samples.start, samples.stop, block):
        yield Segment(slot, x, stream.at(start // block), min(block, samples.stop - start))


def take_batch(queue: deque[Segment], batch: int, *, mix: bool) -> list[Segment]:
    """Take a batch off the queue, first come first served; unless `mix`, samples of the first one's slot only."""
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
