"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

import copy
import math
import threading
import time
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.certificates import CertificationSettings
from randsmooth.certificates.settings import LARGE
from randsmooth.certification.backends import (
    ROUNDS,
    Backend,
    Way,
    candidates,
    fastest,
    make_backend,
    usual_backend,
    weighed,
)
from randsmooth.certification.checks import check_repeats, made_up, rows_stand_alone
from randsmooth.certification.jobs import SampleRange
from randsmooth.certification.segments import Segment, segments, take_batch, usual_batch, usual_block
from randsmooth.certification.workers import WorkerPool
from randsmooth.errors import InputError, Note
from randsmooth.frozen_record import settings_from
from randsmooth.models import ForeignModel
from randsmooth.noise import Copies, Gaussian, Stream, address_of, check_on_grid, grid_sampler

EACH = 2  # batches for each worker in a round of a trial
WORTH = 10  # times as many samples as its trial takes, a run must have for one


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of images.

    The noise depends on the seed, the image's pixels (`noise.address_of`), the purpose and, unless `sound`, the kind of
    device only: equal images share it, and others have none in common. Every batch has the same shape, and images share
    one where the rows of an answer do not depend on each other to the last bit, which is tried out: so the counts of an
    image do not depend on its neighbours or on the order. Memory is that of one batch, for small images on a CPU of one
    per thread.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted cannot change meanwhile.
        settings: those that decide how samples are drawn and answered: sigma, sound, backend, precision, batch (at
            least 128, of large images 32; halved, with a note, where that does not fit into the device's memory) and
            seed (None: 0). Or as keywords.
        device: where to draw and to answer.

    Raises:
        InputError: a setting that cannot be used, or none for sigma.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"), batch=256)
        >>> engine.prepare((1, 2, 2)).name, engine.size, engine.classes
        ('torch', 256, 2)
    """

    def __init__(
        self,
        model: nn.Module | ForeignModel,
        settings: CertificationSettings | None = None,
        *,
        device: torch.device,
        **fields: Any,
    ) -> None:
        settings = settings_from(CertificationSettings, settings, fields)
        sigma = settings.known_sigma
        self.settings, self.model, self.device = settings, model, device
        self.sigma, self.seed = sigma, settings.seed or 0
        self.rates: dict[Way, float] = {}  # samples a second of what "auto" has tried
        self.mixes, self.classes = True, 0
        self._grid = grid_sampler(sigma) if settings.sound else None
        self._perturb = Gaussian(sigma).draw if self._grid is None else self._grid.draw
        self._backend: Backend | None = None
        if not settings.chooses:
            (way,) = self._ways()
            self._backend = make_backend(way.backend, model, device, way.precision)
        self._shape: tuple[int, ...] = ()  # of a batch
        self._tried = 0  # samples a batch
        self._most: int | None = None  # samples a batch, where more did not fit into memory
        self._own = threading.local()  # what each worker drew last
        self.workers = WorkerPool(1)

    def under(self, seed: int) -> Engine:
        """This engine as it is prepared, with the noise of another seed."""
        other = copy.copy(self)
        other.seed = seed
        return other

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
    def cuts(self) -> bool:
        """Whether segments are divided to fill batches, which are smaller than one."""
        return self.size < usual_block(self._shape[1:])

    def prepare(self, shape: Sequence[int], samples: float = math.inf) -> Backend:
        """Make ready for images of `shape` (C, H, W): choose the backend, and try the base classifier out.

        Args:
            samples: how many are to be counted, at most: for so few that a trial does not pay, the usual backend and
                precision are taken.

        Raises:
            InputError: it refuses the shape, gives no logits, or not the same ones twice; or the batch is too small.
        """
        while self._shape[1:] != tuple(shape):
            if not self._fits(tuple(shape), samples):
                self._halve(shape)
        return self.backend

    def _fits(self, shape: tuple[int, ...], samples: float) -> bool:
        """Make ready for images of `shape`; False where a batch does not fit into the memory of the device."""
        try:
            if self._backend is None:
                self._choose(shape, samples)
            else:
                self._fit(self._backend, shape)
        except torch.OutOfMemoryError:
            return False
        self._most = None
        return True

    def _fit(self, backend: Backend, shape: tuple[int, ...]) -> None:
        """Try `backend` out on a batch, and use it for images of `shape`."""
        batch = self._batch_for(backend, shape)
        self._backend, backend.size, self.workers = backend, batch, self._workers_for(backend, shape)
        (self.mixes, self.classes), *_ = self.workers.map(self._try_out, [(batch, *shape)])
        self._shape = (batch, *shape)

    def _halve(self, shape: Sequence[int]) -> None:
        """Let batches be half as large, in whole blocks, before anything is counted.

        Raises:
            InputError: they are of one block already.
        """
        block, before = usual_block(shape), self._tried
        if before <= block:
            raise InputError(
                f"{before} images of shape {tuple(shape)}, as many as share a noise stream, do not fit into the memory "
                f"of {self.device}: free some of it, or use another device"
            )
        self._most = max(block, before // 2 // block * block)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        note = f"batches of {before} do not fit into the memory of {self.device}: {self._most} instead"
        warnings.warn(note, Note, stacklevel=2)

    def _batch_for(self, backend: Backend, shape: Sequence[int]) -> int:
        """Samples a batch: as the settings or its device want it, and its memory allows.

        Raises:
            InputError: they want too few.
        """
        batch, block = self.settings.batch or usual_batch(self.device, shape), usual_block(shape)
        if backend.padded and batch < block:
            raise InputError(f"batch={batch} must be at least {block}, the samples that share a noise stream")
        self._tried = batch if self._most is None else min(batch, self._most)
        return self._tried

    def _workers_for(self, backend: Backend, shape: Sequence[int]) -> WorkerPool:
        """As many as the backend wants; of small images on a CPU, one for each thread and the spare ones; else one."""
        several = self.device.type == "cpu" and backend.parallel and math.prod(shape) <= LARGE
        backend.workers = torch.get_num_threads() if several else 1
        return WorkerPool(backend.workers + several * backend.spare)

    @torch.inference_mode()
    def _try_out(self, shape: tuple[int, ...]) -> tuple[bool, int]:
        """Whether the rows of a batch stand alone, and how many classes there are."""
        trial, images = torch.empty(shape, device=self.device), made_up(shape[1:])
        for place, (image, part) in enumerate(zip(images, trial.tensor_split(len(images)), strict=True)):
            Gaussian(self.sigma).draw(part, image.to(self.device), Stream(self.seed, "try out").at(place))
        logits = check_repeats(self.backend, self.model, trial)
        return rows_stand_alone(self.backend, trial, logits), logits.shape[1]

    def _choose(self, shape: tuple[int, ...], samples: float) -> None:
        """Take the backend and precision that count fastest; the usual ones where a trial does not pay."""
        usual, *others = self._ways()
        engine = self._in(usual, shape)
        engines, trial = {usual: engine}, engine._round * (1 + ROUNDS) * (1 + len(others))
        if samples >= WORTH * trial:
            for way in others:
                with suppress(InputError):  # it cannot run this model
                    engines[way] = self._in(way, shape)
        best = usual
        if len(engines) > 1:
            best, self.rates = fastest({way: each.samples_a_second for way, each in engines.items()})
        for name in ("_backend", "workers", "mixes", "classes", "_shape"):
            setattr(self, name, getattr(engines[best], name))

    def _in(self, way: Way, shape: tuple[int, ...]) -> Engine:
        """The engine of one way to count, ready for images of `shape`."""
        settings = self.settings.replace(backend=way.backend, precision=way.precision)
        engine = Engine(self.model, settings, device=self.device)
        engine._most = self._most
        self._tried = engine._batch_for(engine.backend, shape)
        engine._fit(engine.backend, shape)
        return engine

    @property
    def _round(self) -> int:
        """Samples of a round of a trial."""
        return EACH * self.backend.workers * self.size

    def samples_a_second(self) -> float:
        """How many samples of a grey image are drawn, answered and counted a second, in one round; `prepare` first."""
        grey = torch.full(self._shape[1:], 128 / 255, device=self.device)
        queue = deque(segments(0, grey, Stream(self.seed, "trial"), SampleRange("trial", 0, self._round)))
        batches = []
        while queue:
            batches.append(take_batch(queue, self.size, mix=self.mixes, cut=self.cuts))
        start = time.perf_counter()
        self.count(batches, [0])
        return self._round / (time.perf_counter() - start)

    def _ways(self) -> list[Way]:
        """The backends and precisions that the settings leave open, the usual ones first."""
        backend, precision = self.settings.backend or usual_backend(self.model), self.settings.precision
        names = candidates(self.model, self.device) if backend == "auto" else [backend]
        precisions = weighed(self.device) if precision == "auto" else (precision,)
        return [Way(name, each) for each in precisions for name in names]

    def receive(self, x: Tensor) -> Tensor:
        """An image (C, H, W) on the device, checked; the engine is ready for its shape. Errors as `prepare`."""
        if self.settings.sound:
            check_on_grid(x)
        x = x.to(self.device, torch.float32)
        self.prepare(x.shape)
        return x

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
        return next(iter(self.workers.map(logits, [noisy.to(self.device)]))).cpu()

    def clean_answers(self, images: Tensor) -> Tensor:
        """(B,) the classes, on the CPU, of `images` (B, C, H, W) without noise, in batches as in counting."""
        found = []
        for part in images.split(self.size):
            batch = torch.zeros(self._shape)
            batch[: len(part)] = part
            (logits,) = self.workers.map(torch.inference_mode()(self.backend.logits), [batch.to(self.device)])
            found.append(logits[: len(part)].argmax(dim=1).cpu())
        return torch.cat(found)

    def count(self, batches: Sequence[Sequence[Segment]], slots: Sequence[int]) -> NDArray[np.int64]:
        """(len(slots), K + 1) class counts of the segments in `batches`; the last column: answers not finite.

        After the only transfer from the device.
        """
        rows = {slot: row for row, slot in enumerate(slots)}
        parts = self.workers.map(partial(self._counted, rows=rows), batches)
        host: NDArray[np.int64] = reduce(torch.add, parts).view(len(slots), -1).cpu().numpy()
        return host

    @torch.inference_mode()
    def _counted(self, batch: Sequence[Segment], rows: dict[int, int]) -> Tensor:
        """(len(rows) * (K + 1),) what one batch adds to the counts."""
        logits, columns = self.logits(batch), self.classes + 1
        predicted = torch.where(logits.isfinite().all(dim=1), logits.argmax(dim=1), self.classes)
        samples = [segment.samples for segment in batch]
        row = torch.tensor([rows[segment.slot] for segment in batch]).repeat_interleave(torch.tensor(samples))
        places = row.to(self.device, non_blocking=True) * columns + predicted
        counts = torch.zeros(len(rows) * columns, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, places, torch.ones_like(places))

    def logits(self, batch: Sequence[Segment]) -> Tensor:
        """(n, K) of the n samples that `batch` names.

        A padded backend always sees a batch of the same shape, so that it always rounds alike. Rows that `batch` does
        not fill keep older samples, or are set to zero where the rows of a batch could influence each other.
        """
        noisy, samples = self.workers.buffer(self._shape, self.device), [segment.samples for segment in batch]
        drawn, rest = noisy.split([sum(samples), self.size - sum(samples)])
        self._draw(drawn, batch)
        if not self.backend.padded:
            return self.backend.logits(drawn)
        if not self.mixes:
            rest.zero_()
        return self.backend.logits(noisy)[: sum(samples)]

    def noisy(self, batch: Sequence[Segment]) -> Tensor:
        """(n, C, H, W) the n samples that `batch` names, as the base classifier is asked about them."""
        out = torch.empty((sum(segment.samples for segment in batch), *self._shape[1:]), device=self.device)
        self._draw(out, batch)
        return out

    def _draw(self, out: Tensor, batch: Sequence[Segment]) -> None:
        """Set `out` (n, C, H, W) to the n samples of a batch."""
        samples = [segment.samples for segment in batch]
        if self._grid is not None and samples == [segment.drawn for segment in batch]:
            self._grid.draw_together(out, [Copies(segment.x, segment.stream, segment.samples) for segment in batch])
            return
        for segment, part in zip(batch, out.split(samples), strict=True):
            self._draw_segment(part, segment)

    def _draw_segment(self, out: Tensor, segment: Segment) -> None:
        """Set `out` (n, C, H, W) to the samples of a segment."""
        if segment.samples == segment.drawn:
            self._perturb(out, segment.x, stream=segment.stream)
            return
        # A part of a stream comes from the whole; the parts of one stream mostly follow each other.
        last: tuple[Stream, Tensor] | None = getattr(self._own, "last", None)
        if last is None or last[0] != segment.stream or len(last[1]) != segment.drawn:
            last = segment.stream, torch.empty((segment.drawn, *segment.x.shape), device=self.device)
            self._perturb(last[1], segment.x, stream=segment.stream)
            self._own.last = last
        out.copy_(last[1][segment.skip :][: segment.samples])
