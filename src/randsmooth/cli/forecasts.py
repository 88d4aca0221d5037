"""The lines of a plan of a certification: samples, time, memory, disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from randsmooth import launch
from randsmooth.cli.options import Answered
from randsmooth.cli.output import note
from randsmooth.cli.what_to_certify import WhatToCertify
from randsmooth.errors import article
from randsmooth.progress import clock, terminal_width
from randsmooth.report.layouts import fitted

# Letters behind a number: thousands, millions, ...
MAGNITUDES = ("", "k", "M", "G", "T")

# The least time of a sample, in seconds, by which a speed is divided.
LEAST_SECONDS = 1e-9


class Planned(Answered, WhatToCertify):
    """Settings of a verb that can say what a certification will take."""

    def answer_plan(self, **asked: Any) -> None:
        """Print what the certification takes.

        Args:
            asked: the keywords of `launch.plan`, such as the numbers of workers.
        """
        self.check(self.backend, self.shard)
        plan = launch.plan(self.spec(), **asked)
        self.answer(plan_lines(plan), lambda: {"model": self.model, **plan.to_dict()})
        for remark in plan.notes:
            note(remark)


def plan_lines(plan: launch.Plan) -> Iterator[str]:
    """Yield the lines of the plan of a certification for a person to read."""
    about = plan.about
    yield (
        f"{about['dataset']} {about['split']}, {about['selection']}, "
        f"rule {about['rule']}, n = {about['n']:,}: {about['images']:,} "
        f"{about['inputs']}"
    )
    yield ""
    samples_of_one = plan.samples.middle / about["images"]
    # "an image", or "a row" where the inputs are features.
    an_input = article(about["inputs"].removesuffix("s"))
    yield f"samples     {span(plan.samples, count)}; {samples_of_one:,.0f} {an_input}"
    start = clock(about["start_seconds"])
    yield f"time here   {span(plan.seconds, clock)}; {start} of it to begin"
    for number, seconds in plan.workers.items():
        name = f"{number} worker" if number == 1 else f"{number} workers"
        yield f"{name:11} {span(seconds, clock)}; each as fast as this process"
    yield f"memory      {memory_of(about)}"
    table = about["table_bytes"] / 1e6
    journal = about["journal_bytes"] / 1e6
    yield f"disk        {table:.1f} MB; {journal:.1f} MB more while it runs"
    yield ""
    yield from rule_lines(plan)
    yield ""
    yield pilot_line(plan)


def memory_of(about: dict[str, Any]) -> str:
    """Return how much memory each process and each GPU has used."""
    sizes = {
        "a process": about["memory_bytes"],
        "of each GPU": about["device_memory_bytes"],
    }
    # A size is None where it is unknown, or where there is no GPU.
    known = [f"{size / 1e6:,.0f} MB {owner}" for owner, size in sizes.items() if size]
    return "; ".join(known) or "unknown"


def rule_lines(plan: launch.Plan) -> Iterator[str]:
    """Yield the lines of a table of the cost of each rule, the dearest first."""
    asked = plan.about["rule"]
    # Some bounds are for one rule alone: where `fixed` is not among the rules, the rule
    # asked for is the 100%.
    whole = "fixed" if "fixed" in plan.rules else asked
    samples_of_whole = plan.rules[whole]["samples"].middle
    dearest_first = sorted(
        plan.rules.items(), key=lambda item: -item[1]["samples"].middle
    )
    rows = [["rule", "samples (95% limits)", "time here", f"of {whole}"]]
    for rule, costs in dearest_first:
        samples = costs["samples"]
        rows.append(
            [
                f"{rule} <- asked for" if rule == asked else rule,
                span(samples, count),
                clock(costs["seconds"].middle),
                f"{samples.middle / samples_of_whole:.1%}",
            ]
        )
    # Samples stand with their limits: they are not set to the right as figures are.
    are_figures = [False, False, True, True]
    yield from fitted(rows, terminal_width(), are_figures)


def pilot_line(plan: launch.Plan) -> str:
    """Return on how many inputs and samples a plan rests, and the measured speed."""
    pilot = plan.pilot
    chosen = (
        f"{pilot['images']:,} {plan.about['inputs']} that chance chose (seed "
        f"{pilot['seed']})"
    )
    # The pilot ended before the numbers of their samples were known.
    cut_short = pilot["images"] - pilot["known"]
    if cut_short:
        chosen += f", {cut_short} cut short"
    speed = 1.0 / max(plan.about["sample_seconds"], LEAST_SECONDS)
    return (
        f"from {chosen}: {pilot['samples']:,} samples in {clock(pilot['seconds'])}, "
        f"{speed:,.0f} samples a second"
    )


def span(values: launch.Span, words: Callable[[float], str]) -> str:
    """Return a value with its 95% limits, each as `words` writes it.

    A value whose limits are equal is exact.
    """
    limits = "exact"
    if values.low < values.high:
        limits = f"{words(values.low)} to {words(values.high)}"
    return f"{words(values.middle)} ({limits})"


def count(number: float) -> str:
    """Return a number with three digits and the letter of its magnitude.

    Example:
        >>> count(950), count(3_163_333), count(2.5e9)
        ('950', '3.16M', '2.50G')
    """
    digits = len(f"{number:.0f}")
    magnitude = min(len(MAGNITUDES) - 1, (digits - 1) // 3)
    if magnitude == 0:
        return f"{number:.0f}"
    value = number / 1000**magnitude
    # Three digits in all, those before the point included.
    decimals = 3 - len(str(int(value)))
    return f"{value:.{decimals}f}{MAGNITUDES[magnitude]}"
