"""What a certification, a sweep or a reproduction will take, as `plan` and `--plan` print it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.certification import WhatToCertify, check_names, run_of
from randsmooth.cli.messages import say_lines
from randsmooth.escape import say, to_json
from randsmooth.progress import clock

if TYPE_CHECKING:
    from randsmooth.launch import Plan, Span, Step

SUPPOSED = (
    "measured: each network on a few images here, in float32, with random weights; supposed: one step after the other, "
    "every epoch at the method's full strength, all samples of every image (a rule that stops early takes fewer)"
)


def show_plan(settings: WhatToCertify, format: str = "text", **asked: Any) -> None:
    """Print the plan of a certification, in words or as JSON alone; `asked` is what `launch.plan` is told."""
    check_names(settings, settings.backend, settings.shard)
    from randsmooth.launch import plan

    found = plan(run_of(settings), **asked)
    if format == "json":
        say(to_json({"model": settings.model, **found.to_dict()}, indent=1))
    else:
        say_lines(plan_lines(found))


def plan_lines(plan: Plan) -> Iterator[str]:
    """The plan for a person to read."""
    about, samples, pilot = plan.about, plan.samples, plan.pilot
    title = f"{about['dataset']} {about['split']}, {about['selection']}, rule {about['rule']}, n = {about['n']:,}"
    yield from (f"{title}: {about['images']:,} images", "")
    yield f"samples     {_span(samples, count)}; {samples.middle / about['images']:,.0f} an image"
    yield f"time here   {_span(plan.seconds, clock)}; {clock(about['start_seconds'])} of it to begin"
    for k, seconds in plan.workers.items():
        yield f"{f'{k} worker' + 's' * (k != 1):11} {_span(seconds, clock)}; each as fast as this process"
    held = {"a process": about["memory_bytes"], "of each GPU": about["device_memory_bytes"]}
    yield f"memory      {'; '.join(f'{size / 1e6:,.0f} MB {of}' for of, size in held.items() if size) or 'unknown'}"
    yield f"disk        {about['table_bytes'] / 1e6:.1f} MB; {about['journal_bytes'] / 1e6:.1f} MB more while it runs"
    yield from ("", f"{'rule':18} {'samples (95% limits)':30} {'time here':>12} {'of fixed':>9}")
    fixed = plan.rules.get("fixed", plan.rules[about["rule"]])["samples"].middle
    for rule, found in sorted(plan.rules.items(), key=lambda item: -item[1]["samples"].middle):
        took, mark = clock(found["seconds"].middle), " <- asked for" if rule == about["rule"] else ""
        share = found["samples"].middle / fixed
        yield f"{rule:18} {_span(found['samples'], count):30} {took:>12} {share:>9.1%}{mark}"
    cut = pilot["images"] - pilot["known"]
    chosen = f"{pilot['images']:,} images that chance chose (seed {pilot['seed']}){f', {cut} cut short' if cut else ''}"
    speed = f"{1.0 / max(about['sample_seconds'], 1e-9):,.0f} samples a second"
    yield from ("", f"from {chosen}: {pilot['samples']:,} samples in {clock(pilot['seconds'])}, {speed}")
    yield from (f"note: {note}" for note in plan.notes)


def _span(span: Span, words: Callable[[float], str]) -> str:
    limits = f"({words(span.low)} to {words(span.high)})" if span.low < span.high else "(exact)"
    return f"{words(span.middle)} {limits}"


def steps_plan(steps: Iterable[Step], workers: int = 1) -> Iterator[str]:
    """The lines of a plan: each step that is not done, and all together."""
    from randsmooth.launch.forecast import plan_steps

    planned = plan_steps(step for step in steps if not step.is_done())
    width = max(map(len, planned.steps), default=0)
    yield from (f"{name:{width}}  {clock(seconds)}" for name, seconds in planned.steps.items())
    training, certification, together = map(clock, planned.sums)
    shared = f"; on {workers} workers like this machine {clock(planned.on_workers(workers))}" if workers > 1 else ""
    yield from ("", f"training {training}, certification {certification}", f"together {together}{shared}")
    if planned.unknown:
        yield f"not foretold: {', '.join(planned.unknown)}"
    yield SUPPOSED


def objects_plan(scale: str) -> Iterator[str]:
    """A line for each table and figure of the papers: the hours of all that it needs, made from nothing."""
    from randsmooth.launch.forecast import plan_steps
    from randsmooth.papers.context import SCALES, Context
    from randsmooth.papers.published_values import OBJECTS
    from randsmooth.papers.reproduction import steps_for_rows

    nowhere, every = Context((), SCALES[scale], Path("reproduced") / scale), dict[str, "Step"]()
    yield f"{'object':18} {'models':>6} {'training':>14} {'certification':>14} {'together':>14}"
    for thing in OBJECTS:
        steps = {step.name: step for step in steps_for_rows(thing.rows(), nowhere)}
        every |= steps
        planned = plan_steps(steps.values())
        yield f"{thing.name:18} {len(planned.training):>6} {' '.join(f'{clock(took):>14}' for took in planned.sums)}"
    yield f"all, each model once: {clock(plan_steps(every.values()).sums[-1])} at scale {scale}"
    yield SUPPOSED


def count(number: float) -> str:
    """A number with three digits.

    Example:
        >>> count(950), count(3_163_333), count(2.5e9)
        ('950', '3.16M', '2.50G')
    """
    place = min(4, (len(f"{number:.0f}") - 1) // 3)
    value = number / 1000**place
    return f"{value:.{(3 - len(str(int(value)))) if place else 0}f}{' kMGT'[place]}".rstrip()
