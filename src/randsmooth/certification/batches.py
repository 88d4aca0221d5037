"""Which samples are drawn together: the noise of an image in blocks, and blocks in
batches.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from randsmooth.certificates.settings import BLOCK, FINE, LARGE
from randsmooth.noise import Copies, Stream

# The samples of this name are all copies, by their numbers: none is drawn.
EVERY = "certify/every"


@dataclass(frozen=True)
class MostInABatch:
    """The most that one forward pass takes by default.

    Attributes:
        samples: the most samples.
        numbers: the most numbers in all of them together, such as those of pixels.
    """

    samples: int
    numbers: int


# A CPU's caches cannot hold the activations of a bigger batch.
MOST_ON_CPU = MostInABatch(samples=256, numbers=2**19)
MOST_ON_GPU = MostInABatch(samples=8192, numbers=2**24)


@dataclass(frozen=True)
class SampleRange:
    """Samples `start` to `stop` of the noise stream `name`.

    Attributes:
        name: the name of the stream.
        start, stop: the numbers of the first sample, and of the one after the last.
        block: how many samples share one part of the stream; None: as many as is usual
            for the image.
    """

    name: str
    start: int
    stop: int
    block: int | None = None


@dataclass(frozen=True)
class Segment(Copies):
    """Up to one block of samples of an image on the device, all drawn from one stream.

    Attributes:
        slot: the index of the counts that the samples belong to.
        start: the number of the first sample in its stream of samples, see
            `SampleRange`. Copies that are all counted are made by their numbers.
    """

    slot: int
    start: int


def usual_block(shape: Sequence[int]) -> int:
    """Return how many samples of an image of `shape` (C, H, W) share a noise stream."""
    return BLOCK if math.prod(shape) <= LARGE else FINE


def usual_batch(device: torch.device, shape: Sequence[int]) -> int:
    """Return the samples of a forward pass for images of `shape` (C, H, W) by default.

    They are whole blocks, and at least one.
    """
    most = MOST_ON_CPU if device.type == "cpu" else MOST_ON_GPU
    block = usual_block(shape)
    samples = min(most.samples, most.numbers // math.prod(shape))
    return max(1, samples // block) * block


def segments(
    slot: int, x: Tensor, stream: Stream, samples: SampleRange
) -> Iterator[Segment]:
    """Divide samples of an image into blocks.

    Args:
        slot: the index of the counts that they belong to.
        x: (C, H, W), the image.
        stream: the stream of the image under the name of `samples`.
        samples: the range of samples to divide; a block must begin at its start.
    """
    block = samples.block or usual_block(x.shape)
    for start in range(samples.start, samples.stop, block):
        yield Segment(
            x=x,
            stream=stream.at(start // block),
            samples=min(block, samples.stop - start),
            slot=slot,
            start=start,
        )


def take_batch(queue: deque[Segment], batch: int, *, mix: bool) -> list[Segment]:
    """Take up to `batch` samples off the front of the queue.

    Segments that do not fit are passed over, and stay. Unless images may `mix`, only
    those of the first segment's slot are taken.
    """
    taken = list[Segment]()
    passed = list[Segment]()
    room = batch
    while queue and room:
        segment = queue.popleft()
        of_same_slot = not taken or segment.slot == taken[0].slot
        if segment.samples <= room and (mix or of_same_slot):
            taken.append(segment)
            room -= segment.samples
            continue
        passed.append(segment)
        # The segments of a slot stand together: none follows that is to be taken.
        if not mix:
            break
    # Back to the front of the queue, in the order in which they stood.
    queue.extendleft(reversed(passed))
    return taken


def packed(
    queue: deque[Segment], batch: int, *, mix: bool, flush: bool = True
) -> list[list[Segment]]:
    """Take batches off the queue while it holds at least `batch` samples.

    Segments stay whole: where none in the queue fits into the rest of a batch, that
    batch is less than full. With `flush`, the last samples are taken too. Where images
    may not `mix` they always are: the samples of a slot are queued all at once, so none
    that come later could fill their batch. No segment may be larger than a batch.
    """
    batches = list[list[Segment]]()
    left = sum(segment.samples for segment in queue)
    while queue and (left >= batch or flush or not mix):
        taken = take_batch(queue, batch, mix=mix)
        # The first segment fits into an empty batch, so that the queue gets shorter.
        assert taken, f"a segment of {queue[0].samples} is larger than a batch"
        batches.append(taken)
        left -= sum(segment.samples for segment in taken)
    return batches
