"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.certificates import CertificationSettings
from randsmooth.certificates.settings import BLOCK, FINE, LARGE
from randsmooth.certification.backends import (
    ROUNDS,
    Backend,
    Way,
    fastest,
    in_batches,
    make_backend,
    ways,
)
from randsmooth.certification.opening import check_repeats, made_up, rows_stand_alone
from randsmooth.data import is_image
from randsmooth.errors import InputError
from randsmooth.frozen_record import settings_from
from randsmooth.models import ForeignModel, provenance_of, with_a_class
from randsmooth.noise import (
    Copies,
    Stream,
    address_of,
    check_sigma,
    grid_sampler,
    noise_said,
)

A = TypeVar("A")
B = TypeVar("B")

EVERY = "certify/every"  # the samples of this name are all copies, by their numbers: none is drawn
EACH = 2  # batches for each worker in a round of a trial
WORTH = 10  # times as many samples as its trial takes, a run must have for one

# Samples and values per forward pass by default. A CPU's caches cannot hold the activations of a bigger batch.
MOST = {"cpu": (256, 2**19), "cuda": (8192, 2**24)}


@dataclass(frozen=True)
class SampleRange:
    """Samples `start` to `stop` of the noise stream `name`, in blocks of `block` (None: the usual one of the image)."""

    name: str
    start: int
    stop: int
    block: int | None = None


