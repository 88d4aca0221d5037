"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.certification.backends import PRECISIONS, Backend, candidates, fastest, make_backend
from randsmooth.certification.checks import check_repeats, rows_stand_alone
from randsmooth.certification.jobs import Ask, Job, T, count_once
from randsmooth.certification.segments import FINE, Segment, usual_batch
from randsmooth.certification.serving import Serving
from randsmooth.errors import InputError, unknown
from randsmooth.models import OnnxModel
from randsmooth.noise import Stream, check_on_lattice, lattice, perturb

AHEAD = 8  # batches of samples in the queue, below which another image joins


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of images.

    The noise depends on the seed, the image's number and the kind of device alone. Every batch has the same
    shape, and images share one where the rows of an answer do not depend on each other to the last bit, which is
    tried out: so an image's counts do not depend on its neighbours or on the order. Memory is that of one batch.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted cannot change meanwhile.
        sigma: standard deviation of the noise.
        precision: "32", "bf16" or "fp16": the arithmetic of the network, and so a part of the base classifier.
        batch: samples a forward pass, at least 32; None: as many as suit device and image.
        seed: of the noise.
        backend: a name of BACKENDS, or "auto": the fastest that is installed.
        sound: draw the exact distribution of a noisy image rounded to the grid k/255 (see `noise.lattice`).
    """

    def __init__(
        self,
        model: nn.Module | OnnxModel,
        sigma: float,
        *,
        device: torch.device,
        precision: str = "32",
        batch: int | None = None,
        seed: int = 0,
        backend: str = "torch",
        sound: bool = False,
    ) -> None:
        if precision not in PRECISIONS:
            raise unknown("precision", str(precision), PRECISIONS)
        if batch is not None and batch < FINE:
            raise InputError(f"batch={batch} must be at least {FINE}, the samples that share a noise stream")
        self.sigma, self.seed, self.device, self.batch = sigma, seed, device, batch
        self.precision, self.sound, self.model = precision, sound, model
        self.rates: dict[str, float] = {}  # images a second of the backends that "auto" has tried
        self.mixes, self.classes = True, 0
        self._perturb = lattice(sigma).perturb if sound else partial(perturb, sigma=sigma)
        self._backend = None if backend == "auto" else make_backend(backend, model, device, precision)
        self._noisy: Tensor | None = None
        self._threads = ThreadPoolExecutor(torch.get_num_threads())

    @property
    def backend(self) -> Backend:
        """What runs the base classifier, once it is chosen."""
        assert self._backend is not None, "prepare() first"
        return self._backend

    @property
    def size(self) -> int:
        """Samples a batch, once the engine is prepared."""
        return 0 if self._noisy is None else len(self._noisy)

    @torch.inference_mode()
    def prepare(self, shape: Sequence[int]) -> Backend:
        """Make ready for images of `shape` (C, H, W): choose the backend, and try the base classifier out.

        Raises:
            InputError: it refuses the shape, gives no logits, or not the same ones twice.
        """
        if self._noisy is None or tuple(self._noisy.shape[1:]) != tuple(shape):
            batch = (self.batch or usual_batch(self.device, shape), *shape)
            if self._backend is None:
                names = candidates(self.model, self.device)
                self._backend, self.rates = fastest(names, self.model, self.device, self.precision, batch)
            trial = torch.empty(batch, device=self.device)
            grey = torch.full(tuple(shape), 0.5, device=self.device)
            perturb(trial, grey, self.sigma, stream=Stream(self.seed, "try out"))
            logits = check_repeats(self._backend, self.model, trial)
            self.mixes, self.classes = rows_stand_alone(self._backend, trial, logits), logits.shape[1]
            self._noisy = trial
        return self.backend

    def run(self, jobs: Iterable[Job[T]]) -> Iterator[Job[T]]:
        """Serve the jobs, several at a time, and yield each when it has its result.

        Raises:
            InputError: the model refuses the images, gives no logits or some that are not finite; or, when sound,
                an image is not on the grid k/255.
        """
        serving: Serving[T] = Serving(self)
        rest = iter(jobs)
        job = next(rest, None)
        while job is not None or not serving.idle:
            while job is not None and (not self.size or serving.waiting < AHEAD * self.size):
                self._receive(job)
                serving.admit(job)
                job = next(rest, None)
            yield from serving.round(flush=job is None)

    def _receive(self, job: Job[T]) -> None:
        """The job's image on the device, checked."""
        if self.sound:
            check_on_lattice(job.x)
        job.x = job.x.to(self.device, torch.float32)
        self.prepare(job.x.shape)

    def count(self, number: int, x: Tensor, plan: Sequence[tuple[str, int]]) -> NDArray[np.int64]:
        """Class counts of one image.

        Args:
            number: addresses the noise.
            x: (C, H, W) in [0, 1].
            plan: (stream name, n) of each part of the counts; parts share no noise.

        Returns:
            (len(plan), K).

        Raises:
            InputError: as `run`, or no sample asked for.
        """
        if min((n for _, n in plan), default=0) < 1:
            raise InputError(f"a count needs at least one sample; got {plan}")
        job = Job(number, x, count_once([Ask(name, 0, n) for name, n in plan]))
        (finished,) = self.run([job])
        assert finished.result is not None
        return finished.result

    @torch.inference_mode()
    def tally(self, batches: Sequence[Sequence[Segment]], slots: Sequence[int]) -> NDArray[np.int64]:
        """(len(slots), K + 1) class counts of the segments in `batches`; the last column: answers not finite.

        After the only transfer from the device.
        """
        columns, row = self.classes + 1, {slot: place for place, slot in enumerate(slots)}
        counts = torch.zeros(len(slots) * columns, dtype=torch.int64, device=self.device)
        for batch in batches:
            logits = self._logits(batch)
            predicted = torch.where(logits.isfinite().all(dim=1), logits.argmax(dim=1), self.classes)
            rows = torch.tensor([row[segment.slot] for segment in batch])
            rows = rows.repeat_interleave(torch.tensor([segment.samples for segment in batch]))
            places = rows.to(self.device, non_blocking=True) * columns + predicted
            counts.scatter_add_(0, places, torch.ones_like(places))
        host: NDArray[np.int64] = counts.view(len(slots), columns).cpu().numpy()
        return host

    def _logits(self, batch: Sequence[Segment]) -> Tensor:
        """(n, K) of the n samples that `batch` names; on the CPU drawn by all threads at once.

        The shape, and with it the rounding, is always the same: older samples stay in rows that are free, or zeros
        where rows of one batch could feel them.
        """
        assert self._noisy is not None
        samples = [segment.samples for segment in batch]
        rows, rest = self._noisy.split([sum(samples), self.size - sum(samples)])
        drawn = self._threads.map if self.device.type == "cpu" else map
        list(drawn(self._draw, batch, rows.split(samples)))
        if not self.mixes:
            rest.zero_()
        return self.backend.logits(self._noisy)[: sum(samples)]

    def _draw(self, segment: Segment, out: Tensor) -> None:
        self._perturb(out, segment.x, stream=segment.stream)
