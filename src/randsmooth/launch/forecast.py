"""What a certification will take: samples, time, memory and disk, known before it is started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from randsmooth.certificates import CONFIDENCE_BOUNDS, CertificationSettings, Header, rule_of
from randsmooth.certification.order import Order
from randsmooth.certification.prepared import Prepared
from randsmooth.errors import InputError
from randsmooth.launch.pilot import Pilot, fly
from randsmooth.launch.replay import Replay
from randsmooth.launch.span import Span
from randsmooth.launch.usage import Usage, usage_of
from randsmooth.progress import Progress, chosen_progress
from randsmooth.versions import versions

RIVALS = ("fixed", "tolerance=0.05", "grid")  # and one radius, sigma: what is compared with the rule that was asked for
USUAL_N0 = int(CertificationSettings.model_fields["n0"].default)
WIDE = 3.0  # high over low, from which on a note says how to narrow the limits


@dataclass(frozen=True)
class Plan:
    """What a certification is expected to take.

    Attributes:
        header: of the run: model, data set, settings.
        images: how many are to be certified.
        pilot: the images that were certified to know.
        start: seconds until the first image: opening model and data, and trying the model out.
        samples: of the run.
        seconds: of the run in one process like this one, with `start`.
        on_workers: the same on k workers, for each k that was asked for.
        rules: samples of the run under other rules.
        usage: memory and disk.
        notes: on the run, and on what the forecast cannot know.

    Example:
        >>> from torch import nn
        >>> from randsmooth.certificates import CertificationSettings
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> order = Order(model=model, dataset="digits", settings=CertificationSettings(sigma=0.5, n=1000), take=10)
        >>> planned: Plan = plan(order, seconds=0.2)
        >>> planned.images, planned.samples.middle, planned.to_dict()["rule"]
        (10, 11000.0, 'fixed')
    """

    header: Header
    images: int
    pilot: Pilot
    pilot_seed: int
    start: float
    samples: Span
    seconds: Span
    on_workers: dict[int, Span]
    rules: dict[str, Span]
    usage: Usage
    notes: tuple[str, ...] = ()

    def seconds_of(self, samples: Span) -> Span:
        """The time of the run in one process, if it took so many samples."""
        return self.pilot.time_of(samples, self.images).plus(Span(self.start, self.start, self.start))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and words."""
        header, pilot = self.header, self.pilot
        asked = {name: getattr(header, name) for name in ("dataset", "split", "selection", "rule", "sigma", "n0", "n")}
        return {
            **asked,
            "alpha": header.alpha,
            "images": self.images,
            "samples": self.samples._asdict(),
            "seconds": self.seconds._asdict(),
            "workers": {str(k): span._asdict() for k, span in self.on_workers.items()},
            "start_seconds": self.start,
            "sample_seconds": pilot.sample_seconds,
            "image_seconds": pilot.image_seconds,
            "rules": {
                rule: {"samples": span._asdict(), "seconds": self.seconds_of(span)._asdict()}
                for rule, span in self.rules.items()
            },
            "memory_bytes": self.usage.memory,
            "device_memory_bytes": self.usage.device_memory,
            "journal_bytes": self.usage.journal,
            "table_bytes": self.usage.table,
            "pilot": {
                "images": len(pilot.images),
                "known": sum(image.samples is not None for image in pilot.images),
                "samples": pilot.sampled,
                "seconds": pilot.seconds,
                "seed": self.pilot_seed,
            },
            "device": header.device,
            "backend": header.backend,
            "versions": versions(),
            "notes": list(self.notes),
        }