@dataclass(frozen=True)
class Segment(Copies):
    """Up to one block of samples of an image on the device, all that is drawn from one stream.

    Attributes:
        slot: index of the counts that the samples belong to.
        start: how many samples of that name come before them.
    """

    slot: int
    start: int


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of images.

    The noise depends on the seed, the image's pixels (`noise.address_of`), the purpose and, unless `sound`, the kind of
    device only: equal images share it, and others have none in common. Every batch has the same shape, and images share
    one where the rows of an answer do not depend on each other to the last bit, which is tried out: so the counts of an
    image do not depend on its neighbours or on the order. Memory is that of one batch, for small images on a CPU of one
    per thread.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted cannot change meanwhile.
        settings: those that decide how samples are drawn and answered: sigma, sound, backend, precision, batch (of a
            network at least 128, of large images 32) and seed (None: 0). Or as keywords.
        device: where to draw and to answer.

    Attributes:
        size: samples that are drawn together; 0 before the engine is prepared.
        batch: how many of them the model is asked about in one call, which is fewer only where it is called in Python.
        mixes: whether images may share a batch.
        classes: K, once it is prepared.
        rates: samples a second of what "auto" has tried.

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
        self.settings, self.model, self.device = settings, model, device
        self.seed = settings.seed or 0
        self.rates: dict[Way, float] = {}
        self.mixes, self.classes, self.batch, self.size = True, 0, 0, 0
        self.noise = (
            grid_sampler(settings.known_sigma) if settings.sound else settings.smoothing
        )
        self.shape: tuple[int, ...] = ()  # of an image
        self.seen: tuple[int, ...] = ()  # of a noisy copy
        self.workers = WorkerPool(1)
        self.ways = ways(
            model, device, settings.backend, settings.precision
        )  # those left open, the usual one first
        name, precision = self.ways[0]
        self._backend = (
            None if settings.chooses else make_backend(name, model, device, precision)
        )

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

    def prepare(self, shape: Sequence[int], samples: float = math.inf) -> Backend:
        """Make ready for inputs of `shape`, of images (C, H, W): choose the backend, and try the base classifier out.

        Args:
            samples: how many are to be counted, at most: for so few that a trial does not pay, the usual backend and
                precision are taken.

        Raises:
            InputError: it refuses the shape, gives no logits, or not the same ones twice; or the batch is too small, or
                too large for the device's memory.
        """
        if self.shape != tuple(shape):
            try:
                self._fit(tuple(shape)) if self._backend is not None else self._choose(
                    tuple(shape), samples
                )
            except torch.OutOfMemoryError as error:
                batch = self._batch_for(shape)
                way = f"give batch={batch // 2} (--batch)"
                raise InputError(
                    f"batches of {batch} do not fit into the memory of {self.device}: {way}"
                ) from error
        return self.backend

    def _fit(self, shape: tuple[int, ...]) -> None:
        """Try the backend out on a batch, and be ready for inputs of `shape`.

        A CPU has as many workers as the backend wants: for small images one for each thread and the spare ones.
        """
        if self.settings.noise is None and is_image(shape):
            check_sigma(self.settings.known_sigma)  # which is one of pixels
        if self.settings.sound and not is_image(shape):
            raise InputError(
                f"sound certification is of pixels k/255; inputs of shape {shape} are features"
            )
        batch, block, backend = self._batch_for(shape), usual_block(shape), self.backend
        if backend.padded and batch < block:
            raise InputError(
                f"batch={batch} must be at least {block}, the samples that share a noise stream"
            )
        several = (
            self.device.type == "cpu" and backend.parallel and math.prod(shape) <= LARGE
        )
        backend.size, backend.workers = batch, torch.get_num_threads() if several else 1
        self.workers = WorkerPool(backend.workers + several * backend.spare)
        seen = tuple(self.settings.smoothing.shape(shape))
        try:
            (self.mixes, self.classes), *_ = self.workers.map(
                partial(self._try_out, (batch, *seen)), [shape]
            )
        except InputError as error:
            now, trained = (
                self.settings.smoothing,
                noise_said(provenance_of(self.model)),
            )
            sees = {
                noise.text: tuple(noise.shape(shape))
                for noise in (now, trained)
                if noise is not None
            }
            if {*sees.values()} == {shape}:
                raise
            said = ", ".join(f"{each} under {text}" for text, each in sees.items())
            way = f"certify under the noise that it was trained under, or train one with --noise {now.text}"
            raise InputError(
                f"{error} Of an image {shape} a network sees {said}: {way}"
            ) from error
        self.batch, self.size, self.shape, self.seen = (
            batch,
            max(batch, block),
            shape,
            seen,
        )

    def _batch_for(self, shape: Sequence[int]) -> int:
        """Samples a batch: as the settings or its device want it."""
        return self.settings.batch or usual_batch(self.device, shape)

    @torch.inference_mode()
    def _try_out(
        self, batch: tuple[int, ...], shape: tuple[int, ...]
    ) -> tuple[bool, int]:
        """Whether the rows of a `batch` stand alone, and how many classes there are."""
        trial, images = torch.empty(batch, device=self.device), made_up(shape)
        for place, (image, part) in enumerate(
            zip(images, trial.tensor_split(len(images)), strict=True)
        ):
            self.settings.smoothing.draw(
                part, image.to(self.device), Stream(self.seed, "try out").at(place)
            )
        logits = check_repeats(self.backend, trial)
        return rows_stand_alone(self.backend, trial, logits), logits.shape[1]

    def _choose(self, shape: tuple[int, ...], samples: float) -> None:
        """Become the engine of the way that counts fastest; of the usual one where a trial does not pay."""
        usual, *others = self.ways
        engines = {usual: self._in(usual, shape)}
        if samples >= WORTH * engines[usual]._round * (1 + ROUNDS) * (1 + len(others)):
            for way in others:
                with suppress(InputError):  # it cannot run this model
                    engines[way] = self._in(way, shape)
        best = usual
        if len(engines) > 1:
            best, self.rates = fastest(
                {way: each.samples_a_second for way, each in engines.items()}
            )
        for name in (
            "_backend",
            "workers",
            "mixes",
            "classes",
            "batch",
            "size",
            "shape",
            "seen",
        ):
            setattr(self, name, getattr(engines[best], name))

    def _in(self, way: Way, shape: tuple[int, ...]) -> Engine:
        """The engine of one way to count, ready for images of `shape`."""
        engine = Engine(
            self.model, self.settings.replace(**way._asdict()), device=self.device
        )
        engine._fit(shape)
        return engine

    @property
    def _round(self) -> int:
        """Samples of a round of a trial."""
        return EACH * self.backend.workers * self.size

    def samples_a_second(self) -> float:
        """How many samples of a grey image are drawn, answered and counted a second, in one round."""
        grey = torch.full(self.shape, 128 / 255, device=self.device)
        asked = segments(
            0, grey, Stream(self.seed, "trial"), SampleRange("trial", 0, self._round)
        )
        batches, start = (
            packed(deque(asked), self.size, mix=self.mixes),
            time.perf_counter(),
        )
        self.count(batches, [0])
        return self._round / (time.perf_counter() - start)

    def receive(self, x: Tensor) -> Tensor:
        """An image (C, H, W) on the device, checked; the engine is ready for its shape. Errors as `prepare`."""
        self.noise.check(x)
        x = x.to(self.device, torch.float32)
        self.prepare(x.shape)
        return x

    def answers(self, images: Sequence[Tensor], name: str) -> Tensor:
        """(B, K) logits, on the CPU, of one batch that noisy copies of `images` fill, as it is answered in counting.

        Neither the seed nor the kind of device decides their noise, but `name` and the image alone.

        Args:
            images: as many (C, H, W) in [0, 1] as a batch has rows, or fewer; of the shape that is prepared.
        """
        noisy = torch.empty(self.batch, *self.seen)
        for x, out in zip(images, noisy.tensor_split(len(images)), strict=True):
            self.noise.draw(out, x.cpu().float(), Stream(0, name).at(address_of(x)))
        return next(iter(self.workers.map(self.logits, [noisy]))).cpu()

    def ask(self, images: Tensor) -> Tensor:
        """(n, K) logits of `images` (n, C, H, W) without noise, in batches of the shape that they have in counting."""
        return self.logits(self.settings.smoothing.clear(images))

    @torch.inference_mode()
    def logits(self, copies: Tensor) -> Tensor:
        """(n, K) logits of noisy copies (n, *shape) as they are, in such batches."""
        return in_batches(
            self.backend.logits,
            copies.to(self.device),
            self.batch,
            filled=self.backend.padded,
        )

    def count(
        self, batches: Sequence[Sequence[Segment]], slots: Sequence[int]
    ) -> NDArray[np.int64]:
        """(len(slots), K + 1) class counts of the segments in `batches`; the last column: answers without a class.

        After the only transfer from the device.
        """
        rows = {slot: row for row, slot in enumerate(slots)}
        parts = self.workers.map(partial(self._counted, rows=rows), batches)
        host: NDArray[np.int64] = (
            reduce(torch.add, parts).view(len(slots), -1).cpu().numpy()
        )
        return host

    @torch.inference_mode()
    def _counted(self, batch: Sequence[Segment], rows: dict[int, int]) -> Tensor:
        """(len(rows) * (K + 1),) what one batch adds to the counts."""
        (_, logits), columns = self.answered(batch), self.classes + 1
        predicted = torch.where(
            with_a_class(logits), logits.argmax(dim=1), self.classes
        )
        samples = [segment.samples for segment in batch]
        row = torch.tensor([rows[segment.slot] for segment in batch]).repeat_interleave(
            torch.tensor(samples)
        )
        places = row.to(self.device, non_blocking=True) * columns + predicted
        counts = torch.zeros(len(rows) * columns, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, places, torch.ones_like(places))

    def answered(self, batch: Sequence[Segment]) -> tuple[Tensor, Tensor]:
        """The n samples that `batch` names: (n, C, H, W), until the next batch, and their logits (n, K).

        A padded backend always sees a batch of the same shape, so that it always rounds alike. Rows that `batch` does
        not fill keep older samples, or are set to zero where the rows of a batch could influence each other. Another
        one is asked about no image that is not counted.
        """
        noisy, samples = (
            self.workers.buffer((self.size, *self.seen), self.device),
            sum(each.samples for each in batch),
        )
        drawn = noisy[:samples]
        self._draw(drawn, batch)
        if not self.backend.padded:
            return drawn, self.logits(drawn)
        if not self.mixes:
            noisy[samples:].zero_()
        return drawn, self.backend.logits(noisy)[:samples]

    def _draw(self, out: Tensor, batch: Sequence[Segment]) -> None:
        """Set `out` to the samples that `batch` names; where they are EVERY copy, to those of these numbers."""
        if batch[0].stream.name != EVERY:  # a run draws samples, or it takes every copy
            self.noise.draw_together(out, batch)
            return
        for segment, rows in zip(
            batch, out.split([segment.samples for segment in batch]), strict=True
        ):
            self.settings.smoothing.numbered(
                rows, segment.x, segment.start, segment.stream.seed
            )


