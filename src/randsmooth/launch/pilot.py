"""A pilot: a few images, chosen by chance, are certified until it is known how many samples each takes."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth.bounds import finite_mean_interval
from randsmooth.certificates import Rule, rule_of
from randsmooth.certification.algorithm import ESTIMATE, SELECT, came_out
from randsmooth.certification.jobs import Job, SampleRange, Steps
from randsmooth.certification.prepared import Prepared
from randsmooth.certification.scheduler import Scheduler
from randsmooth.launch.span import Span
from randsmooth.progress import Reporter

ALPHA = 0.05  # of every interval of a plan
NARROW = 0.1  # an interval that reaches so far to either side of its middle is narrow enough
FEWEST = 8  # images
AHEAD, PIECE = 256, 1024  # samples that are asked for at once, at least and at most: so often the clock is looked at
TIMED = 5.0  # seconds after which the speed is known well enough
WINDOWS = 10  # of which the speed is compared
LEAST_SPREAD, UNSURE = 0.05, 0.3  # of the speed: what a machine always does, and where it could not be compared
PATIENCE = 1.5  # the images in hand may take so many times the seconds that the pilot was given


@dataclass
class PilotImage:
    """What the pilot saw of one image.

    Attributes:
        index: its position in the split.
        picked: how often each class came out in the samples that pick one (K,); None until they are counted.
        path: how often the picked class had come out at each look that was completed.
        drawn: samples so far that bound p_A, and `successes` among them.
        samples: how many samples the image takes, with those that pick the class; None where that is not known yet.
        points: (samples, successes) where they were counted.
        counts: (K,) class counts of the samples that bound p_A.
        label: the class to test where n0 is 0; None if it is the one that is picked, or the most frequent.
    """

    index: int
    n0: int
    picked: NDArray[np.int64] | None = None
    path: list[int] = field(default_factory=list)
    drawn: int = 0
    successes: int = 0
    samples: int | None = None
    points: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    counts: NDArray[np.int64] | None = None
    label: int | None = None

    @property
    def class_(self) -> int | None:
        """The class whose probability is bounded; None for whichever is the most frequent."""
        return self.label if self.picked is None else int(self.picked.argmax())

    @property
    def least(self) -> int:
        """Samples that it takes at least."""
        return self.n0 + self.drawn if self.samples is None else self.samples

    def add(self, stops: Sequence[int], counts: Sequence[NDArray[np.int64]] | NDArray[np.int64]) -> None:
        """Counts (len(stops), K) of further samples, up to each of `stops`."""
        for stop, row in zip(stops, counts, strict=True):
            self.counts = row if self.counts is None else self.counts + row
            self.drawn, self.successes = stop, came_out(self.counts, self.class_)
            self.points.append((self.drawn, self.successes))

    def successes_after(self, samples: int) -> int:
        """The successes among the first `samples`; between two counts about as many as there were."""
        counted, successes = np.array(self.points).T
        return round(float(np.interp(samples, counted, successes)))


@dataclass(frozen=True)
class Pilot:
    """What the pilot found.

    Attributes:
        images: those that were begun, in the order in which they were chosen.
        total: images of the run.
        seconds: how long the pilot took.
        sampled: samples that it drew.
        sample_seconds, image_seconds: time that a sample takes, and an image besides its samples.
        spread: share by which the speed differed, as 95% limits of its mean.
        low, high: 95% limits of the mean samples of an image.
    """

    images: tuple[PilotImage, ...]
    total: int
    seconds: float
    sampled: int
    sample_seconds: float
    image_seconds: float
    spread: float
    low: float
    high: float

    def time_of(self, samples: Span, images: int) -> Span:
        """Seconds of `images` with so many samples together, in one process that has begun."""
        besides = self.image_seconds * images
        middle, low, high = (besides + self.sample_seconds * number for number in samples)
        return Span(middle, low * (1.0 - min(self.spread, 0.5)), high * (1.0 + self.spread))


def fly(prepared: Prepared, *, seconds: float, seed: int, reporter: Reporter) -> Pilot:
    """Certify images of a run, in an order drawn by chance, until their mean is known or time is up.

    Args:
        prepared: the run.
        seconds: no image is begun later.
        seed: of the order.
        reporter: advances by an image when it is known how many samples that takes.
    """
    flight = Flight(prepared, seconds, seed)
    for _ in Scheduler[None](prepared.smoothed.engine).run(flight.jobs()):
        reporter.advance(1)
    return flight.found()


class Flight:
    """A pilot under way.

    Attributes:
        images: those that were begun.
        marks: (seconds since the start, samples counted so far) after each answer.
        looked: seconds that went into looking whether the mean is known, and ahead: a run does neither.
        admitted: seconds after which the last image was begun.
    """

    def __init__(self, prepared: Prepared, seconds: float, seed: int) -> None:
        self.prepared, self.seconds, self.start = prepared, seconds, time.perf_counter()
        self.order = np.random.default_rng(seed).permutation(prepared.facts.indices).tolist()
        header = prepared.facts.header
        self.rule, self.n0, self.header = rule_of(header), header.n0 or 0, header
        self.images: list[PilotImage] = []
        self.begun: list[Job[None]] = []
        self.marks: list[tuple[float, int]] = []
        self.looked, self.asked, self.admitted = 0.0, 0, 0.0

    @property
    def passed(self) -> float:
        return time.perf_counter() - self.start

    def jobs(self) -> Iterator[Job[None]]:
        """A job an image, as the scheduler has room for them."""
        batches = self.prepared.images.batches([torch.tensor([index]) for index in self.order])
        for index, (x, y) in zip(self.order, batches, strict=True):
            label = int(y[0]) if self.header.label_aware else None
            image = PilotImage(index, self.n0, label=None if self.n0 else label)
            self.images.append(image)
            self.begun.append(Job(index, x[0], self.steps(image, label if self.n0 else None)))
            yield self.begun[-1]
            if self.enough():
                break
        self.admitted = self.passed

    def enough(self) -> bool:
        """Whether no other image is to be begun."""
        finished = len(self.finished())
        if self.passed > self.seconds:
            return True
        if finished < FEWEST or finished < 1.1 * self.asked:
            return False
        start, self.asked = time.perf_counter(), finished
        low, high = self.limits()
        self.looked += time.perf_counter() - start
        return high - low <= NARROW * (high + low) and self.passed >= min(self.seconds, TIMED)

    def finished(self) -> list[int]:
        """The samples of the first images, up to one of which they are not known yet.

        Of all finished images, those would be too many that took few.
        """
        known = (image.samples for image in self.images)
        return [samples for samples in itertools.takewhile(lambda samples: samples is not None, known) if samples]

    def limits(self) -> tuple[float, float]:
        """The interval of the mean samples of an image; where the rule takes the same number of each, that number."""
        if (
            _is_last(self.rule, PilotImage(0, self.n0), self.rule.next_look([]) or 0)
            and not self.header.gives_up_others
        ):
            return (float(self.n0 + self.rule.n),) * 2
        return finite_mean_interval(self.finished(), len(self.order), ALPHA, largest=self.n0 + self.rule.n)

    def steps(self, image: PilotImage, label: int | None) -> Steps[None]:
        """The steps of certifying an image, as in `certify_steps`, until it is known how many samples they take.

        With a `label`, an image whose picked class is another is finished.

        Where the next look is the last whatever it will show, its samples are not drawn, but for a few that measure
        p_A: with the rule "fixed" that is the first look, with "tolerance" the second. Looks are drawn in pieces,
        between which the image is given up if time is up.
        """
        stops = [] if label is not None else self._stops(image, self.rule.next_look([]) or 0)
        select = [SampleRange(SELECT, 0, image.n0, self.rule.block)] if image.n0 else []
        first = yield [*select, *self._ranges(image, stops)]
        image.picked = first[0] if select else None
        image.add(stops, first[len(select) :])
        self._count(image.n0 + image.drawn)
        if label is not None and image.class_ != label:
            image.samples = image.n0
            return
        while (look := self.rule.next_look(image.path)) is not None:
            last = _is_last(self.rule, image, look)
            image.samples = image.n0 + look if last else None
            enough = min(look, max(PIECE, image.drawn)) if last else look
            while image.drawn < enough:
                if self.passed > PATIENCE * self.seconds:
                    return
                before, stops = image.drawn, self._stops(image, look)
                counts = yield self._ranges(image, stops)
                image.add(stops, counts)
                self._count(image.drawn - before)
            if last:
                return
            image.path.append(image.successes_after(look))
        image.samples = image.n0 + self.rule.samples(image.path)

    def _ranges(self, image: PilotImage, stops: Sequence[int]) -> list[SampleRange]:
        ends = itertools.pairwise([image.drawn, *stops])
        return [SampleRange(ESTIMATE, start, stop, self.rule.block) for start, stop in ends]

    def _stops(self, image: PilotImage, look: int) -> list[int]:
        """Where to count next: at `look` and those after it, as far as they would come if the image went on like this.

        So few images are in hand at a time, and most of them are finished when time is up.
        """
        start = time.perf_counter()
        path, stops, reach = list(image.path), [], image.drawn + (min(image.drawn // 2, PIECE) or self._usual())
        reach = max(reach, image.drawn + AHEAD)
        share = image.successes / max(1, image.drawn)
        following: int | None = look
        while following is not None and following <= reach:
            stops.append(following)
            path.append(max([round(share * following), *path[-1:]]))
            following = self.rule.next_look(path)
        self.looked += time.perf_counter() - start
        return [stop for stop in stops if stop > image.drawn] or [min(look, image.drawn + PIECE)]

    def _usual(self) -> int:
        """How many samples most images take, as far as the pilot can tell: so many are asked for at first."""
        drawn = [image.drawn for image in self.images if image.samples is not None]
        return min(PIECE, int(np.median(drawn)) if len(drawn) >= 3 else 2 * AHEAD)

    def _count(self, samples: int) -> None:
        self.marks.append((self.passed, samples + (self.marks[-1][1] if self.marks else 0)))

    def found(self) -> Pilot:
        """What the pilot found, once its jobs have ended."""
        seconds, sampled = self.passed - self.looked, self.marks[-1][1]
        image_seconds = max(0.0, seconds - sum(job.seconds for job in self.begun)) / len(self.images)
        sample_seconds, spread = self._pace(image_seconds)
        low, high = self.limits()
        return Pilot(
            tuple(self.images), len(self.order), seconds, sampled, sample_seconds, image_seconds, spread, low, high
        )

    def _pace(self, image_seconds: float) -> tuple[float, float]:
        """Seconds a sample while the batches were full, and how far that may be off, as a share.

        The first tenth of the time is left out, in which memory is allocated and threads start.
        """
        full = [mark for mark in self.marks if 0.1 * self.admitted <= mark[0] <= self.admitted]
        if len(full) < WINDOWS + 1:
            return sum(job.seconds for job in self.begun) / max(1, self.marks[-1][1]), UNSURE
        chosen = np.linspace(0, len(full) - 1, WINDOWS + 1).astype(int)
        when, samples = np.array([full[i] for i in chosen]).T
        besides = image_seconds * len(self.images) * (when[-1] - when[0]) / self.admitted
        paces = np.diff(when) / np.maximum(1.0, np.diff(samples))
        spread = 2.0 * paces.std(ddof=1) / paces.mean() / math.sqrt(WINDOWS)
        return max(0.0, when[-1] - when[0] - besides) / (samples[-1] - samples[0]), max(LEAST_SPREAD, spread)


def _is_last(rule: Rule, image: PilotImage, look: int) -> bool:
    """Whether no look follows the next one, whatever its samples show."""
    if look >= rule.n or rule.sequential:
        return look >= rule.n
    before = image.path[-1] if image.path else 0
    ends = np.linspace(before, before + look - rule.samples(image.path), 9).astype(int)
    return all(rule.next_look([*image.path, int(end)]) is None for end in ends)
