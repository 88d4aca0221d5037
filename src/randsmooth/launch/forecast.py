"""What a certification or a sweep will take: a few images are certified, or networks measured, for time and memory."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache
from timeit import repeat
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from randsmooth import data, models
from randsmooth.bounds import finite_mean_interval
from randsmooth.certificates import CertificationSettings, rule_of
from randsmooth.certification.algorithm import (
    estimating,
    selecting,
    times_of,
    times_of_any,
)
from randsmooth.certification.run import OpenRun, RunSpec, open_run
from randsmooth.certification.run_notes import notes_of
from randsmooth.certification.scheduler import Ints, Job, Scheduler, Steps
from randsmooth.errors import BadValue, Problem
from randsmooth.extras import versions
from randsmooth.launch.chains import Step
from randsmooth.methods import LossInputs, Method
from randsmooth.notes import Note
from randsmooth.progress import Progress, chosen_progress
from randsmooth.rules import CONFIDENCE_BOUNDS, Rule
from randsmooth.training import Recipe

TRIALS = 3
VALUES = (
    2**18
)  # of the images that a network is measured with: 85 of CIFAR-10, two of ImageNet
IMAGES, SHAPE, CLASSES = 6, (1, 4, 4), 3  # of the problem on which passes are counted


class Passes(NamedTuple):
    """Of each image, through a network alone and there and back: how many, or how many seconds one takes."""

    forward: float
    both: float


@lru_cache(maxsize=1024)
def work_of(method: Method) -> Passes:
    """The passes of a training step for each image of the batch, the attack and the weights' gradient included.

    Example:
        >>> from randsmooth import methods
        >>> work_of(methods.create("gaussian", m=2))
        Passes(forward=0.0, both=2.0)
        >>> work_of(methods.create("smoothadv", m=2, T=4)).both > 8
        True
    """
    passed = {"forward": 0, "both": 0}

    def count(module: nn.Module, given: Any, logits: torch.Tensor) -> None:
        passed["forward"] += len(logits)
        if logits.requires_grad:
            logits.register_hook(
                lambda gradient: passed.update(both=passed["both"] + len(gradient))
            )

    with torch.random.fork_rng(devices=[]):
        model = nn.Sequential(
            nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, CLASSES)
        )
        model.register_forward_hook(count)
        x, y = torch.rand(IMAGES, *SHAPE), torch.arange(IMAGES) % CLASSES
        noise, target = (
            0.5 * torch.randn(method.m, IMAGES, *SHAPE),
            torch.rand(IMAGES, CLASSES).softmax(dim=1),
        )
        method.loss(
            model,
            x,
            y,
            noise,
            LossInputs(u=torch.rand(IMAGES), target=target, sigma=0.5),
        ).total.backward()
    return Passes(
        (passed["forward"] - passed["both"]) / IMAGES, passed["both"] / IMAGES
    )


@lru_cache(maxsize=1024)
def speed_of(arch: str, shape: tuple[int, ...], num_classes: int) -> Passes:
    """Seconds of a network with random weights on this machine's GPU, or else its CPU, in float32."""
    device = models.pick_device("auto")
    made = models.build(
        arch, in_channels=shape[0], image_size=shape[1], num_classes=num_classes
    ).to(device)
    x = torch.rand(max(2, VALUES // math.prod(shape)), *shape, device=device)

    def forward() -> None:
        with torch.inference_mode():
            made.eval()(x)

    def both() -> None:
        made.train()(x.clone().requires_grad_()).logsumexp(1).sum().backward()

    def seconds(run: Callable[[], None]) -> float:
        names = {
            "run": run,
            "wait": torch.cuda.synchronize if device.type == "cuda" else int,
        }
        return float(
            np.median(repeat("run(); wait()", repeat=TRIALS, number=1, globals=names))
        ) / len(x)

    return Passes(seconds(forward), seconds(both))


@dataclass
class GraphPlan:
    """Seconds of steps, one after the other on this machine.

    Attributes:
        training, certification: of each step that trains and certifies, by its name.
    """

    training: dict[str, float] = field(default_factory=dict)
    certification: dict[str, float] = field(default_factory=dict)

    @property
    def steps(self) -> dict[str, float]:
        return self.training | self.certification

    @property
    def sums(self) -> list[float]:
        """Of training, certification and both."""
        return [
            sum(of.values()) for of in (self.training, self.certification, self.steps)
        ]

    def on_workers(self, k: int) -> float:
        """Seconds on k workers like this machine: no less than the longest step, which no two can share."""
        return max([self.sums[-1] / k, *self.steps.values()])


def plan_steps(
    steps: Iterable[Step],
    speed: Callable[[str, tuple[int, ...], int], Passes] = speed_of,
) -> GraphPlan:
    """What `steps` take: one that certifies, by the model that is trained by the step that it needs.

    Steps that evaluate and rank take seconds, and count as none.

    Args:
        steps: in an order in which they can be carried out.
        speed: of a network, by architecture, shape of the images (C, H, W) and number of classes.

    Raises:
        Problem: settings with which a step could not run.

    Example:
        >>> from pathlib import Path
        >>> train = Step("a/train", "train", "digits", {"sigma": 0.25, "epochs": 1}, Path("a"))
        >>> certify = Step("a/certify", "certify", "a", {"n": 1000, "take": 10}, Path("a.parquet"), (train,))
        >>> planned = plan_steps([train, certify])
        >>> [*planned.training], [*planned.certification]
        (['a/train'], ['a/certify'])
    """
    planned = GraphPlan()
    for step in steps:
        train = next((one for one in (step, *step.needs) if one.verb == "train"), None)
        if train is None:
            continue
        recipe = train.recipe()
        spec = data.describe(recipe.dataset, **recipe.reading)
        passes = speed(recipe.arch, tuple(spec.shape), spec.num_classes)
        if step is train:
            planned.training[step.name] = _training(
                recipe, recipe.take or spec.sizes["train"], passes
            )
        else:
            planned.certification[step.name] = _samples(step, recipe) * passes.forward
    return planned


def _training(recipe: Recipe, images: int, speed: Passes) -> float:
    """Every epoch as the method is at full strength."""
    work = work_of(recipe.build_method())
    noises = recipe.hyperparameters.get("teacher_noises") or 0
    teacher = noises * speed.forward if recipe.hyperparameters.get("teacher") else 0.0
    return images * (
        recipe.epochs * (work.forward * speed.forward + work.both * speed.both)
        + teacher
    )


def _samples(step: Step, recipe: Recipe) -> int:
    """All that the images may take."""
    options, usual = step.options, CertificationSettings.model_fields
    spec = data.describe(
        str(options.get("dataset") or recipe.dataset), **recipe.reading
    )
    split = str(options.get("split", "test"))
    total = (
        spec.sizes.get(split) or spec.sizes["validation"]
    )  # which stands in for test
    images = options.get("take") or math.ceil(total / (options.get("skip") or 1))
    return int(
        images * sum(int(options.get(key, usual[key].default)) for key in ("n0", "n"))
    )


ABOUT = (
    "dataset",
    "split",
    "selection",
    "rule",
    "sigma",
    "n0",
    "n",
    "alpha",
    "device",
    "backend",
)
RIVALS = (
    "fixed",
    "grid",
)  # and one radius, sigma: what is compared with the rule that was asked for
USUAL_Q = 0.1587  # that proves one sigma
ALPHA, NARROW = (
    0.05,
    0.1,
)  # of the limits; they are narrow enough when they lie within a tenth of their middle,
FEWEST, TIMED = (
    8,
    5.0,
)  # so many images are known, and so many seconds have shown the speed
PIECE = 1024  # of a last look, whose samples are known by their number, so many are drawn, which measure p_A
PATIENCE = 1.5  # the images in hand may take so many times the seconds that the pilot was given
LEAST_SPREAD, UNSURE, SURE = (
    0.05,
    0.3,
    20,
)  # how much the speed always differs, or may differ below so many images
REPLAYED = 240  # images that are drawn again for each rule
WIDE = 3.0  # high over low, from which on a note says how to narrow the limits
LINE, COLUMNS, FOOTER = (
    240,
    72,
    2**14,
)  # bytes of a journal's line and a table's row besides counts; of a table


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
    """What the pilot saw of one image.

    Attributes:
        index: its position in the split.
        label: the class that is tested where no samples pick one; None: the most frequent.
        counts0, counts: (K,) class counts of the samples that picked the class, and of those that bound p_A.
        path: how often the picked class had come out at each look that was completed.
        samples: how many it takes, with those that pick the class; None where that is not known yet.
    """

    index: int
    label: int | None
    counts0: Ints
    counts: Ints
    path: list[int] = field(default_factory=list)
    samples: int | None = None

    @property
    def drawn(self) -> int:
        """How many samples that bound p_A were drawn."""
        return int(self.counts.sum())

    @property
    def successes(self) -> int:
        """How often the class whose probability is bounded came out."""
        if self.counts0.any():
            return times_of(int(self.counts0.argmax()))(self.counts)
        if self.label is not None:
            return times_of(self.label)(self.counts)
        return times_of_any(self.counts)


class Pilot:
    """Certifies images of a run, in an order drawn by chance, until their mean samples are known or time is up.

    Attributes:
        images: those that were begun, in the order in which they were chosen.
        low, high: 95% limits of the mean samples of an image.
        seconds, sampled: how long the pilot took, and how many samples it drew.
        sample_seconds, image_seconds: time that a sample takes, and an image besides its samples.
        spread: share by which the speed differed, as 95% limits of its mean.
    """

    def __init__(self, run: OpenRun, seconds: float, seed: int) -> None:
        self.images_of_run = run.images
        self.header = run.header
        self.engine = run.engine
        self.rule = rule_of(self.header)
        self.n0 = self.header.n0 or 0
        self.order = np.random.default_rng(seed).permutation(run.indices).tolist()
        self.inputs = run.images.spec.inputs
        self.start = time.perf_counter()
        self.allowed = seconds
        self.asked = 0
        self.images: list[PilotImage] = []

    def run(self, progress: Progress) -> None:
        """Certify, and find the figures."""
        took = []
        with progress("pilot", len(self.order), self.inputs) as reporter:
            for job in Scheduler[PilotImage](self.engine).run(self._jobs()):
                assert job.result is not None
                took.append(
                    (job.seconds, int(job.result.counts0.sum()) + job.result.drawn)
                )
                reporter.advance(1)
        self.seconds, (self.low, self.high) = self._passed(), self._limits(self.images)
        seconds, samples = np.array(took).T
        self.sampled, paces = int(samples.sum()), seconds / samples
        self.image_seconds = max(0.0, self.seconds - float(seconds.sum())) / len(took)
        varied = 2.0 * float(paces.std() / paces.mean()) / math.sqrt(len(paces))
        self.sample_seconds = float(np.median(paces))
        self.spread = max(LEAST_SPREAD, varied) if len(paces) >= SURE else UNSURE

    def time_of(self, samples: Span, start: float, k: int = 1) -> Span:
        """Seconds of k workers with so many samples: all wait for the last, whose last image may take all of them."""
        images, speeds = (
            len(self.order),
            np.array([1.0, 1.0 - min(self.spread, 0.5), 1.0 + self.spread]),
        )
        shared = self.image_seconds * images + self.sample_seconds * np.array(
            astuple(samples)
        )
        last = (
            (k > 1)
            * self.sample_seconds
            * np.array([samples.middle / images, 0.0, self.rule.n])
        )
        return Span(*(start + shared / k * speeds + last).tolist())

    def _passed(self) -> float:
        return time.perf_counter() - self.start

    def _jobs(self) -> Iterator[Job[PilotImage]]:
        """A job an image, as the scheduler has room for them."""
        batches = self.images_of_run.batches(
            [torch.tensor([index]) for index in self.order]
        )
        for index, (x, y) in zip(self.order, batches, strict=True):
            label = int(y[0]) if self.header.label_aware else None
            self.images.append(
                PilotImage(index, label, *np.zeros((2, self.engine.classes), np.int64))
            )
            yield Job(index, x[0], self._steps(self.images[-1]))
            if self._enough():
                break

    def _enough(self) -> bool:
        """Whether no other image is to be begun: time is up, or the mean is known by the images that are finished."""
        known = [image for image in self.images if image.samples is not None]
        if len(known) >= max(FEWEST, 2 * self.asked) and self._passed() >= min(
            self.allowed, TIMED
        ):
            self.asked, (low, high) = len(known), self._limits(known)
            if high - low <= NARROW * (high + low):
                return True
        return self._passed() > self.allowed

    def _limits(self, images: Sequence[PilotImage]) -> tuple[float, float]:
        """The interval of the mean. Where an image's samples are unknown, they lie between its last look and n0 + n."""
        most = self.n0 + self.rule.n
        if self.rule.next_look([]) == self.rule.n and not self.header.gives_up_others:
            return float(most), float(most)
        least = [
            image.samples or self.n0 + self.rule.samples(image.path) for image in images
        ]
        largest = [image.samples or most for image in images]
        limits = [
            finite_mean_interval(x, len(self.order), ALPHA, largest=most)
            for x in (least, largest)
        ]
        return limits[0][0], limits[1][1]

    def _steps(self, image: PilotImage) -> Steps[PilotImage]:
        """What `certify_steps` draws, until it is known how many samples that is, or time is up."""
        rule = self.rule
        if self.n0:
            (image.counts0,) = yield [selecting(rule, self.n0)]
            if image.label not in (None, int(image.counts0.argmax())):
                image.samples = self.n0
                return image
        while (look := rule.next_look(image.path)) is not None:
            drawn, last = image.drawn, look >= rule.n
            image.samples = self.n0 + rule.n if last else None
            if drawn and (
                (last and drawn >= PIECE) or self._passed() > PATIENCE * self.allowed
            ):
                return image
            piece = max(1, PIECE // (rule.block or 1)) * (rule.block or 1)
            (more,) = yield [
                estimating(rule, drawn, min(look, drawn + piece) if last else look)
            ]
            image.counts = image.counts + more
            if last:
                return image
            image.path.append(image.successes)
        image.samples = self.n0 + rule.samples(image.path)
        return image


@dataclass(frozen=True)
class Plan:
    """What a certification is expected to take.

    Attributes:
        samples, seconds: of the run in one process like this one, from opening model and data on.
        workers: seconds of the run on k workers, for each k that was asked for.
        rules: samples and seconds of the run under this rule and others.
        pilot: images, of how many of them the samples are known, their samples and seconds, and the seed of the choice.
        about: data set, split, selection and settings, as in the header of the table, and these figures:
            images: how many are to be certified.
            start_seconds: until the first image: opening model and data, and trying the model out.
            sample_seconds, image_seconds: time that a sample takes, and an image besides its samples.
            memory_bytes, device_memory_bytes: of each process and each GPU so far; None: unknown, or without one.
            journal_bytes: at most, of the file OUT.parquet.partial, which is there while the run lasts.
            table_bytes: at most, of the finished file. For a moment both are there.
        notes: on the run, and on what the forecast cannot know.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> spec = RunSpec.of(model, "digits", sigma=0.5, n=1000, take=10)
        >>> planned: Plan = plan(spec, seconds=0.2)
        >>> planned.samples.middle, planned.to_dict()["images"], planned.to_dict()["rule"]
        (11000.0, 10, 'fixed')
    """

    samples: Span
    seconds: Span
    workers: dict[int, Span]
    rules: dict[str, dict[str, Span]]
    pilot: dict[str, float]
    about: dict[str, Any]
    notes: tuple[Note, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and words."""
        figures = asdict(self)
        figures["notes"] = [str(note) for note in self.notes]
        return {**figures.pop("about"), **figures, "versions": versions()}


def plan(
    run: RunSpec | OpenRun,
    *,
    workers: Sequence[int] = (),
    seconds: float = 30.0,
    seed: int = 0,
    progress: Progress | bool | None = None,
    radius: float | None = None,
) -> Plan:
    """Forecast what the certification `run` will take, from a pilot on images that are chosen by chance.

    The pilot goes on until 95% limits of the mean samples of an image lie within a tenth of it, or time is up. The
    limits of `samples` hold with probability 95% whenever the pilot stops (see `bounds.finite_mean_interval`), rules
    that take few samples of most images and all of some included. Those of time add how much the speed varied. Other
    rules are replayed on p_A as far as the pilot knows it, so that their limits are no guarantee.

    Args:
        run: what to certify; opened here, unless it is open.
        workers: numbers of workers, each like this process, to say the time for.
        seconds: no image of the pilot is begun later. The model and the data are opened before.
        seed: of the choice of images.
        progress: as in `certify`.
        radius: of the rule for one radius, which is among the others; default: sigma.

    Raises:
        Problem: what `certify` refuses, no time, or no workers.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> spec = RunSpec.of(model, "digits", sigma=0.5, n=1000, take=10)
        >>> planned = plan(spec, seconds=0.2, workers=[4])
        >>> planned.samples.middle, planned.rules["fixed"]["samples"].middle, [*planned.workers]
        (11000.0, 11000.0, [4])
    """
    if not 0.0 < seconds < math.inf:
        raise BadValue(
            field="seconds",
            value=seconds,
            expected="must be a time above 0 for the pilot; 30 is usual",
        )
    if min(workers, default=1) < 1:
        raise BadValue(
            field="workers",
            value=min(workers),
            expected="must be a whole number from 1",
        )
    start = time.perf_counter()
    opened = open_run(run)
    pilot = Pilot(opened, seconds, seed)
    rng = np.random.default_rng(seed)
    start = pilot.start - start
    pilot.run(chosen_progress(progress))
    taken = [
        i.samples or pilot.n0 + _replayed(pilot.rule, i, i.path, rng, FEWEST).mean()
        for i in pilot.images
    ]
    mean, total = (
        min(max(float(np.mean(taken)), pilot.low), pilot.high),
        len(pilot.order),
    )
    samples = Span(mean * total, pilot.low * total, pilot.high * total)
    rules = _rivals(pilot, rng, radius) | {pilot.header.rule: samples}
    known = sum(image.samples is not None for image in pilot.images)
    about = {name: getattr(pilot.header, name) for name in ABOUT} | {
        "images": total,
        "start_seconds": start,
    }
    about |= {
        name: getattr(pilot, name) for name in ("sample_seconds", "image_seconds")
    } | _bytes(pilot)
    took = {
        "seconds": pilot.seconds,
        "samples": pilot.sampled,
        "images": len(pilot.images),
    }
    took |= {"known": known, "seed": seed}
    on_workers = {k: pilot.time_of(samples, start, min(k, total)) for k in workers}
    by_rule = {
        rule: {"samples": span, "seconds": pilot.time_of(span, start)}
        for rule, span in rules.items()
    }
    notes = notes_of(opened).notes
    if pilot.high > WIDE * pilot.low:
        notes = (*notes, Note("wide_limits", known=known))
    return Plan(
        samples, pilot.time_of(samples, start), on_workers, by_rule, took, about, notes
    )


def _rivals(
    pilot: Pilot, rng: np.random.Generator, radius: float | None
) -> dict[str, Span]:
    """Samples of the run under other rules, of those that its settings allow: the pilot's images are drawn again."""
    found, header, times = (
        dict[str, Span](),
        pilot.header,
        -(-REPLAYED // len(pilot.images)),
    )
    noise = header.smoothing
    one = radius or float(
        f"{min(noise.scale, float(noise.radius(USUAL_Q))):.3g}"
    )  # sigma, or what is as easily proved
    for text in (*RIVALS, f"radius={one:g}"):
        with suppress(
            Problem
        ):  # such as of a rule that needs samples to pick the class, where this one needs none
            rule = header.settings.replace(
                rule=text, bound=CONFIDENCE_BOUNDS[0]
            ).stopping_rule()
            samples = pilot.n0 + np.stack(
                [_replayed(rule, image, [], rng, times) for image in pilot.images]
            )
            chance = samples.mean(axis=1).var() / len(samples) + samples.var() / len(
                pilot.order
            )
            mean, reach = (
                samples.mean(),
                1.96 * np.sqrt(chance),
            )  # of the choice, and of the run
            span = (
                mean,
                max(pilot.n0, mean - reach),
                min(pilot.n0 + rule.n, mean + reach),
            )
            found[text] = Span(*(len(pilot.order) * float(each) for each in span))
    return found


def _replayed(
    rule: Rule,
    image: PilotImage,
    path: Sequence[int],
    rng: np.random.Generator,
    times: int,
) -> Ints:
    """(times,) how many samples of an image are drawn in all after `path`; p_A is drawn from Jeffreys' posterior."""
    drawn, successes, ends = image.drawn, image.successes, []
    for p in rng.beta(0.5 + successes, 0.5 + drawn - successes, times):
        looks, reached = list(path), rule.samples(path)
        while drawn and (look := rule.next_look(looks)) is not None:
            looks.append(
                (looks[-1] if looks else 0) + int(rng.binomial(look - reached, p))
            )
            reached = look
        ends.append(reached)
    return np.array(ends)


def _bytes(pilot: Pilot) -> dict[str, Any]:
    """Memory so far, and disk at most: as if every image took n samples, at all looks of the pilot's longest path."""
    images, head = len(pilot.order), len(pilot.header.model_dump_json())
    numbers = (
        2 * pilot.engine.classes + max(len(image.path) for image in pilot.images) + 1
    )
    journal = head + images * (LINE + numbers * (len(str(pilot.rule.n)) + 1))
    disk = {
        "journal_bytes": journal,
        "table_bytes": head + FOOTER + images * (COLUMNS + 8 * numbers),
    }
    on_device = (
        torch.cuda.max_memory_reserved() if torch.cuda.is_initialized() else None
    )
    return {"memory_bytes": _memory(), "device_memory_bytes": on_device} | disk


def _memory() -> int | None:
    """The most that this process has held so far; None on Windows, which does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
