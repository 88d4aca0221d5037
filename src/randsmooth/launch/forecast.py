"""What a certification will take: samples, time, memory, disk, and what other rules cost."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from randsmooth.certification.run import OpenRun, RunSpec, open_run
from randsmooth.certification.run_notes import notes_of
from randsmooth.certification.scheduler import Ints
from randsmooth.errors import BadValue, Problem
from randsmooth.extras import versions
from randsmooth.launch.pilot import FEWEST_IMAGES, Pilot, PilotImage, Span
from randsmooth.notes import Note
from randsmooth.progress import Progress, chosen_progress
from randsmooth.rules import CONFIDENCE_BOUNDS, Rule

# Facts of the header that a plan repeats.
REPEATED_FACTS = (
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

# Rules that are compared with the one that was asked for, with one radius beside them.
RIVAL_RULES = ("fixed", "grid")
# q = 1 - p_A that proves a radius of one sigma.
Q_OF_ONE_SIGMA = 0.1587
# The fewest images that are drawn again for each rule.
REPLAYED_IMAGES = 240
# Standard errors on either side of a mean, in 95% limits.
STANDARD_ERRORS = 1.96

# Ratio of the upper to the lower limit from which on a note says how to narrow them.
WIDE_RATIO = 3.0

# Bytes, at most: of a journal's line and a table's row besides their counts, and of a
# table besides its rows.
LINE_BYTES = 240
ROW_BYTES = 72
TABLE_BYTES = 2**14


@dataclass(frozen=True)
class Plan:
    """The expected cost of a certification.

    Attributes:
        samples, seconds: the samples and seconds of the run in one process like this
            one, from opening model and data on.
        workers: the seconds of the run on k workers, for each k that was asked for.
        rules: the samples and seconds of the run under this rule and others.
        pilot: the images of the pilot, the number of them whose samples are known,
            their samples and seconds, and the seed of the choice.
        about: data set, split, selection and settings, as in the header of the table, and
            these figures:

            - inputs: the word for several inputs: "images", or "rows" of features.
            - images: the number of images to certify.
            - start_seconds: the seconds until the first image: opening model and data,
              and trying the model out.
            - sample_seconds, image_seconds: the seconds that a sample takes, and an
              image besides its samples.
            - memory_bytes, device_memory_bytes: the memory of each process and each GPU
              so far; None where it is unknown or there is no GPU.
            - journal_bytes: the most bytes of the file OUT.parquet.partial, which is
              there while the run lasts.
            - table_bytes: the most bytes of the finished file. For a moment both files
              are there.
        notes: the notes on the run, and on facts that the forecast cannot know.

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
        """Return all of it as plain numbers and words."""
        figures = asdict(self)
        about = figures.pop("about")
        figures["notes"] = [str(note) for note in self.notes]
        return {**about, **figures, "versions": versions()}


def plan(
    run: RunSpec | OpenRun,
    *,
    workers: Sequence[int] = (),
    seconds: float = 30.0,
    seed: int = 0,
    progress: Progress | bool | None = None,
    radius: float | None = None,
) -> Plan:
    """Forecast what a certification will take, from a pilot on images chosen by chance.

    The pilot goes on until 95% limits of the mean samples of an image lie within a tenth of
    it, or time is up. The limits of `samples` hold with probability 95% whenever the pilot
    stops (see `bounds.finite_mean_interval`), rules that take few samples of most images
    and all of some included. Those of time add how much the speed varied. Other rules are
    replayed on p_A as far as the pilot knows it, so that their limits are no guarantee.

    Args:
        run: the run to certify; it is opened here, unless it is open.
        workers: the numbers of workers, each like this process, to forecast the time
            for.
        seconds: the time after which no image of the pilot is begun. The model and the
            data are opened before.
        seed: the seed of the choice of images.
        progress: the display of progress, as in `certify`.
        radius: the radius of the rule for one radius, which is among the other rules;
            by default sigma.

    Raises:
        Problem: what `certify` refuses, no time, or no workers.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> spec = RunSpec.of(model, "digits", sigma=0.5, n=1000, take=10)
        >>> planned = plan(spec, seconds=0.2, workers=[4])
        >>> planned.samples.middle, planned.rules["fixed"]["samples"].middle
        (11000.0, 11000.0)
        >>> [*planned.workers]
        [4]
    """
    _check_asked(seconds, workers)
    began = time.perf_counter()
    opened = open_run(run)
    pilot = Pilot(opened, seconds, seed)
    start_seconds = pilot.start - began
    pilot.run(chosen_progress(progress))

    rng = np.random.default_rng(seed)
    samples = _samples(pilot, rng)
    rules = _rivals(pilot, rng, radius)
    rules[pilot.header.rule] = samples
    images = len(pilot.order)
    known = len(pilot.known())
    notes = notes_of(opened).notes
    if pilot.high > WIDE_RATIO * pilot.low:
        notes = (
            *notes,
            Note("wide_limits", known=known, inputs=opened.images.spec.inputs),
        )
    return Plan(
        samples=samples,
        seconds=pilot.time_of(samples, start_seconds),
        workers={
            number: pilot.time_of(samples, start_seconds, min(number, images))
            for number in workers
        },
        rules={
            rule: {"samples": span, "seconds": pilot.time_of(span, start_seconds)}
            for rule, span in rules.items()
        },
        pilot={
            "seconds": pilot.pace.seconds,
            "samples": pilot.pace.sampled,
            "images": len(pilot.images),
            "known": known,
            "seed": seed,
        },
        about=_about(pilot, start_seconds),
        notes=notes,
    )


