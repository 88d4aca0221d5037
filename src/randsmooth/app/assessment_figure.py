"""The figure of an assessment: clean, noisy, certified and attacked accuracy."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import metrics
from randsmooth.app.assessment import Assessment
from randsmooth.app.drawing import ticks
from randsmooth.app.wording import (
    noise_words,
    norm_words,
    percent,
    unit_of_features,
)
from randsmooth.noise import printed_radius
from randsmooth.report import Axes, Line
from randsmooth.report.charts import BASELINE, PALETTE, Look

POINTS_OF_CURVE = 200
# How far the axis goes beyond what is on it, and at most beyond what is certified.
FREE_BEYOND = 1.1
MOST_BEYOND_CERTIFIED = 3.0
# Of the lines of the figure, as the style sheet has them.
TONES = ("clean", "asked", "proved", "attacked")
# Marks of the axis of accuracies, in percent.
PERCENTAGES = range(0, 101, 25)


def figure(assessment: Assessment) -> Axes:
    """Return the figure: accuracies in percent by the length of a change.

    They are clean accuracy, accuracy under noise, certified accuracy, and what the
    attacks left.
    """
    table = assessment.table
    end = _end_of_axis(assessment)
    x = np.linspace(0.0, end, POINTS_OF_CURVE)
    shares = metrics.certified_shares(table, x)
    lines = [*_without_radius(assessment, end), _certified(assessment, x, shares)]
    if assessment.attempts:
        lines.append(_under_attack(assessment, x, shares[0]))

    across = f"{norm_words(assessment.noise)} norm of the change"
    if assessment.features:
        across = f"change ({unit_of_features(assessment.noise)})"
    return Axes(
        f"{assessment.name} on {table.header.dataset}",
        across,
        f"{assessment.inputs} (%)",
        lines,
        # A little above 100, so that a line there is seen.
        y_range=(0.0, 102.0),
        x_range=(0.0, end),
    )


def _end_of_axis(assessment: Assessment) -> float:
    """Return where the axis ends: beyond all that is certified or changed."""
    table = assessment.table
    certified = np.max(table.radius * table.correct, initial=assessment.radius)
    lengths = [float(certified), *assessment.changed.values()]
    if len(assessment.attempts) == 1:
        distance, _ = _mark(assessment)
        lengths.append(distance)
    return FREE_BEYOND * min(max(lengths), MOST_BEYOND_CERTIFIED * float(certified))


def _without_radius(assessment: Assessment, end: float) -> list[Line]:
    """Return the lines that are level: accuracy without noise, and under it."""
    accuracy = assessment.chosen.accuracy
    network = "model" if assessment.features else "network"
    ends = np.array([0.0, end])
    return [
        Line(
            f"{network} alone: {percent(assessment.clean)}",
            ends,
            np.full(2, 100.0 * assessment.clean.value),
            look=Look(BASELINE, "dash"),
        ),
        Line(
            f"once under {noise_words(assessment.noise)}: {percent(accuracy)}",
            ends,
            np.full(2, 100.0 * accuracy.value),
            look=Look(PALETTE[4], "dot"),
        ),
    ]


def _certified(
    assessment: Assessment, x: NDArray[np.float64], shares: NDArray[np.float64]
) -> Line:
    """Return the curve of certified `shares` at the radii `x`, with its band."""
    table = assessment.table
    right = np.round(shares * len(table))
    low, high = metrics.share_interval(right, len(table))
    # Beyond what so many samples can certify.
    high = np.where(x > metrics.farthest(table), 0.0, high)
    name = "right and certified"
    if assessment.reach < assessment.radius:
        chosen = assessment.chosen
        name += f" (by {chosen.n:,} samples, to {printed_radius(chosen.farthest)})"
    return Line(
        name,
        x,
        100.0 * shares,
        "step",
        low=100.0 * low,
        high=100.0 * high,
        look=Look(PALETTE[0], "solid"),
    )


def _under_attack(assessment: Assessment, x: NDArray[np.float64], right: float) -> Line:
    """Return what the attacks left of the share that is `right`, at the radii `x`.

    Of one image alone it is a mark, and no curve.
    """
    look = Look(PALETTE[1], "solid")
    if len(assessment.attempts) == 1:
        distance, name = _mark(assessment)
        place = np.array([min(distance, x[-1])])
        return Line(name, place, np.array([100.0 * right]), "points", look=look)
    changed = assessment.changed
    distances = np.array([changed.get(row, np.inf) for row in assessment.attempts])
    left = right * (distances[None] > x[:, None]).mean(axis=1)
    name = f"right under attack ({len(distances)})"
    return Line(name, x, 100.0 * left, "step", look=look)


def _mark(assessment: Assessment) -> tuple[float, str]:
    """Return where the search around the only attacked image ended, and its words."""
    ((row, attempts),) = assessment.attempts.items()
    if row in assessment.changed:
        distance = assessment.changed[row]
        return distance, f"one attacked: changed at {distance:.2f}"
    farthest = attempts.farthest
    return farthest, f"one attacked: unchanged to {printed_radius(farthest)}"


def in_percent(axes: Axes) -> dict[str, Any]:
    """Return the figure for a box of 100 by 100, with y downwards.

    Returns:
        lines: of each the name, the tone, the points "x,y x,y ..." of the line and of
        its
            band, and the dots (x, y).
        x, y: marks of the axes.
        across: the label of x.
    """
    assert axes.x_range is not None
    _, end = axes.x_range

    def place(a: float, b: float) -> tuple[float, float]:
        return 100.0 * a / end, 100.0 - b

    def points(x: ArrayLike, y: ArrayLike) -> str:
        places = [place(a, b) for a, b in zip(np.ravel(x), np.ravel(y), strict=True)]
        return " ".join(f"{left:.2f},{down:.2f}" for left, down in places)

    lines = []
    for line, tone in zip(axes.lines, TONES, strict=False):
        x = np.asarray(line.x, dtype=float)
        band = ""
        if line.low is not None and line.high is not None:
            # There along the lower end, and back along the upper one.
            edge = np.concatenate([line.low, line.high[::-1]])
            band = points(np.concatenate([x, x[::-1]]), edge)
        curve = ""
        dots = []
        if line.kind == "points":
            dots = [place(a, b) for a, b in zip(x, line.y, strict=True)]
        else:
            curve = points(x, line.y)
        lines.append(
            {
                "name": line.name,
                "points": curve,
                "dots": dots,
                "band": band,
                "tone": tone,
            }
        )
    return {
        "lines": lines,
        "x": [(100.0 * value / end, text) for value, text in ticks(end)],
        "y": [(100.0 - percentage, f"{percentage}") for percentage in PERCENTAGES],
        "across": axes.x,
    }
