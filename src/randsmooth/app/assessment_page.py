"""The page on a model that was assessed: first for the person who decides, then its figures."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.app.assessing import PILOT_N, PLAN_N, Assessment
from randsmooth.app.page import filled, in_norm, said, ticks, unit_of_features
from randsmooth.atomic import write_atomically
from randsmooth.bounds import most_failures
from randsmooth.certificates import write_parquet
from randsmooth.certification.run_notes import HARDLY_BETTER
from randsmooth.escape import printable, shortened
from randsmooth.metrics import Estimate
from randsmooth.noise import printed_radius
from randsmooth.report import Axes, Line, draw
from randsmooth.report.charts import BASELINE, PALETTE, Look

FILES = PAGE, FIGURE, TABLE = (
    "assessment.html",
    "assessment.png",
    "certificates.parquet",
)
POINTS = 200  # of each curve
SHOWN = 5  # features of the nearest change, those that move most
RHO = 0.001  # probability with which more certificates may be false than is said
TONES = (
    "clean",
    "asked",
    "proved",
    "attacked",
)  # of the lines of the figure, as the style sheet has them
ALIKE = 0.9  # share of the answers
COSTS, LOST = (
    0.1,
    0.5,
)  # shares of the clean accuracy: what noise may cost, and what says that it was not learnt


def assessment_page(
    found: Assessment, *, command: str | None = None, predict: str | None = None
) -> str:
    """The page as HTML with everything inlined; arguments as of `write_assessment`."""
    header, n = found.table.header, len(found.table)
    content: dict[str, Any] = {
        "found": found,
        "n": n,
        "command": command,
        "predict": predict,
        "at": (found.reach / 2, found.reach),
    }
    name, dataset = (
        shortened(printable(str(each)), 60) for each in (found.name, header.dataset)
    )
    content |= {
        "name": name,
        "dataset": dataset,
        "values": math.prod(found.shape),
        "advice": advice(found),
    }
    content |= {
        "chart": _in_percent(figure(found)),
        "most_false": most_failures(n, header.alpha or 0.0, RHO),
    }
    content |= {
        "attacked": _attacked(found),
        "notes": [("note", note) for note in found.notes],
    }
    return filled(
        "assessment.html.j2", percent=percent, pilot_n=PILOT_N, plan_n=PLAN_N, **content
    )


def write_assessment(
    found: Assessment,
    folder: Path | str,
    *,
    command: str | None = None,
    predict: str | None = None,
) -> None:
    """Write the page, its figure as a PNG and the certificates into `folder`, each all or nothing.

    The page shows `command`, which made it, and `predict`, which answers a new image in the same way.

    Example:
        >>> import tempfile
        >>> import randsmooth as rs
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> found = rs.assess(model, "digits", sigmas=[0.25], take=20, n=200)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_assessment(found, folder)
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['assessment.html', 'assessment.png', 'certificates.parquet']
    """
    folder = Path(folder)
    write_atomically(
        folder / PAGE, assessment_page(found, command=command, predict=predict).encode()
    )
    draw([figure(found)], folder / FIGURE)
    write_parquet(found.table, folder / TABLE)


def percent(estimate: Estimate | float) -> str:
    """A share in whole percent, of which only all is 100% and only none is 0%.

    Example:
        >>> percent(0.974), percent(0.9996), percent(0.001), percent(1.0)
        ('97%', '>99%', '<1%', '100%')
    """
    value = estimate.value if isinstance(estimate, Estimate) else estimate
    return (
        "<1%"
        if 0.0 < value < 0.005
        else ">99%"
        if 0.995 <= value < 1.0
        else f"{value:.0%}"
    )


def advice(found: Assessment) -> str:
    """What stands in the way: "guesses", "one class" for all, "unlearnt" (the noise), "costly", or "" for nothing."""
    clean, voted = found.clean.value, found.certified[0.0].value
    if clean <= found.guess + HARDLY_BETTER * (1.0 - found.guess):
        return "guesses"
    picked = np.bincount(found.table.predict[found.table.predict >= 0], minlength=1)
    if (
        picked.max() > ALIKE * picked.sum()
        and (found.table.label == picked.argmax()).mean() < 0.5
    ):
        return "one class"
    if voted < (1.0 - LOST) * clean:
        return "unlearnt"
    return (
        "costly"
        if min(voted, found.chosen.accuracy.value) < (1.0 - COSTS) * clean
        else ""
    )


def figure(found: Assessment) -> Axes:
    """Clean accuracy, accuracy under noise, certified accuracy by radius, and what the attacks left, in percent."""
    table, changed = found.table, found.changed
    far = float(np.max(table.radius * table.correct, initial=found.radius))
    marked = [_mark(found)[0]] if len(found.attempts) == 1 else []
    end = 1.1 * min(max([far, *changed.values(), *marked]), 3.0 * far)
    x = np.linspace(0.0, end, POINTS)
    shares = metrics.certified_shares(table, x)
    low, high = metrics.share_interval(np.round(shares * len(table)), len(table))
    high = np.where(
        x > metrics.farthest(table), 0.0, high
    )  # beyond what so many samples can certify
    ends, (alone, noisy) = (
        np.array([0.0, end]),
        ([100.0 * e.value] * 2 for e in (found.clean, found.chosen.accuracy)),
    )
    band: dict[str, Any] = {"low": 100.0 * low, "high": 100.0 * high}
    few = (
        f" (by {found.chosen.n:,} samples, to {printed_radius(found.chosen.farthest)})"
        if found.reach < found.radius
        else ""
    )
    once = f"once under {said(found.noise)}: {percent(found.chosen.accuracy)}"
    model = "model" if found.features else "network"
    lines = [
        Line(
            f"{model} alone: {percent(found.clean)}",
            ends,
            alone,
            look=Look(BASELINE, "dash"),
        ),
        Line(once, ends, noisy, look=Look(PALETTE[4], "dot")),
        Line(
            f"right and certified{few}",
            x,
            100.0 * shares,
            "step",
            look=Look(PALETTE[0], "solid"),
            **band,
        ),
    ]
    if found.attempts:
        lines.append(_under_attack(found, x, shares[0]))
    across = f"{in_norm(found.noise)} norm of the change"
    if found.features:
        across = f"change ({unit_of_features(found.noise)})"
    return Axes(
        f"{found.name} on {table.header.dataset}",
        across,
        f"{found.inputs} (%)",
        lines,
        y_range=(0.0, 102.0),
        x_range=(0.0, end),
    )


def _under_attack(found: Assessment, x: NDArray[np.float64], right: float) -> Line:
    """What the attacks left of the share that is `right`, at the radii `x`; of one image alone a mark, and no curve."""
    look = Look(PALETTE[1], "solid")
    if len(found.attempts) == 1:
        distance, name = _mark(found)
        return Line(
            name,
            np.array([min(distance, x[-1])]),
            np.array([100.0 * right]),
            "points",
            look=look,
        )
    distances = np.array([found.changed.get(row, np.inf) for row in found.attempts])
    left = right * (distances[None] > x[:, None]).mean(axis=1)
    return Line(
        f"right under attack ({len(distances)})", x, 100.0 * left, "step", look=look
    )


def _mark(found: Assessment) -> tuple[float, str]:
    """Where the search around the only image that was attacked ended, and what it came to."""
    ((row, tried),) = found.attempts.items()
    if row in found.changed:
        distance = found.changed[row]
        return distance, f"one attacked: changed at {distance:.2f}"
    return (
        tried.farthest,
        f"one attacked: unchanged to {printed_radius(tried.farthest)}",
    )


def _in_percent(axes: Axes) -> dict[str, Any]:
    """The figure for a box of 100 by 100, with y downwards: points of lines and bands, and marks of both axes."""
    assert axes.x_range is not None
    end = axes.x_range[1]

    def points(x: Any, y: Any) -> str:
        return " ".join(
            f"{100.0 * a / end:.2f},{100.0 - b:.2f}" for a, b in zip(x, y, strict=True)
        )

    lines = []
    for line, tone in zip(axes.lines, TONES, strict=False):
        edge = (
            []
            if line.low is None or line.high is None
            else [*line.low, *reversed(line.high)]
        )
        band = points([*line.x, *reversed(line.x)], edge) if edge else ""
        dots = [
            (100.0 * a / end, 100.0 - b) for a, b in zip(line.x, line.y, strict=True)
        ]
        alone = line.kind == "points"
        curve = "" if alone else points(line.x, line.y)
        lines.append(
            {
                "name": line.name,
                "points": curve,
                "dots": dots if alone else [],
                "band": band,
                "tone": tone,
            }
        )
    marks = [(100.0 * value / end, text) for value, text in ticks(end)]
    return {
        "lines": lines,
        "x": marks,
        "y": [(100.0 - y, f"{y}") for y in range(0, 101, 25)],
        "across": axes.x,
    }


def _attacked(found: Assessment) -> dict[str, Any]:
    """How many searches changed answers, and the nearest change there was, with its row."""
    changed = found.changed
    if not changed:
        return {"changed": 0}
    row = min(changed, key=lambda each: changed[each])
    tried = found.attempts[row]
    best = (
        tried.inside if row in found.failed or tried.outside is None else tried.outside
    )
    facts = {
        "changed": len(changed),
        "row": row,
        "best": best,
        "radius": float(found.table.radius[row]),
    }
    return facts | {"moved": _moved(found, row, best.point) if found.features else []}


def _moved(
    found: Assessment, row: int, point: NDArray[np.float32]
) -> list[tuple[str, float, float]]:
    """The features that a change moves most, counted as its length is: each with its name, before and after."""
    before, after = found.pictures[row].ravel(), point.ravel()
    names = found.columns or tuple(f"feature {place}" for place in range(len(before)))
    held = getattr(found.table.header.smoothing, "held", ())
    free = [place for place in range(len(names)) if place not in held]
    unit = np.broadcast_to(
        getattr(found.noise, "unit", 1.0),
        found.shape if len(free) == len(names) else (len(free),),
    )
    order = np.argsort(-np.abs(after - before)[free] / unit.ravel(), kind="stable")[
        :SHOWN
    ]
    most = [free[place] for place in order.tolist()]
    return [(names[place], float(before[place]), float(after[place])) for place in most]
