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
# The length of the axis in lengths of what is on it, and the most that it shows beyond
# what is certified, in lengths of that.
FREE_BEYOND = 1.1
MOST_BEYOND_CERTIFIED = 3.0
# From so many attacked images on, they have a curve; each of fewer has a mark.
FEWEST_IN_A_CURVE = 10
# Stands beside the mark of an image whose answer no attack changed.
UNCHANGED = "unchanged"
# The colours of the lines, in the order of `figure`, by their names in the style sheet.
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
        # At radius 0 the certified share is that of the right answers.
        lines.append(_under_attack(assessment, x, right=shares[0]))

    label_of_x = f"{norm_words(assessment.noise)} norm of the change"
    if assessment.features:
        label_of_x = f"change ({unit_of_features(assessment.noise)})"
    return Axes(
        title=f"{assessment.name} on {table.header.dataset}",
        x=label_of_x,
        y=f"{assessment.inputs} (%)",
        lines=lines,
        # A little above 100, so that a line there is seen.
        y_range=(0.0, 102.0),
        x_range=(0.0, end),
    )


def _end_of_axis(assessment: Assessment) -> float:
    """Return where the axis ends.

    That is beyond the radius that matters, all that is certified, and the changes that
    are not much farther away.
    """
    table = assessment.table
    certified = float(np.max(table.radius * table.correct, initial=assessment.radius))
    lengths = [certified, *assessment.changed.values()]
    # Few images have marks, also those whose answers did not change.
    if len(assessment.attempts) < FEWEST_IN_A_CURVE:
        lengths += [mark.distance for mark in _marks(assessment)]
    return FREE_BEYOND * min(max(lengths), MOST_BEYOND_CERTIFIED * certified)


def _without_radius(assessment: Assessment, end: float) -> list[Line]:
    """Return the two level lines up to `end`: accuracy without noise, and under it."""
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
            # The orange of the palette.
            look=Look(PALETTE[4], "dot"),
        ),
    ]


def _certified(
    assessment: Assessment, x: NDArray[np.float64], shares: NDArray[np.float64]
) -> Line:
    """Return the curve of certified `shares` (M,) at the radii `x` (M,), with its band."""
    table = assessment.table
    # The counts of which these are the shares.
    right = np.round(shares * len(table))
    low, high = metrics.share_interval(right, len(table))
    # Nothing is certified beyond what so many samples can prove: the share is 0.
    high = np.where(x > metrics.farthest(table), 0.0, high)
    name = "right and certified"
    if assessment.reach < assessment.radius:
        chosen = assessment.chosen
        name += f" (by {chosen.n:,} samples, to {printed_radius(chosen.farthest)})"
    return Line(
        name,
        x,
        100.0 * shares,
        kind="step",
        low=100.0 * low,
        high=100.0 * high,
        look=Look(PALETTE[0], "solid"),
    )


def _under_attack(assessment: Assessment, x: NDArray[np.float64], right: float) -> Line:
    """Return the share of images that are right and that no attack changed.

    Each of few images has a mark, in place of the curve.

    Args:
        assessment: the assessment, with attacks.
        x: (M,) the lengths of a change.
        right: the share of all images that are right. Those attacked are among them, and
            what they lose is taken for the loss of all.
    """
    look = Look(PALETTE[1], "dashdot")
    images = len(assessment.attempts)
    if images < FEWEST_IN_A_CURVE:
        return _marks_under_attack(assessment, end=x[-1], right=right, look=look)
    changed = assessment.changed
    distances = np.array([changed.get(row, np.inf) for row in assessment.attempts])
    unchanged = (distances[None] > x[:, None]).mean(axis=1)
    name = f"right under attack ({images})"
    return Line(name, x, 100.0 * (right * unchanged), kind="step", look=look)


def _marks_under_attack(
    assessment: Assessment, end: float, right: float, look: Look
) -> Line:
    """Return a mark for each attacked image.

    Each stands as high as the share that is left before its change. A mark beyond the
    end of the axis stands at the end.

    Args:
        assessment: the assessment, with attacks.
        end: the end of the axis.
        right: the share of all images that are right.
        look: the colour of the marks.
    """
    marks = _marks(assessment)
    # A share falls by one image after each that is changed.
    heights = []
    changed_before = 0
    for mark in marks:
        heights.append(100.0 * right * (1.0 - changed_before / len(marks)))
        changed_before += mark.changed
    return Line(
        _words_of_marks(marks),
        np.array([min(mark.distance, end) for mark in marks]),
        np.array(heights),
        kind="points",
        labels=tuple("" if mark.changed else UNCHANGED for mark in marks),
        look=look,
    )


class Mark(NamedTuple):
    """Where the search around one attacked image ended.

    Attributes:
        distance: the length of the change that changed the answer. Where none did, the
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
    """Return the name of the marks, which says how many answers changed."""
    if len(marks) == 1:
        (mark,) = marks
        if mark.changed:
            return f"one attacked: changed at {mark.distance:.2f}"
        return f"one attacked: unchanged to {printed_radius(mark.distance)}"
    changed = sum(mark.changed for mark in marks)
    return f"{len(marks)} attacked, a mark each: {changed} changed"


def in_percent(axes: Axes) -> dict[str, Any]:
    """Return the figure for a box of 100 by 100, with y downwards.

    Args:
        axes: the figure, whose y is in percent.

    Returns:
        lines: for each line its name and tone, the points "x,y x,y ..." of the line and
            of its band, and the dots (x, y, whether the image was changed).
        x, y: (place, text) of each mark of the axes.
        across: the label of x.
    """
    # `figure` gives it.
    assert axes.x_range is not None
    _, end = axes.x_range

    def place(a: float, b: float) -> tuple[float, float]:
        """Return the place of the point (a, b) in the box."""
        return 100.0 * a / end, 100.0 - b

    def points(x: ArrayLike, y: ArrayLike) -> str:
        """Return the places of points as SVG writes them."""
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
