"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.errors import InputError, unknown
from randsmooth.noise import Stream, perturb

BLOCK = 128  # samples that share one noise stream; a block is never split between batches
DTYPES = {"32": torch.float32, "bf16": torch.bfloat16}

# Samples and pixels a forward pass by default. A CPU's caches cannot hold the activations of a bigger batch.
SAMPLES = {"cpu": 256, "cuda": 8192}
PIXELS = {"cpu": 2**19, "cuda": 2**24}


@dataclass(frozen=True)
class Segment:
    """Samples of one part of the counts, all drawn from one stream."""

    part: int
    stream: Stream
    samples: int


def segments(number: int, seed: int, plan: Sequence[tuple[str, int]]) -> Iterator[Segment]:
    """The samples of image `number`: for every (stream name, n) of the plan, n of them in blocks."""
    for part, (name, n) in enumerate(plan):
        for block, start in enumerate(range(0, n, BLOCK)):
            yield Segment(part, Stream(seed, name).at(number, block), min(BLOCK, n - start))


def pack(queue: Iterable[Segment], batch: int) -> Iterator[list[Segment]]:
    """Consecutive segments in groups of at most `batch` samples."""
    group: list[Segment] = []
    for segment in queue:
        if sum(held.samples for held in group) + segment.samples > batch:
            yield group
            group = []
        group.append(segment)
    yield group


def usual_batch(device: torch.device, shape: Sequence[int]) -> int:
    """Samples a forward pass for images of `shape`: a whole number of blocks, at least one."""
    kind = "cpu" if device.type == "cpu" else "cuda"
    samples = min(SAMPLES[kind], PIXELS[kind] // math.prod(shape))
    return max(1, samples // BLOCK) * BLOCK


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of an image.

    The noise depends on the seed, the image's number and the kind of device alone, and a batch never holds
    samples of two images, so that an image's counts do not depend on its neighbours or on the order. Memory
    is that of one batch.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted cannot change meanwhile.
        sigma: standard deviation of the noise.
        precision: "32" or "bf16": the arithmetic of the network, and so a part of the base classifier.
        batch: samples a forward pass, at least one block; None: as many as suit device and image.
        seed: of the noise.
    """

    def __init__(
        self,
        model: nn.Module,
        sigma: float,
        *,
        device: torch.device,
        precision: str = "32",
        batch: int | None = None,
        seed: int = 0,
    ) -> None:
        if precision not in DTYPES:
            raise unknown("precision", str(precision), DTYPES)
        if batch is not None and batch < BLOCK:
            raise InputError(f"batch={batch} must be at least {BLOCK}, the samples that share a noise stream")
        self.dtype = DTYPES[precision]
        frozen = copy.deepcopy(model).to(device, self.dtype).requires_grad_(False)
        self.model = frozen.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.sigma, self.seed = sigma, seed
        self.device, self.batch = device, batch
        self.threads = ThreadPoolExecutor(torch.get_num_threads())

    @torch.inference_mode()
    def count(self, number: int, x: Tensor, plan: Sequence[tuple[str, int]]) -> NDArray[np.int64]:
        """Class counts of one image.

        Args:
            number: addresses the noise.
            x: (C, H, W) in [0, 1].
            plan: (stream name, n) of each part of the counts; parts share no noise.

        Returns:
            (len(plan), K), after the only transfer from the device.

        Raises:
            InputError: the model gave NaN or an infinite logit.
        """
        if sum(n for _, n in plan) < 1:
            raise InputError(f"a count needs at least one sample; got {plan}")
        x = x.to(self.device, torch.float32)
        batch = self.batch or usual_batch(self.device, x.shape)
        groups = pack(segments(number, self.seed, plan), batch)
        tallies = (_tally(group, self._logits(self._noisy(x, group)), len(plan)) for group in groups)
        return _finite(number, functools.reduce(torch.add, tallies))

    def _noisy(self, x: Tensor, group: Sequence[Segment]) -> Tensor:
        """(n, C, H, W) the noisy copies of `x` that `group` names; on the CPU drawn by all threads at once."""
        samples = [segment.samples for segment in group]
        noisy = torch.empty((sum(samples), *x.shape), device=self.device)

        def draw(segment: Segment, out: Tensor) -> None:
            perturb(out, x, self.sigma, stream=segment.stream)

        drawn = self.threads.map if self.device.type == "cpu" else map
        list(drawn(draw, group, noisy.split(samples)))
        return noisy

    def _logits(self, noisy: Tensor) -> Tensor:
        """(n, K) float32, or float64 from a model that computes in it."""
        try:
            logits = self.model(noisy.to(self.dtype, memory_format=torch.channels_last))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # torch's word for shapes that do not fit
            reason = str(error).split("\n", 1)[0]
            raise InputError(
                f"the model refuses images of shape {tuple(noisy.shape[1:])} ({reason}): is it for images of another "
                "number of channels or another size?"
            ) from error
        if not isinstance(logits, Tensor) or logits.dim() != 2 or len(logits) != len(noisy) or logits.shape[1] < 2:
            got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise InputError(
                f"the model answers {len(noisy)} images with {got}; expected logits ({len(noisy)}, K), K >= 2"
            )
        return logits.float() if logits.dtype == torch.bfloat16 else logits


def _tally(group: Sequence[Segment], logits: Tensor, parts: int) -> Tensor:
    """Counts (parts, K + 1) of the predictions for `group`; column K takes answers that are not finite."""
    columns = logits.shape[1] + 1
    predicted = torch.where(logits.isfinite().all(dim=1), logits.argmax(dim=1), columns - 1)
    part = torch.tensor([segment.part for segment in group])
    part = part.repeat_interleave(torch.tensor([segment.samples for segment in group]))
    slots = part.to(logits.device, non_blocking=True) * columns + predicted
    counts = torch.zeros(parts * columns, dtype=torch.int64, device=logits.device)
    return counts.scatter_add_(0, slots, torch.ones_like(slots)).view(parts, columns)


def _finite(number: int, counts: Tensor) -> NDArray[np.int64]:
    host: NDArray[np.int64] = counts.cpu().numpy()
    broken = int(host[:, -1].sum())
    if broken:
        raise InputError(
            f"the model gave NaN or infinite logits for {broken} of {host.sum()} noisy copies of image {number}; "
            "a certificate needs a finite answer for each: check the weights, or use precision 32"
        )
    return host[:, :-1]
