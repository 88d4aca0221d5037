"""The noisy copies of one image, and the answer to each, as they are when they are
counted.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from randsmooth.certification.batches import (
    SampleRange,
    Segment,
    packed,
    segments,
    usual_block,
)
from randsmooth.certification.engine import Engine
from randsmooth.certification.scheduler import Ints
from randsmooth.noise import Stream, address_of

U = TypeVar("U")


def answered_samples(
    engine: Engine,
    x: Tensor,
    samples: SampleRange,
    summary: Callable[[Tensor, Tensor], U],
) -> Iterator[tuple[Ints, U]]:
    """Yield for each batch of one image's samples their numbers, and a summary of them.

    Which samples share a batch depends on the size of a batch. The number of a sample,
    and its noise, do not depend on it.

    Args:
        engine: the engine that draws and answers.
        x: (C, H, W) in [0, 1].
        samples: the range of samples to draw.
        summary: called without gradients with noisy copies (B, C, H, W), which the next
            batch overwrites, and their logits (B, K).

    Yields:
        (B,) numbers, which count from 0 at the first of `samples`, and the return value
        of `summary`.

    Raises:
        Problem: in the cases of `Scheduler.run`, except for logits that are not finite,
            which `summary` may look for.
    """
    x = engine.receive(x)
    stream = Stream(engine.seed, samples.name).at(address_of(x))
    # One slot is enough: nothing is counted here.
    queue = deque(segments(0, x, stream, samples))
    batches = packed(queue, engine.size, mix=engine.mixes)

    def numbers_in(batch: Sequence[Segment]) -> Ints:
        parts = [segment.start + np.arange(segment.samples) for segment in batch]
        return np.concatenate(parts) - samples.start

    @torch.inference_mode()
    def summary_of(batch: Sequence[Segment]) -> U:
        noisy, logits = engine.answered(batch)
        return summary(noisy, logits)

    numbers = [numbers_in(batch) for batch in batches]
    return zip(numbers, engine.workers.map(summary_of, batches), strict=True)


def first_samples(
    engine: Engine, x: Tensor, samples: SampleRange, most: int
) -> tuple[Tensor, Ints]:
    """Return the first noisy copies of an image, and their classes.

    They are drawn and answered as when they are counted.

    Args:
        engine: the engine that draws and answers.
        x: (C, H, W) in [0, 1].
        samples: the range of samples that is counted.
        most: the most copies to return; there are no more than the first block has.

    Returns:
        (n, *seen) copies and (n,) classes.

    Raises:
        Problem: the model refuses the image.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> votes = SampleRange("votes", 0, 300)
        >>> noisy, classes = first_samples(engine, torch.zeros(1, 2, 2), votes, most=5)
        >>> noisy.shape, classes.shape
        (torch.Size([5, 1, 2, 2]), (5,))
    """
    end_of_block = samples.start + usual_block(x.shape)
    block = replace(samples, stop=min(samples.stop, end_of_block))

    def first(noisy: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        return noisy[:most].cpu().clone(), logits[:most].argmax(dim=1).cpu()

    # This block is one batch: a batch has room for a block at least, and blocks stay whole.
    ((_, (noisy, classes)),) = answered_samples(engine, x, block, first)
    return noisy, classes.numpy()
