"""A plan for a person to read."""

from __future__ import annotations

from randsmooth.launch.forecast import Plan
from randsmooth.launch.span import Span

UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def plan_text(plan: Plan) -> str:
    """The plan as lines.

    Example:
        >>> from torch import nn
        >>> from randsmooth.certificates import CertificationSettings
        >>> from randsmooth.certification import Order
        >>> from randsmooth.launch import plan
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> order = Order(model=model, dataset="digits", settings=CertificationSettings(sigma=0.5, n=1000), take=10)
        >>> print(plan_text(plan(order, seconds=0.2)).splitlines()[0])
        digits test, take 10 of 364, rule fixed, n = 1,000: 10 images
    """
    header, usage = plan.header, plan.usage
    title = f"{header.dataset} {header.split}, {header.selection}, rule {header.rule}, n = {header.n:,}"
    lines = [f"{title}: {plan.images:,} images", ""]
    lines += [_line("samples", _samples(plan.samples), f"{plan.samples.middle / plan.images:,.0f} an image")]
    lines += [_line("time here", _times(plan.seconds), f"{duration(plan.start)} of it to begin")]
    lines += [
        _line(f"{k} worker{'s' * (k != 1)}", _times(span), "each as fast as this process")
        for k, span in plan.on_workers.items()
    ]
    device = [] if usage.device_memory is None else [f"{size(usage.device_memory)} of each GPU"]
    lines += [_line("memory", "; ".join([f"{size(usage.memory)} a process", *device]))]
    lines += [_line("disk", f"{size(usage.table)}; {size(usage.journal)} more while it runs"), ""]
    return "\n".join([*lines, *_rules(plan), "", *_pilot(plan), *(f"note: {note}" for note in plan.notes)])


def _line(name: str, *parts: str) -> str:
    return f"{name:11} {'; '.join(parts)}"


def _rules(plan: Plan) -> list[str]:
    """A line a rule, with its samples and time as shares of those of "fixed"."""
    fixed = plan.rules["fixed"].middle if "fixed" in plan.rules else plan.samples.middle
    lines = [f"{'rule':18} {'samples':>9} {'(95% limits)':20} {'time here':>12} {'of fixed':>9}"]
    for rule, span in sorted(plan.rules.items(), key=lambda item: -item[1].middle):
        mark = " <- asked for" if rule == plan.header.rule else ""
        limits = f"({count(span.low)} to {count(span.high)})" if span.low < span.high else "(exact)"
        took = duration(plan.seconds_of(span).middle)
        lines.append(f"{rule:18} {count(span.middle):>9} {limits:20} {took:>12} {span.middle / fixed:>9.1%}{mark}")
    return lines


def _pilot(plan: Plan) -> list[str]:
    pilot = plan.pilot
    unknown = sum(image.samples is None for image in pilot.images)
    cut = f", {unknown} of them cut short" if unknown else ""
    speed = f"{1.0 / pilot.sample_seconds:,.0f} samples a second" if pilot.sample_seconds else "no time at all"
    return [
        f"from {len(pilot.images):,} images that chance chose (seed {plan.pilot_seed}){cut}: "
        f"{pilot.sampled:,} samples in {duration(pilot.seconds)}, {speed}"
    ]


def _samples(span: Span) -> str:
    if span.low == span.high:
        return f"{count(span.middle)} (exact)"
    return f"{count(span.middle)} ({count(span.low)} to {count(span.high)})"


def _times(span: Span) -> str:
    return f"{duration(span.middle)} ({duration(span.low)} to {duration(span.high)})"


def count(number: float) -> str:
    """A number of samples with three digits.

    Example:
        >>> count(950), count(3_163_333), count(2.5e9)
        ('950', '3.16M', '2.50G')
    """
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            digits = 2 if number < 10 * factor else 1 if number < 100 * factor else 0
            return f"{number / factor:.{digits}f}{letter}"
    return f"{number:.0f}"


def duration(seconds: float) -> str:
    """A time in its two largest units.

    Example:
        >>> duration(4.2), duration(315), duration(100_000)
        ('4.2 s', '5 min 15 s', '1 d 4 h')
    """
    if seconds < 60.0:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    place = next(i for i, (length, _) in enumerate(UNITS) if seconds >= length)
    (large, name), (small, other) = UNITS[place], UNITS[place + 1]
    parts = round(seconds / small)
    per = round(large / small)
    return f"{parts // per} {name}" + (f" {parts % per} {other}" if parts % per else "")


def size(number: int) -> str:
    """Bytes in units of a thousand.

    Example:
        >>> size(512), size(2_500_000)
        ('1 kB', '2.5 MB')
    """
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{max(1, round(number / 1e3))} kB"
