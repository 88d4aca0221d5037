"""A pilot: some images are certified to know what a certification of all will take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth.bounds import finite_mean_interval
from randsmooth.certificates import rule_of
from randsmooth.certification.algorithm import (
    estimating,
    selecting,
    times_of,
    times_of_any,
)
from randsmooth.certification.run import OpenRun
from randsmooth.certification.scheduler import Ints, Job, Scheduler, Steps
from randsmooth.progress import Progress

# One minus the confidence of the limits of the mean samples.
ALPHA = 0.05
# The limits are narrow enough when they lie within this share of their middle ...
NARROW_SHARE = 0.1
# ... and so many images are known, and so many seconds have shown the speed.
FEWEST_IMAGES = 8
FEWEST_SECONDS = 5.0

# Samples of a last look that are drawn, to measure p_A. The others are not needed: the
# number of samples that the image takes is known by then.
PIECE = 1024
# The images in hand may take this many times the seconds that the pilot was given.
PATIENCE = 1.5

# The share by which the speed always differs.
LEAST_SPREAD = 0.05
# The share by which it may differ where fewer images than these have shown it.
UNSURE_SPREAD = 0.3
IMAGES_TO_KNOW_SPREAD = 20


@dataclass(frozen=True)
class Span:
    """A forecast, and the limits between which the figure is expected to lie.

    Example:
        >>> Span(20.0, 16.0, 26.0)
        Span(middle=20.0, low=16.0, high=26.0)
    """

    middle: float
    low: float
    high: float


@dataclass
class PilotImage:
    """The samples of one image in the pilot.

    Attributes:
        index: the position of the image in the split.
        label: the class that is tested where no samples pick one; None stands for the
            most frequent class.
        counts0, counts: (K,) class counts of the samples that picked the class, and of
            those that bound p_A.
        path: the number of times that the picked class had come out at each look that
            was completed.
        samples: the number of samples that it takes, with those that pick the class;
            None where that is not known yet.
    """

    index: int
    label: int | None
    counts0: Ints
    counts: Ints
    path: list[int] = field(default_factory=list)
    samples: int | None = None

    @property
    def drawn(self) -> int:
        """Return the number of samples drawn so far to bound p_A."""
        return int(self.counts.sum())

    @property
    def successes(self) -> int:
        """Return how often the class with the bounded probability came out."""
        if self.counts0.any():
            return times_of(int(self.counts0.argmax()))(self.counts)
        if self.label is not None:
            return times_of(self.label)(self.counts)
        return times_of_any(self.counts)


@dataclass(frozen=True)
class Pace:
    """How fast the pilot was.

    Attributes:
        seconds: the seconds that the pilot took.
        sampled: the number of samples that it drew.
        sample_seconds, image_seconds: the seconds that a sample takes, and an image
            besides its samples.
        spread: the share by which the speed differed, as 95% limits of its mean.
    """

    seconds: float
    sampled: int
    sample_seconds: float
    image_seconds: float
    spread: float


class Pilot:
    """Certifies images of a run until their mean samples are known, or time is up.

    The images come in an order drawn by chance.

    Attributes:
        header, engine, rule, n0: the header, engine, rule and n0 of the run.
        order: the positions of all images of the run, in the order drawn.
        images: the images that were begun, in that order.
        start: the time at which the pilot was made, by `time.perf_counter`.
        pace: the speed of the pilot, once it has run.
        low, high: the 95% limits of the mean samples of an image, once it has run.
    """

    pace: Pace
    low: float
    high: float

    def __init__(self, run: OpenRun, seconds: float, seed: int) -> None:
        self.images_of_run = run.images
        self.header = run.header
        self.engine = run.engine
        self.rule = rule_of(self.header)
        self.n0 = self.header.n0 or 0
        self.order = np.random.default_rng(seed).permutation(run.indices).tolist()
        self.start = time.perf_counter()
        self.allowed_seconds = seconds
        # Of how many images the limits were computed last.
        self.images_in_limits = 0
        self.images: list[PilotImage] = []

    def run(self, progress: Progress) -> None:
        """Certify, and find the figures."""
        seconds = []
        samples = []
        inputs = self.images_of_run.spec.inputs
        with progress("pilot", len(self.order), inputs) as reporter:
            for job in Scheduler[PilotImage](self.engine).run(self._jobs()):
                assert job.result is not None
                seconds.append(job.seconds)
                samples.append(int(job.result.counts0.sum()) + job.result.drawn)
                reporter.advance(1)
        self.pace = _pace_of(self._passed(), np.array(seconds), np.array(samples))
        self.low, self.high = self._limits(self.images)

    def known(self) -> list[PilotImage]:
        """Return the images whose number of samples is known."""
        return [image for image in self.images if image.samples is not None]

    def time_of(self, samples: Span, start: float, workers: int = 1) -> Span:
        """Return the seconds that so many samples take.

        All workers wait for the last one, whose last image may take all samples.

        Args:
            samples: the limits of the samples of the run.
            start: the seconds until the first image.
            workers: the number of workers that share the run.
        """
        images = len(self.order)
        pace = self.pace
        of_images = pace.image_seconds * images
        usual_last = 0.0
        longest_last = 0.0
        if workers > 1:
            usual_last = pace.sample_seconds * (samples.middle / images)
            longest_last = pace.sample_seconds * self.rule.n

        def seconds(count: float, slowness: float, last_image: float) -> float:
            shared = of_images + pace.sample_seconds * count
            return float(start + shared / workers * slowness + last_image)

        return Span(
            middle=seconds(samples.middle, 1.0, usual_last),
            low=seconds(samples.low, 1.0 - min(pace.spread, 0.5), 0.0),
            high=seconds(samples.high, 1.0 + pace.spread, longest_last),
        )

    def _passed(self) -> float:
        """Return how many seconds have passed since it was made."""
        return time.perf_counter() - self.start

    def _jobs(self) -> Iterator[Job[PilotImage]]:
        """Yield a job an image, as the scheduler has room for them."""
        batches = self.images_of_run.batches(
            [torch.tensor([index]) for index in self.order]
        )
        for index, (x, y) in zip(self.order, batches, strict=True):
            image = PilotImage(
                index=index,
                label=int(y[0]) if self.header.label_aware else None,
                counts0=np.zeros(self.engine.classes, np.int64),
                counts=np.zeros(self.engine.classes, np.int64),
            )
            self.images.append(image)
            yield Job(index, x[0], self._steps(image))
            if self._is_enough():
                break

    def _is_enough(self) -> bool:
        """Return whether no other image is to be begun.

        Time is up, or the mean is known by the images that are finished.
        """
        known = self.known()
        has_grown = len(known) >= max(FEWEST_IMAGES, 2 * self.images_in_limits)
        if has_grown and self._passed() >= min(self.allowed_seconds, FEWEST_SECONDS):
            self.images_in_limits = len(known)
            low, high = self._limits(known)
            if high - low <= NARROW_SHARE * (high + low):
                return True
        return self._passed() > self.allowed_seconds

    def _limits(self, images: Sequence[PilotImage]) -> tuple[float, float]:
        """Return the interval of the mean samples.

        Where an image's samples are unknown, they lie between its last look and n0 + n.
        """
        most = self.n0 + self.rule.n
        if self.rule.next_look([]) == self.rule.n and not self.header.gives_up_others:
            return float(most), float(most)
        least_of_image = [
            image.samples or self.n0 + self.rule.samples(image.path) for image in images
        ]
        most_of_image = [image.samples or most for image in images]
        total = len(self.order)
        low, _ = finite_mean_interval(least_of_image, total, ALPHA, largest=most)
        _, high = finite_mean_interval(most_of_image, total, ALPHA, largest=most)
        return low, high

    def _steps(self, image: PilotImage) -> Steps[PilotImage]:
        """Draw what `certify_steps` does, until the number of samples is known, or time is up."""
        rule = self.rule
        if self.n0:
            (image.counts0,) = yield [selecting(rule, self.n0)]
            if image.label not in (None, int(image.counts0.argmax())):
                image.samples = self.n0
                return image
        block = rule.block or 1
        piece = max(1, PIECE // block) * block
        while (look := rule.next_look(image.path)) is not None:
            drawn = image.drawn
            is_last = look >= rule.n
            image.samples = self.n0 + rule.n if is_last else None
            is_late = self._passed() > PATIENCE * self.allowed_seconds
            if drawn and (is_late or (is_last and drawn >= PIECE)):
                return image
            end = min(look, drawn + piece) if is_last else look
            (more,) = yield [estimating(rule, drawn, end)]
            image.counts = image.counts + more
            if is_last:
                return image
            image.path.append(image.successes)
        image.samples = self.n0 + rule.samples(image.path)
        return image


def _pace_of(
    passed: float, seconds: NDArray[np.float64], samples: NDArray[np.int64]
) -> Pace:
    """Return how fast a pilot was.

    Args:
        passed: seconds that it took.
        seconds, samples: (images,) of each image.
    """
    paces = seconds / samples
    spread = UNSURE_SPREAD
    if len(paces) >= IMAGES_TO_KNOW_SPREAD:
        of_mean = 2.0 * float(paces.std() / paces.mean()) / math.sqrt(len(paces))
        spread = max(LEAST_SPREAD, of_mean)
    return Pace(
        seconds=passed,
        sampled=int(samples.sum()),
        sample_seconds=float(np.median(paces)),
        image_seconds=max(0.0, passed - float(seconds.sum())) / len(seconds),
        spread=spread,
    )
