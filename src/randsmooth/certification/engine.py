"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.certificates import CertificationSettings
from randsmooth.certification.backends import (
    CLEARLY,
    Backend,
    candidates,
    fastest,
    make_backend,
    usual_backend,
)
from randsmooth.certification.checks import check_repeats, rows_stand_alone
from randsmooth.certification.jobs import Job, SampleRange, T, count_once
from randsmooth.certification.scheduler import Scheduler
from randsmooth.certification.segments import (
    LARGE,
    Segment,
    larger_batches,
    segments,
    take_batch,
    usual_batch,
    usual_block,
)
from randsmooth.certification.workers import WorkerPool
from randsmooth.errors import InputError
from randsmooth.frozen_record import settings_from
from randsmooth.models import OnnxModel
from randsmooth.noise import Stream, address_of, check_on_grid, grid_sampler, perturb

AHEAD = 8  # batches in the queue below which another image joins, if that fills every lane twice
TRIALS = 5


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of images.

    The noise depends on the seed, the image itself (`noise.address_of`), what it is for and the kind of device alone:
    equal images share it, and others have none in common. Every batch has the same shape, and images share one where
    the rows of an answer do not depend on each other to the last bit, which is tried out: so an image's counts do not
    depend on its neighbours or on the order. Memory is that of one batch, for small images on a CPU of one a thread.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted cannot change meanwhile.
        settings: those that decide how samples are drawn and answered: sigma, sound, backend, precision, batch (at
            least 128, of large images 32) and seed (None: 0). Or as keywords.
        device: where to draw and to answer.

    Raises:
        InputError: a setting that cannot be used, or none for sigma.
    """

    def __init__(
        self,
        model: nn.Module | OnnxModel,
        settings: CertificationSettings | None = None,
        *,
        device: torch.device,
        **fields: Any,
    ) -> None:
        settings = settings_from(CertificationSettings, settings, fields)
        sigma, backend = settings.known_sigma, settings.backend or usual_backend(model)
        self.settings, self.model, self.device = settings, model, device
        self.sigma, self.seed = sigma, settings.seed or 0
        self.rates: dict[str, float] = {}  # images a second of the backends that "auto" has tried
        self.mixes, self.classes = True, 0
        self._perturb = grid_sampler(sigma).perturb if settings.sound else partial(perturb, sigma=sigma)
        self._backend = None if backend == "auto" else make_backend(backend, model, device, settings.precision)
        self._shape: tuple[int, ...] = ()  # of a batch
        self._lanes = WorkerPool(1)

    @property
    def backend(self) -> Backend:
        """What runs the base classifier, once it is chosen."""
        assert self._backend is not None, "prepare() first"
        return self._backend

    @property
    def size(self) -> int:
        """Samples a batch; 0 before the engine is prepared."""
        return self._shape[0] if self._shape else 0

    @property
    def ahead(self) -> int:
        """Samples in the queue below which another image joins."""
        return self.size * max(AHEAD, 2 * self._lanes.number)

    def prepare(self, shape: Sequence[int]) -> Backend:
        """Make ready for images of `shape` (C, H, W): choose the backend, and try the base classifier out.

        Raises:
            InputError: it refuses the shape, gives no logits, or not the same ones twice; or the batch is too small.
        """
        if self._shape[1:] != tuple(shape):
            batch, block = self.settings.batch or usual_batch(self.device, shape), usual_block(shape)
            if batch < block:
                raise InputError(f"batch={batch} must be at least {block}, the samples that share a noise stream")
            if self._backend is None:
                batch = self._choose(batch, shape)
            self._lanes = self._lanes_for(self.backend, shape)
            (self.mixes, self.classes), *_ = self._lanes.map(self._try_out, [(batch, *shape)])
            self._shape = (batch, *shape)
        return self.backend

    def _lanes_for(self, backend: Backend, shape: Sequence[int]) -> WorkerPool:
        """A lane a thread on the CPU, where their batches are small; else one."""
        several = self.device.type == "cpu" and backend.parallel and math.prod(shape) <= LARGE
        backend.lanes = torch.get_num_threads() if several else 1
        return WorkerPool(backend.lanes)

    @torch.inference_mode()
    def _try_out(self, shape: tuple[int, ...]) -> tuple[bool, int]:
        """Whether the rows of a batch stand alone, and how many classes there are."""
        trial, grey = torch.empty(shape, device=self.device), torch.full(shape[1:], 0.5, device=self.device)
        perturb(trial, grey, self.sigma, stream=Stream(self.seed, "try out"))
        logits = check_repeats(self.backend, self.model, trial)
        return rows_stand_alone(self.backend, trial, logits), logits.shape[1]

    def _choose(self, batch: int, shape: Sequence[int]) -> int:
        """Take the fastest backend, and the batch that it is fastest with; a batch that was given stays."""

        def measure(backend: Backend, batch: int = batch) -> float:
            return images_a_second(backend, self._lanes_for(backend, shape), (batch, *shape))

        names = candidates(self.model, self.device)
        self._backend, self.rates = fastest(names, self.model, self.device, self.settings.precision, measure)
        for larger in larger_batches(batch, shape) if self.settings.batch is None else ():
            rate = measure(self._backend, larger)
            if rate > CLEARLY * self.rates[self._backend.name]:
                batch, self.rates[self._backend.name] = larger, rate
        return batch

    def run(self, jobs: Iterable[Job[T]]) -> Iterator[Job[T]]:
        """Serve the jobs, several at a time, and yield each when it has its result.

        Raises:
            InputError: the model refuses the images, gives no logits or some that are not finite; or, when sound,
                an image is not on the grid k/255.
        """
        serving: Scheduler[T] = Scheduler(self)
        rest = iter(jobs)
        job = next(rest, None)
        while job is not None or not serving.idle:
            while job is not None and (not self.size or serving.waiting < self.ahead):
                self._receive(job)
                serving.admit(job)
                job = next(rest, None)
            yield from serving.round(flush=job is None)

    def _receive(self, job: Job[T]) -> None:
        """The job's image on the device, checked."""
        if self.settings.sound:
            check_on_grid(job.x)
        job.x = job.x.to(self.device, torch.float32)
        self.prepare(job.x.shape)

    def count(self, x: Tensor, plan: Sequence[tuple[str, int]], *, number: int = 0) -> NDArray[np.int64]:
        """Class counts of one image.

        Args:
            x: (C, H, W) in [0, 1].
            plan: (stream name, n) of each part of the counts; parts share no noise.
            number: what to call the image in an error.

        Returns:
            (len(plan), K).

        Raises:
            InputError: as `run`, or no sample asked for.
        """
        if min((n for _, n in plan), default=0) < 1:
            raise InputError(f"a count needs at least one sample; got {plan}")
        job = Job(number, x, count_once([SampleRange(name, 0, n) for name, n in plan]))
        (finished,) = self.run([job])
        assert finished.result is not None
        return finished.result

    def answers(self, images: Sequence[Tensor], name: str) -> Tensor:
        """(B, K) logits, on the CPU, of one batch that noisy copies of `images` fill, as it is answered in counting.

        Neither the seed nor the kind of device decides their noise, but `name` and the image alone.

        Args:
            images: as many (C, H, W) in [0, 1] as a batch has rows, or fewer; of the shape that is prepared.
        """
        noisy = torch.empty(self._shape)
        for x, out in zip(images, noisy.tensor_split(len(images)), strict=True):
            self._perturb(out, x.cpu().float(), stream=Stream(0, name).at(address_of(x)))
        logits = torch.inference_mode()(self.backend.logits)
        return next(iter(self._lanes.map(logits, [noisy.to(self.device)]))).cpu()

    def total(self, x: Tensor, ask: SampleRange, of: Callable[[Tensor], Tensor]) -> Tensor:
        """The sum of `of(logits)` over the batches (B, K) of one image's samples; of the same noise as counts are.

        Args:
            x: as `count`.
            ask: which samples.
            of: gives tensors of one shape, whatever B; called without gradients.

        Raises:
            InputError: as `run`.
        """
        job = Job(0, x, count_once([ask]))
        self._receive(job)
        queue = deque(segments(0, job.x, Stream(self.seed, ask.name).at(job.address), ask))
        batches = []
        while queue:
            batches.append(take_batch(queue, self.size, mix=self.mixes))
        return reduce(
            torch.add, self._lanes.map(torch.inference_mode()(lambda batch: of(self._logits(batch))), batches)
        )

    def tally(self, batches: Sequence[Sequence[Segment]], slots: Sequence[int]) -> NDArray[np.int64]:
        """(len(slots), K + 1) class counts of the segments in `batches`; the last column: answers not finite.

        After the only transfer from the device.
        """
        rows = {slot: row for row, slot in enumerate(slots)}
        parts = self._lanes.map(partial(self._counted, rows=rows), batches)
        host: NDArray[np.int64] = reduce(torch.add, parts).view(len(slots), -1).cpu().numpy()
        return host

    @torch.inference_mode()
    def _counted(self, batch: Sequence[Segment], rows: dict[int, int]) -> Tensor:
        """(len(rows) * (K + 1),) what one batch adds to the counts."""
        logits, columns = self._logits(batch), self.classes + 1
        predicted = torch.where(logits.isfinite().all(dim=1), logits.argmax(dim=1), self.classes)
        row = torch.tensor([rows[segment.slot] for segment in batch])
        row = row.repeat_interleave(torch.tensor([segment.samples for segment in batch]))
        places = row.to(self.device, non_blocking=True) * columns + predicted
        counts = torch.zeros(len(rows) * columns, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, places, torch.ones_like(places))

    def _logits(self, batch: Sequence[Segment]) -> Tensor:
        """(n, K) of the n samples that `batch` names.

        The shape, and with it the rounding, is always the same: older samples stay in rows that are free, or zeros
        where rows of one batch could feel them.
        """
        noisy, samples = self._lanes.buffer(self._shape, self.device), [segment.samples for segment in batch]
        drawn, rest = noisy.split([sum(samples), self.size - sum(samples)])
        for segment, out in zip(batch, drawn.split(samples), strict=True):
            self._perturb(out, segment.x, stream=segment.stream)
        if not self.mixes:
            rest.zero_()
        return self.backend.logits(noisy)[: sum(samples)]


def images_a_second(backend: Backend, lanes: WorkerPool, shape: tuple[int, ...]) -> float:
    """Median over a few batches of `shape` (B, C, H, W) in every lane, after one to warm up."""
    noisy, times = torch.zeros(shape, device=backend.device), []
    for _ in range(1 + TRIALS):
        start = time.perf_counter()
        for logits in lanes.map(torch.inference_mode()(backend.logits), [noisy] * lanes.number):
            logits.cpu()
        times.append(time.perf_counter() - start)
    return lanes.number * shape[0] / statistics.median(times[1:])
