"""The noisy copies of one image themselves, and what the model answers to each, as they are when they are counted."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from randsmooth.certification.engine import (
    Engine,
    SampleRange,
    Segment,
    packed,
    segments,
    usual_block,
)
from randsmooth.certification.scheduler import Ints
from randsmooth.noise import Stream, address_of

U = TypeVar("U")


def answered_samples(
    engine: Engine, x: Tensor, samples: SampleRange, of: Callable[[Tensor, Tensor], U]
) -> Iterator[tuple[Ints, U]]:
    """Yield for each batch of one image's `samples` their numbers (B,), from the first, and what `of` makes of them.

    Which samples share a batch depends on its size; the number of a sample, and its noise, do not.

    Args:
        engine: what answers.
        x: (C, H, W) in [0, 1].
        samples: which to draw.
        of: called without gradients with noisy copies (B, C, H, W), which the next batch overwrites, and their logits.

    Raises:
        Problem: as `Scheduler.run`, but for logits that are not finite, which `of` may look for.
    """
    x = engine.receive(x)
    stream = Stream(engine.seed, samples.name).at(address_of(x))
    queue = deque(segments(0, x, stream, samples))
    batches = packed(queue, engine.size, mix=engine.mixes)

    def numbers_in(batch: Sequence[Segment]) -> Ints:
        parts = [segment.start + np.arange(segment.samples) for segment in batch]
        return np.concatenate(parts) - samples.start

    @torch.inference_mode()
    def answered(batch: Sequence[Segment]) -> U:
        return of(*engine.answered(batch))

    numbers = [numbers_in(batch) for batch in batches]
    return zip(numbers, engine.workers.map(answered, batches), strict=True)


def first_samples(
    engine: Engine, x: Tensor, samples: SampleRange, most: int
) -> tuple[Tensor, Ints]:
    """Return the first of one image's `samples`, at most `most` of the first block: copies (n, C, H, W), classes (n,).

    They are drawn and answered as when they are counted.

    Raises:
        Problem: the model refuses the image.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> noisy, classes = first_samples(engine, torch.zeros(1, 2, 2), SampleRange("votes", 0, 300), most=5)
        >>> noisy.shape, classes.shape
        (torch.Size([5, 1, 2, 2]), (5,))
    """
    end_of_block = samples.start + usual_block(x.shape)
    block = replace(samples, stop=min(samples.stop, end_of_block))

    def first(noisy: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        return noisy[:most].cpu().clone(), logits[:most].argmax(dim=1).cpu()

    ((_, (noisy, classes)),) = answered_samples(engine, x, block, first)
    return noisy, classes.numpy()
