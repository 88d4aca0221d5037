"""The figure of an assessment: clean, noisy, certified and attacked accuracy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
from randsmooth.report.charts import GREY, PALETTE, Look

POINTS_OF_CURVE = 200
# How far the axis goes beyond what is on it, and at most beyond what is certified.
FREE_BEYOND = 1.1
MOST_BEYOND_CERTIFIED = 3.0
# Of so many attacked images a curve is drawn; of fewer each has a mark of its own.
FEWEST_IN_A_CURVE = 10
# What stands beside the mark of an image whose answer no attack changed.
UNCHANGED = "unchanged"
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
    if len(assessment.attempts) < FEWEST_IN_A_CURVE:
        lengths += [mark.distance for mark in _marks(assessment)]
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
            look=Look(GREY, "dash"),
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

    Of few images it is a mark for each, and no curve.
    """
    look = Look(PALETTE[1], "solid")
    images = len(assessment.attempts)
    if images < FEWEST_IN_A_CURVE:
        return _marks_under_attack(assessment, x[-1], right, look)
    changed = assessment.changed
    distances = np.array([changed.get(row, np.inf) for row in assessment.attempts])
    left = right * (distances[None] > x[:, None]).mean(axis=1)
    name = f"right under attack ({images})"
    return Line(name, x, 100.0 * left, "step", look=look)


def _marks_under_attack(
    assessment: Assessment, end: float, right: float, look: Look
) -> Line:
    """Return a mark for each attacked image, up to the `end` of the axis.

    Each stands as high as the share that is left before its change.
    """
    marks = _marks(assessment)
    # A share falls by one image after each that is changed.
    heights = []
    fallen = 0
    for mark in marks:
        heights.append(100.0 * right * (1.0 - fallen / len(marks)))
        fallen += mark.changed
    return Line(
        _words_of_marks(marks),
        np.array([min(mark.distance, end) for mark in marks]),
        np.array(heights),
        "points",
        labels=tuple("" if mark.changed else UNCHANGED for mark in marks),
        look=look,
    )


class Mark(NamedTuple):
    """Where the search around one attacked image ended.

    Attributes:
        distance: the length of the change of the answer; of an unchanged image the
            radius of the largest ball that was searched.
        changed: whether the answer changed.
    """

    distance: float
    changed: bool


def _marks(assessment: Assessment) -> list[Mark]:
    """Return the mark of each attacked image, the nearest first."""
    changed = assessment.changed
    marks = [
        Mark(changed.get(row, attempts.farthest), row in changed)
        for row, attempts in assessment.attempts.items()
    ]
    return sorted(marks)


def _words_of_marks(marks: Sequence[Mark]) -> str:
    """Return the name of the marks: what became of the attacked images."""
    if len(marks) == 1:
        (mark,) = marks
        if mark.changed:
            return f"one attacked: changed at {mark.distance:.2f}"
        return f"one attacked: unchanged to {printed_radius(mark.distance)}"
    changed = sum(mark.changed for mark in marks)
    return f"{len(marks)} attacked, a mark each: {changed} changed"


def in_percent(axes: Axes) -> dict[str, Any]:
    """Return the figure for a box of 100 by 100, with y downwards.

    Returns:
        lines: of each the name, the tone, the points "x,y x,y ..." of the line and of
        its
            band, and the dots (x, y, whether the image was changed).
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
            dots = [
                (*place(a, b), label != UNCHANGED)
                for a, b, label in zip(x, line.y, line.labels, strict=True)
            ]
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