class WorkerPool:
    """`number` workers of one thread each; a single one is the caller, with all of torch's threads.

    Operators that several threads share make them wait for each other, and let them spin meanwhile, at the cost of
    whoever draws noise: on two cores, two workers of one thread take a fifth less time than one of two.

    Args:
        number: of the workers.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(number) if number > 1 else None
        if self._pool is not None:
            threads, started = torch.get_num_threads(), threading.Barrier(number)
            list(self._pool.map(lambda _: _work_alone(started), range(number)))
            torch.set_num_threads(
                threads
            )  # the workers' setting is theirs; this is the caller's

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """The results in the order of the items. After a failure no item is begun."""
        return (
            map(function, items)
            if self._pool is None
            else self._pool.map(function, items)
        )

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """A float32 tensor of this worker's own, as it left it; zeros at first."""
        held: Tensor | None = getattr(self._own, "buffer", None)
        if held is None or tuple(held.shape) != shape:
            held = self._own.buffer = torch.zeros(shape, device=device)
        return held


def _work_alone(started: threading.Barrier) -> None:
    torch.get_num_threads()  # torch sets up a thread when it is first asked, and would undo the next line later
    torch.set_num_threads(1)
    started.wait()  # until every worker is there, so that each runs this once


def usual_block(shape: Sequence[int]) -> int:
    """Number of samples that share a noise stream, for images of `shape` (C, H, W)."""
    return BLOCK if math.prod(shape) <= LARGE else FINE


