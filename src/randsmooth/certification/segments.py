"""How the samples of images are divided into blocks, each with its own noise stream, and packed into full batches."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from randsmooth.certificates.settings import BLOCK, FINE, LARGE
from randsmooth.certification.jobs import SampleRange
from randsmooth.noise import Stream

# Samples and values per forward pass by default. A CPU's caches cannot hold the activations of a bigger batch.
SAMPLES = {"cpu": 512, "cuda": 8192}
VALUES = {"cpu": 2**19, "cuda": 2**24}


@dataclass(frozen=True)
class Segment:
    """Up to one block of samples of an image, drawn from one stream.

    Attributes:
        slot: index of the counts that the samples belong to.
        x: (C, H, W) the image, on the device.
        stream: the stream that the noise is drawn from.
        samples: number of samples, those after `skip`.
        skip: how many samples of the stream come before them.
        whole: how many are drawn from the stream, since a shorter draw may hold other numbers; 0 stands for `samples`.
    """

    slot: int
    x: Tensor
    stream: Stream
    samples: int
    skip: int = 0
    whole: int = 0

    @property
    def drawn(self) -> int:
        """Samples to draw, of which `samples` count."""
        return self.whole or self.samples

    def part(self, start: int, samples: int) -> Segment:
        """`samples` of its samples, from the one numbered `start`."""
        return replace(self, samples=samples, skip=self.skip + start, whole=self.drawn)


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
        yield Segment(slot, x, stream.at(start // block), min(block, samples.stop - start))


def take_batch(queue: deque[Segment], batch: int, *, mix: bool, cut: bool = False) -> list[Segment]:
    """Take up to `batch` samples off the front of the queue; unless `mix`, only those of the first segment's slot.

    With `cut`, a segment that does not fit is divided, so that the batch is full.
    """
    taken: list[Segment] = []
    passed: list[Segment] = []
    room = batch
    while queue and room:
        segment = queue.popleft()
        if cut and segment.samples > room:
            queue.appendleft(segment.part(room, segment.samples - room))
            segment = segment.part(0, room)
        fits = segment.samples <= room and (mix or not taken or segment.slot == taken[0].slot)
        (taken if fits else passed).append(segment)
        room -= segment.samples if fits else 0
        if not fits and not mix:
            break
    queue.extendleft(reversed(passed))
    return taken
