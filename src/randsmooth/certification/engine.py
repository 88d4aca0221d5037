"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

import copy
import math
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.certificates import CertificationOptions, CertificationSettings
from randsmooth.certificates.settings import LARGE
from randsmooth.certification.backends import (
    ROUNDS,
    Backend,
    BackendChoice,
    fastest,
    in_batches,
    make_backend,
    open_choices,
)
from randsmooth.certification.batches import (
    EVERY,
    SampleRange,
    Segment,
    packed,
    segments,
    usual_batch,
    usual_block,
)
from randsmooth.certification.trying_out import check_repeats, made_up, rows_stand_alone
from randsmooth.certification.workers import WorkerPool
from randsmooth.data import is_image
from randsmooth.errors import BadValue, Problem, Setting, TooLarge, WrongData
from randsmooth.frozen_record import settings_from
from randsmooth.models import ForeignModel, provenance_of, with_a_class
from randsmooth.noise import (
    Noise,
    Stream,
    address_of,
    recorded_noise,
)
from randsmooth.noise.rounded_gaussian import GridSampler

# How many batches each worker counts in a round of a trial.
BATCHES_A_ROUND = 2

# Backends are tried out only for a run with at least so many times the samples that
# the trial itself takes.
TRIALS_A_RUN = 10


@dataclass(frozen=True)
class Prepared:
    """What is known of a base classifier once it was tried out on inputs of one shape,
    and how it is asked.

    Attributes:
        shape: the shape of an input, such as (C, H, W).
        seen: the shape of a noisy copy of it.
        workers: the threads that draw, ask and count.
        batch: how many samples the model is asked about in one call, which is fewer
            only where it is called in Python.
        size: samples that are drawn together: a batch, or a block where that is larger.
        mixes: whether images may share a batch.
        classes: K, how many classes the model answers with.
    """

    shape: tuple[int, ...]
    seen: tuple[int, ...]
    workers: WorkerPool
    batch: int
    size: int
    mixes: bool
    classes: int


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of images.

    The noise of an image depends only on the seed, its pixels (`noise.address_of`), the
    purpose and, unless `sound`, the kind of device. Equal images have the same noise;
    others have none in common.

    Every batch has the same shape, and images share one where the rows of an answer do
    not depend on each other to the last bit, which is tried out. So the counts of an
    image do not depend on its neighbours or on the order. Memory is that of one batch,
    for small images on a CPU of one per thread.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted
            cannot change meanwhile.
        settings: the settings that decide how samples are drawn and answered: noise,
            sound, backend, precision, batch (of a network at least 128, of large images
            32) and seed (None: 0). They may also be given as keywords.
        device: where to draw and to answer.

    Attributes:
        noise: the noise of the samples.
        prepared: the facts known once the base classifier was tried out. `size`,
            `batch`, `mixes`, `classes` and `workers` are taken from them.
        rates: samples a second of each backend and precision that "auto" has tried.

    Raises:
        Problem: a setting that cannot be used, or no noise.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
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
        **fields: Unpack[CertificationOptions],
    ) -> None:
        self.settings = settings_from(CertificationSettings, settings, fields)
        self.model = model
        self.device = device
        self.seed = self.settings.seed or 0
        self.noise = self.settings.known_noise()
        # The noise draws the samples; rounded to the grid k/255 where settings ask so.
        self.sampler: Noise | GridSampler = self.noise
        if self.settings.sound:
            self.sampler = self.noise.rounded()
        # The backends and precisions that the settings allow, the usual one first.
        self.choices = open_choices(
            model, device, self.settings.backend, self.settings.precision
        )
        self.rates: dict[BackendChoice, float] = {}
        self._backend: Backend | None = None
        self._prepared: Prepared | None = None
        # Else `prepare` chooses the backend.
        if not self.settings.chooses:
            name, precision = self.choices[0]
            self._backend = make_backend(name, model, device, precision)

    def under(self, seed: int) -> Engine:
        """Return this engine as it is prepared, with the noise of another seed."""
        other = copy.copy(self)
        other.seed = seed
        return other

    @property
    def backend(self) -> Backend:
        """The backend that runs the base classifier, once it is chosen."""
        assert self._backend is not None, "prepare() first"
        return self._backend

    @property
    def prepared(self) -> Prepared:
        """The facts known since the base classifier was tried out."""
        assert self._prepared is not None, "prepare() first"
        return self._prepared

    @property
    def size(self) -> int:
        """The number of samples drawn together; 0 before the engine is prepared."""
        return 0 if self._prepared is None else self._prepared.size

    @property
    def batch(self) -> int:
        """How many samples the model is asked about in one call."""
        return self.prepared.batch

    @property
    def mixes(self) -> bool:
        """Whether images may share a batch."""
        return self.prepared.mixes

    @property
    def classes(self) -> int:
        """K, how many classes the model answers with."""
        return self.prepared.classes

    @property
    def workers(self) -> WorkerPool:
        """The threads that draw, ask and count."""
        return self.prepared.workers

    def prepare(self, shape: Sequence[int], samples: float = math.inf) -> Backend:
        """Choose the backend, and try the base classifier out.

        Args:
            shape: the shape of the inputs, such as (C, H, W).
            samples: the most samples that are to be counted. Where they are so few that
                a trial does not pay, the usual backend and precision are taken.

        Raises:
            Problem: the classifier refuses the shape, gives no logits, or not the same
                ones twice; or the batch is too small, or too large for the device's
                memory.
        """
        shape = tuple(shape)
        # It was done before, for inputs of this shape.
        if self._prepared is not None and self._prepared.shape == shape:
            return self.backend
        try:
            if self._backend is None:
                self._become_fastest(shape, samples)
            else:
                self._prepared = self._prepare_backend(shape)
        except torch.OutOfMemoryError as error:
            batch = self._batch_for(shape)
            raise TooLarge(
                f"batches of {batch} do not fit into the memory of {self.device}",
                field="batch",
                value=batch,
                fix=("give ", Setting("batch", batch // 2)),
            ) from error
        return self.backend

    def _prepare_backend(self, shape: tuple[int, ...]) -> Prepared:
        """Try the backend out on a batch of inputs of `shape`."""
        if is_image(shape):
            self.noise.check_for_pixels()
        if self.settings.sound and not is_image(shape):
            raise WrongData(
                "sound certification is of pixels k/255; "
                f"inputs of shape {shape} are features"
            )
        backend = self.backend
        batch = self._batch_for(shape)
        block = usual_block(shape)
        if backend.padded and batch < block:
            raise BadValue(
                field="batch",
                value=batch,
                expected=f"must be at least {block}, the samples that share a noise "
                "stream",
            )

        backend.size = batch
        workers = self._start_workers(shape)
        seen = tuple(self.noise.shape(shape))
        # A worker tries it out, as it does the counting: it may compute with another
        # number of threads than the caller, on which the last bits of logits depend.
        try_out = partial(self._answer_trial, (batch, *seen))
        try:
            ((mixes, classes),) = workers.map(try_out, [shape])
        except Problem as error:
            raise self._refusal_by_noise(error, shape) from error
        return Prepared(
            shape=shape,
            seen=seen,
            workers=workers,
            batch=batch,
            size=max(batch, block),
            mixes=mixes,
            classes=classes,
        )

    def _start_workers(self, shape: tuple[int, ...]) -> WorkerPool:
        """Start as many workers as the backend wants for inputs of `shape`.

        For small images on a CPU that is one for each thread, and the spare ones.
        """
        backend = self.backend
        small = self.device.type == "cpu" and math.prod(shape) <= LARGE
        if not (small and backend.parallel):
            backend.workers = 1
            return WorkerPool(1)
        backend.workers = torch.get_num_threads()
        return WorkerPool(backend.workers + backend.spare)

    def _refusal_by_noise(self, error: Problem, shape: tuple[int, ...]) -> Problem:
        """Return the error for a model that failed its trial with `error`.

        It names the noise as the cause where the noise of the run, or that of the
        training, shows a network copies of another shape than the input.
        """
        shape_under = {self.noise.text: tuple(self.noise.shape(shape))}
        trained = recorded_noise(provenance_of(self.model))
        if trained is not None:
            shape_under[trained.text] = tuple(trained.shape(shape))
        if {*shape_under.values()} == {shape}:
            return error
        shapes = ", ".join(f"{seen} under {text}" for text, seen in shape_under.items())
        return BadValue(
            f"{error} Of an image {shape} a network sees {shapes}",
            fix=(
                "certify under the noise that it was trained under, or train one with ",
                Setting("noise", self.noise.text),
            ),
        )

    def _batch_for(self, shape: Sequence[int]) -> int:
        """Return how many samples a batch has: as set, or what suits the device."""
        return self.settings.batch or usual_batch(self.device, shape)

    @torch.inference_mode()
    def _answer_trial(
        self, batch: tuple[int, ...], shape: tuple[int, ...]
    ) -> tuple[bool, int]:
        """Ask the base classifier about one batch of noisy copies of made-up images.

        Args:
            batch: the shape of the batch (B, *seen).
            shape: the shape of an image.

        Returns:
            Whether the rows of an answer do not depend on each other, and how many
            classes there are.
        """
        trial = torch.empty(batch, device=self.device)
        images = [self.noise.trial(image) for image in made_up(shape)]
        copies_of_images = trial.tensor_split(len(images))
        for number, (image, copies) in enumerate(
            zip(images, copies_of_images, strict=True)
        ):
            stream = Stream(self.seed, "try out").at(number)
            # Not rounded, even where it will be: whether rows stand alone does not depend
            # on that.
            self.noise.draw(copies, image.to(self.device), stream)
        logits = check_repeats(self.backend, trial)
        return rows_stand_alone(self.backend, trial, logits), logits.shape[1]

    def _become_fastest(self, shape: tuple[int, ...], samples: float) -> None:
        """Take the backend that counts fastest, or the usual one where a trial does not
        pay for `samples`.
        """
        usual, *others = self.choices
        engines = {usual: self._with_backend(usual, shape)}
        # Every choice has one round to warm up, and ROUNDS that are timed.
        rounds = len(self.choices) * (1 + ROUNDS)
        trial_samples = rounds * engines[usual].samples_a_round
        if samples >= TRIALS_A_RUN * trial_samples:
            for choice in others:
                # A backend that cannot run this model, or no batch of this size, is
                # left out.
                with suppress(Problem):
                    engines[choice] = self._with_backend(choice, shape)
        best = usual
        if len(engines) > 1:
            rounds_of = {
                choice: engine.samples_a_second for choice, engine in engines.items()
            }
            best, self.rates = fastest(rounds_of)
        self._backend = engines[best].backend
        self._prepared = engines[best].prepared

    def _with_backend(self, choice: BackendChoice, shape: tuple[int, ...]) -> Engine:
        """Return an engine like this one with the backend of `choice`, ready for images
        of `shape`.
        """
        settings = self.settings.replace(
            backend=choice.backend, precision=choice.precision
        )
        engine = Engine(self.model, settings, device=self.device)
        engine.prepare(shape)
        return engine

    @property
    def samples_a_round(self) -> int:
        """The number of samples in a round of a trial."""
        return BATCHES_A_ROUND * self.backend.workers * self.size

    def samples_a_second(self) -> float:
        """Draw, answer and count one round of samples of a grey image, and return how
        many that were a second.
        """
        grey = torch.full(self.prepared.shape, 128 / 255, device=self.device)
        samples = SampleRange("trial", 0, self.samples_a_round)
        queue = deque(segments(0, grey, Stream(self.seed, "trial"), samples))
        batches = packed(queue, self.size, mix=self.mixes)
        start = time.perf_counter()
        self.count(batches, [0])
        return self.samples_a_round / (time.perf_counter() - start)

    def receive(self, x: Tensor) -> Tensor:
        """Check an image (C, H, W), prepare for its shape, and return it on the device.

        Raises:
            Problem: the noise is not for such an image, or in the cases of `prepare`.
        """
        self.sampler.check(x)
        x = x.to(self.device, torch.float32)
        self.prepare(x.shape)
        return x

    def answers(self, images: Sequence[Tensor], name: str) -> Tensor:
        """Return the logits (B, K), on the CPU, of one batch of noisy copies of images.

        They show whether two runs ask the same model, whatever the seeds of these runs.
        So the batch is answered as it is in counting, and the noise depends on `name` and
        the image alone, not on the seed or the kind of device.

        Args:
            images: the images (C, H, W) in [0, 1], at most as many as a batch has rows,
                and of the shape that is prepared. Each has an equal share of the rows.
            name: the name of the stream of noise.
        """
        # Drawn on the CPU, so that the noise is the same on every device.
        noisy = torch.empty(self.batch, *self.prepared.seen)
        for x, out in zip(images, noisy.tensor_split(len(images)), strict=True):
            self.sampler.draw(out, x.cpu().float(), Stream(0, name).at(address_of(x)))
        # A worker asks, as in counting (see `_prepare_backend`).
        (logits,) = self.workers.map(self.logits, [noisy])
        return logits.cpu()

    def ask(self, images: Tensor) -> Tensor:
        """Return (n, K) logits of `images` (n, C, H, W) without noise.

        The model is asked in batches of the same size as in counting.
        """
        return self.logits(self.noise.clear(images))

    @torch.inference_mode()
    def logits(self, copies: Tensor) -> Tensor:
        """Return (n, K) logits of noisy copies (n, *seen).

        The model is asked in batches of the same size as in counting.
        """
        return in_batches(
            self.backend.logits,
            copies.to(self.device),
            self.batch,
            filled=self.backend.padded,
        )

    def count(
        self, batches: Sequence[Sequence[Segment]], slots: Sequence[int]
    ) -> NDArray[np.int64]:
        """Count the classes of the samples in `batches`.

        Args:
            batches: the batches of segments, at least one.
            slots: the slots of the segments, each once, in the order of the rows that
                are returned.

        Returns:
            (len(slots), K + 1) counts. The last column counts answers without a class.
        """
        rows = {slot: row for row, slot in enumerate(slots)}
        counts_of_batches = self.workers.map(partial(self._counted, rows=rows), batches)
        counts = reduce(torch.add, counts_of_batches).view(len(slots), -1)
        # This is the only transfer from the device.
        on_host: NDArray[np.int64] = counts.cpu().numpy()
        return on_host

    @torch.inference_mode()
    def _counted(self, batch: Sequence[Segment], rows: dict[int, int]) -> Tensor:
        """Return the counts of one batch, flattened: (len(rows) * (K + 1),).

        `rows` maps the slot of a segment to the row that it is counted in.
        """
        _, logits = self.answered(batch)
        columns = self.classes + 1
        # The column of each sample: its class, or K for an answer without a class.
        column = torch.where(with_a_class(logits), logits.argmax(dim=1), self.classes)
        samples = torch.tensor([segment.samples for segment in batch])
        row_of_segment = torch.tensor([rows[segment.slot] for segment in batch])
        row = row_of_segment.repeat_interleave(samples)
        # The place of each sample's count in the flattened matrix.
        places = row.to(self.device, non_blocking=True) * columns + column
        counts = torch.zeros(len(rows) * columns, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, places, torch.ones_like(places))

    def answered(self, batch: Sequence[Segment]) -> tuple[Tensor, Tensor]:
        """Draw the n samples that `batch` names, and ask the model about them.

        A padded backend always sees a batch of the same shape, so that it always rounds
        alike. Rows that `batch` does not fill keep older samples, or are set to zero
        where the rows of a batch could influence each other. A backend that is not
        padded is asked about the n samples alone.

        Returns:
            The samples (n, *seen), which the next batch overwrites, and their logits
            (n, K).
        """
        shape = (self.size, *self.prepared.seen)
        noisy = self.workers.buffer(shape, self.device)
        samples = sum(segment.samples for segment in batch)
        drawn = noisy[:samples]
        self._draw(drawn, batch)
        if not self.backend.padded:
            return drawn, self.logits(drawn)
        if not self.mixes:
            noisy[samples:].zero_()
        return drawn, self.backend.logits(noisy)[:samples]

    def _draw(self, out: Tensor, batch: Sequence[Segment]) -> None:
        """Set `out` (n, *seen) to the samples that `batch` names.

        A stream called EVERY has all copies of an image: none is drawn, each is the
        copy of its number.
        """
        # One look is enough: a run either draws samples or takes every copy.
        if batch[0].stream.name != EVERY:
            self.sampler.draw_together(out, batch)
            return
        parts = out.split([segment.samples for segment in batch])
        for segment, rows in zip(batch, parts, strict=True):
            self.noise.numbered(rows, segment.x, segment.start, segment.stream.seed)