def usual_batch(device: torch.device, shape: Sequence[int]) -> int:
    """Samples per forward pass for images of `shape`, unless a batch is given: at least one block, and whole ones."""
    (samples, values), block = (
        MOST["cpu" if device.type == "cpu" else "cuda"],
        usual_block(shape),
    )
    return max(1, min(samples, values // math.prod(shape)) // block) * block


def segments(
    slot: int, x: Tensor, stream: Stream, samples: SampleRange
) -> Iterator[Segment]:
    """Divide `samples` of image `x`, whose stream is `stream`, into blocks; `samples.start` is the start of a block."""
    block = samples.block or usual_block(x.shape)
    for start in range(samples.start, samples.stop, block):
        yield Segment(
            x, stream.at(start // block), min(block, samples.stop - start), slot, start
        )


def take_batch(queue: deque[Segment], batch: int, *, mix: bool) -> list[Segment]:
    """Take up to `batch` samples off the front of the queue; unless `mix`, only those of the first segment's slot."""
    taken, passed, room = list[Segment](), list[Segment](), batch
    while queue and room:
        segment = queue.popleft()
        fits = segment.samples <= room and (
            mix or not taken or segment.slot == taken[0].slot
        )
        (taken if fits else passed).append(segment)
        room -= segment.samples if fits else 0
        if not fits and not mix:
            break
    queue.extendleft(reversed(passed))
    return taken


def packed(
    queue: deque[Segment], batch: int, *, mix: bool, flush: bool = True
) -> list[list[Segment]]:
    """Every full batch in the queue, taken off it; with `flush`, or where images share none, the rest too."""
    batches, left = list[list[Segment]](), sum(segment.samples for segment in queue)
    while queue and (left >= batch or flush or not mix):
        batches.append(take_batch(queue, batch, mix=mix))
        left -= sum(segment.samples for segment in batches[-1])
    return batches