def plan(
    order: Order,
    *,
    workers: Sequence[int] = (),
    seconds: float = 30.0,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Plan:
    """What the certification `order` will take, from a pilot on images that are chosen by chance.

    The pilot goes on until 95% limits of the mean samples of an image lie within a tenth of it, or time is up. The
    limits of `samples` hold with probability 95% whenever the pilot stops (see `bounds.finite_mean_interval`), rules
    that take few samples of most images and all of some included. Those of time add how much the speed varied. Other
    rules are replayed on p_A as far as the pilot knows it, so that their limits are no guarantee.

    Args:
        order: what to certify.
        workers: numbers of workers, each like this process, to say the time for.
        seconds: no image of the pilot is begun later. The model and the data are opened before.
        seed: of the choice of images.
        progress: as in `certify`.

    Raises:
        InputError: what `certify` refuses, no time, or no workers.

    Example:
        >>> from torch import nn
        >>> from randsmooth.certificates import CertificationSettings
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> order = Order(model=model, dataset="digits", settings=CertificationSettings(sigma=0.5, n=1000), take=10)
        >>> planned = plan(order, seconds=0.2, workers=[4])
        >>> planned.samples.middle, planned.rules["fixed"].middle, [*planned.on_workers]
        (11000.0, 11000.0, [4])
    """
    if not seconds > 0.0:
        raise InputError(f"seconds={seconds!r} must be a time above 0 for the pilot; 30 is usual")
    for k in workers:
        if k < 1:
            raise InputError(f"workers={k} must be a whole number from 1")
    start = time.perf_counter()
    prepared = order.prepare()
    start = time.perf_counter() - start
    many = len(prepared.facts.indices)
    if not many:
        raise InputError("there are no images to certify, so there is nothing to plan")
    with chosen_progress(progress)("pilot", many, "images") as reporter:
        pilot = fly(prepared, seconds=seconds, seed=seed, reporter=reporter)
    return _planned(prepared, pilot, start, seed, workers)


def _planned(prepared: Prepared, pilot: Pilot, start: float, seed: int, workers: Sequence[int]) -> Plan:
    header, many = prepared.facts.header, len(prepared.facts.indices)
    rule, replay = rule_of(header), Replay(pilot.images, seed)
    taken = [float(i.samples) if i.samples is not None else replay.rest(rule, i) for i in pilot.images]
    mean = min(max(float(np.mean(taken)), pilot.low), pilot.high)
    samples = Span(mean, pilot.low, pilot.high).times(many)
    rules = _rivals(header, replay, many) | {header.rule: Span(mean, pilot.low, pilot.high)}
    begin = Span(start, start, start)
    alone = pilot.time_of(samples, many)
    known = sum(image.samples is not None for image in pilot.images)
    notes = [*prepared.facts.notes]
    if pilot.high > WIDE * pilot.low:
        notes.append(f"the limits are wide: the pilot knows the samples of {known} images; give it more seconds")
    return Plan(
        header,
        many,
        pilot,
        seed,
        start,
        samples,
        alone.plus(begin),
        {k: _shared(alone, pilot, rule.n, min(k, many)).plus(begin) for k in workers},
        {name: span.times(many) for name, span in rules.items()},
        usage_of(header, many, taken, pilot),
        tuple(notes),
    )


def _shared(alone: Span, pilot: Pilot, n: int, k: int) -> Span:
    """The time of k workers: at the end all wait for the slowest, whose last image may take all of its samples."""
    last = pilot.sample_seconds * n * (k > 1)
    mean = alone.middle / pilot.total * (k > 1)
    shared = alone.times(1.0 / k)
    return Span(shared.middle + mean, shared.low, shared.high + last)


def _rivals(header: Header, replay: Replay, many: int) -> dict[str, Span]:
    """Mean samples of an image under other rules, for those that the budget allows."""
    found = {}
    for text in (*RIVALS, f"radius={header.sigma:g}"):
        for n0 in (header.n0 or 0, USUAL_N0):  # a rule may need samples to pick the class where this one needs none
            try:
                rule = header.settings.having(rule=text, bound=CONFIDENCE_BOUNDS[0], n0=n0).stopping_rule()
            except InputError:
                continue  # such as a tolerance that so few samples cannot keep
            found[text] = replay.of_rule(rule, many, n0)
            break
    return found