def _check_asked(seconds: float, workers: Sequence[int]) -> None:
    """Raise BadValue for no time, or for no workers."""
    if not 0.0 < seconds < math.inf:
        raise BadValue(
            field="seconds",
            value=seconds,
            expected="must be a time above 0 for the pilot; 30 is usual",
        )
    for number in workers:
        if number < 1:
            raise BadValue(
                field="workers",
                value=number,
                expected="must be a whole number from 1",
            )


def _samples(pilot: Pilot, rng: np.random.Generator) -> Span:
    """Return how many samples the run will take.

    Images of which the samples are not known are drawn to their ends by chance.
    """
    samples = []
    for image in pilot.images:
        if image.samples is None:
            rest = _replayed(pilot.rule, image, image.path, rng, FEWEST_IMAGES)
            samples.append(pilot.n0 + rest.mean())
        else:
            samples.append(image.samples)
    mean = min(max(float(np.mean(samples)), pilot.low), pilot.high)
    images = len(pilot.order)
    return Span(mean * images, pilot.low * images, pilot.high * images)


def _about(pilot: Pilot, start_seconds: float) -> dict[str, Any]:
    """Return the content of `Plan.about`."""
    facts = {name: getattr(pilot.header, name) for name in REPEATED_FACTS}
    gpu_bytes = None
    if torch.cuda.is_initialized():
        gpu_bytes = torch.cuda.max_memory_reserved()
    return {
        **facts,
        "inputs": pilot.images_of_run.spec.inputs,
        "images": len(pilot.order),
        "start_seconds": start_seconds,
        "sample_seconds": pilot.pace.sample_seconds,
        "image_seconds": pilot.pace.image_seconds,
        "memory_bytes": _peak_memory(),
        "device_memory_bytes": gpu_bytes,
        **_disk_bytes(pilot),
    }


def _rivals(
    pilot: Pilot, rng: np.random.Generator, radius: float | None
) -> dict[str, Span]:
    """Return the samples of the run under other rules, of those that its settings allow.

    The pilot's images are drawn again.
    """
    noise = pilot.header.known_noise()
    if noise.counts_words:
        # Other rules look for radii, in which texts differ.
        return {}
    if not radius:
        # Sigma, or what is as easily proved.
        provable = min(noise.scale, float(noise.radius(Q_OF_ONE_SIGMA)))
        radius = float(f"{provable:.3g}")
    spans = {}
    for name in (*RIVAL_RULES, f"radius={radius:g}"):
        # Such as a rule that needs samples to pick the class, where this one needs none.
        with suppress(Problem):
            settings = pilot.header.settings.replace(
                rule=name, bound=CONFIDENCE_BOUNDS[0]
            )
            spans[name] = _samples_under(settings.stopping_rule(), pilot, rng)
    return spans


def _samples_under(rule: Rule, pilot: Pilot, rng: np.random.Generator) -> Span:
    """Return the samples of the run under another rule."""
    times = math.ceil(REPLAYED_IMAGES / len(pilot.images))
    replays = [_replayed(rule, image, [], rng, times) for image in pilot.images]
    # (images, times)
    samples = pilot.n0 + np.stack(replays)
    images = len(pilot.order)
    # The variance of the choice of images, and that of the run itself.
    of_choice = samples.mean(axis=1).var() / len(samples)
    of_run = samples.var() / images
    mean = float(samples.mean())
    reach = STANDARD_ERRORS * float(np.sqrt(of_choice + of_run))
    low = max(pilot.n0, mean - reach)
    high = min(pilot.n0 + rule.n, mean + reach)
    return Span(images * mean, images * low, images * high)


def _replayed(
    rule: Rule,
    image: PilotImage,
    path: Sequence[int],
    rng: np.random.Generator,
    times: int,
) -> Ints:
    """Return (times,) how many samples of an image are drawn in all after `path`.

    p_A is drawn from Jeffreys' posterior.
    """
    successes = image.successes
    failures = image.drawn - successes
    ends = []
    for p in rng.beta(0.5 + successes, 0.5 + failures, times):
        looks = list(path)
        end = rule.samples(path)
        while image.drawn and (look := rule.next_look(looks)) is not None:
            before = looks[-1] if looks else 0
            looks.append(before + int(rng.binomial(look - end, p)))
            end = look
        ends.append(end)
    return np.array(ends)


def _disk_bytes(pilot: Pilot) -> dict[str, int]:
    """Return the bytes on the disk, at most.

    That is as if every image took n samples, at all looks of the pilot's longest path.
    """
    images = len(pilot.order)
    head = len(pilot.header.model_dump_json())
    looks = max(len(image.path) for image in pilot.images) + 1
    numbers = 2 * pilot.engine.classes + looks
    digits = len(str(pilot.rule.n)) + 1
    return {
        "journal_bytes": head + images * (LINE_BYTES + numbers * digits),
        "table_bytes": head + TABLE_BYTES + images * (ROW_BYTES + 8 * numbers),
    }


def _peak_memory() -> int | None:
    """Return the most bytes that this process has held so far.

    The answer is None on Windows, which does not tell.
    """
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, Linux kilobytes.
    return peak if sys.platform == "darwin" else peak * 1024
