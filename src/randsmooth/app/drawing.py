"""What pages draw: pictures, votes, curves, and distances on a ruler.

Where things stand in a drawing is in percent: its words are HTML, which does not shrink
with it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from randsmooth.app.image_certificate import Pixels
from randsmooth.app.wording import share_rounded_down
from randsmooth.certification import Watched
from randsmooth.escape import printable, shortened
from randsmooth.report import web

# Pixels of the longer side of a picture on the page.
LONGEST_SIDE = 320
# Pictures of a shorter side are shown with their pixels as squares.
SIDE_WITHOUT_SQUARES = 128
# Up to so many values, PNG is small enough, whatever an image shows.
MOST_VALUES_IN_PNG = 2**14
JPEG_QUALITY = 85

# The vote has at most so many bars; the other classes are one.
MOST_BARS = 6
# Characters of the name of a class beside its bar.
LONGEST_NAME = 24

# The part of a chart's height that its highest point takes.
HIGHEST = 0.9375
MOST_TICKS = 5
# The marks of a logarithmic axis.
POWERS = {
    10**2: "100",
    10**3: "1,000",
    10**4: "10k",
    10**5: "100k",
    10**6: "1M",
    10**7: "10M",
}

# Rows of letters above the ruler: as many as there are letters, so that none covers
# another.
ROWS_OF_LETTERS = 4
# Where the farthest mark of a ruler stands, in percent of its width.
FARTHEST_MARK = 91.5
# A ball is small if its radius is less than this share of the farthest distance.
SMALL_BALL = 0.05
# What is left free before the ball, in percent: more before a small one.
MARGIN = 1.5
MARGIN_OF_SMALL_BALL = 5.0
LEAST_HEIGHT = 14.0

# Less than any difference that matters, more than what floats are rounded by.
ROUNDING = 1e-9


def picture(pixels: Pixels) -> tuple[str, bool]:
    """Return an image as a `data:` URI, and whether to show its pixels as squares.

    One channel is grey, three are colours; of any other number the mean is shown. It is
    a PNG, or a JPEG where that would be large.

    Args:
        pixels: (C, H, W), cut off at 0 and 1.

    Example:
        >>> uri, squares = picture(np.zeros((1, 8, 8), np.float32))
        >>> uri[:22], squares
        ('data:image/png;base64,', True)
    """
    if pixels.shape[0] not in (1, 3):
        pixels = pixels.mean(axis=0, keepdims=True)
    in_range = np.clip(np.nan_to_num(pixels), 0.0, 1.0)
    levels = (in_range * 255.0).round().astype(np.uint8)
    # Pillow takes (H, W) for grey and (H, W, C) for colours.
    of_pillow = levels[0] if len(levels) == 1 else levels.transpose(1, 2, 0)
    image = Image.fromarray(of_pillow)
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    if levels.size <= MOST_VALUES_IN_PNG:
        uri = web.data_uri(image, "png")
    else:
        uri = web.data_uri(image, "jpeg", quality=JPEG_QUALITY)
    return uri, max(image.size) < SIDE_WITHOUT_SQUARES


def amplified(change: Pixels) -> tuple[Pixels, int]:
    """Return a change of an image around mid-grey, amplified until it can be seen.

    Args:
        change: (C, H, W)

    Returns:
        The picture, and how many times the change is amplified in it.

    Example:
        >>> shown, times = amplified(np.full((1, 2, 2), -0.04, np.float32))
        >>> times, shown.round(2).max()
        (12, np.float32(0.02))
    """
    largest = float(np.abs(change).max())
    times = 1
    if largest > 0.0:
        times = max(1, int(0.5 / largest))
    return (0.5 + times * change).astype(np.float32), times


def vote_of(look: Watched, classes: Sequence[str]) -> dict[str, Any]:
    """Return the bars of the classes that came out most often.

    The picked one is among them, and the rest is one bar.

    Returns:
        bars: each a name, a number, its share in percent and whether it is picked.
        lower: the bound on p_A in percent.
        lower_text: the bound in words that are not above it.
    """
    counts = look.counts
    by_count = np.argsort(-counts, kind="stable").tolist()
    order = [k for k in by_count if counts[k] > 0]
    shown = order[:MOST_BARS]
    if look.picked not in shown:
        shown = [*order[: MOST_BARS - 1], look.picked]

    bars = []
    for k in shown:
        share = 100.0 * int(counts[k]) / look.samples
        name = shortened(printable(classes[k]), LONGEST_NAME)
        bars.append((name, int(counts[k]), share, k == look.picked))
    rest = [k for k in order if k not in shown]
    if rest:
        count = int(counts[rest].sum())
        name = "1 other" if len(rest) == 1 else f"{len(rest)} others"
        bars.append((name, count, 100.0 * count / look.samples, False))

    lower = max(0.0, 1.0 - look.q)
    return {
        "bars": bars,
        "lower": 100.0 * lower,
        "lower_text": share_rounded_down(lower),
    }


def curve(
    x: Sequence[float],
    y: Sequence[float],
    *,
    dots: Sequence[int] = (),
    limit: float | None = None,
    last: float | None = None,
) -> dict[str, Any]:
    """Return a chart of `y` against the logarithm of `x`, for a box of 100 by 100.

    Args:
        x, y: the points of a line.
        dots: the numbers of points that are marked.
        limit: the height of a dashed line; None: there is none.
        last: where the axis ends; default: at the last x.

    Returns:
        points: "x,y x,y ..." of the line, with y downwards.
        x, y: the marks of the axes; those of x are powers of ten from 100 on.
        dots: (x, y) of each.
        limit: the y of the dashed line, or None.

    Example:
        >>> chart = curve([100, 1000], [0.0, 1.0], dots=[1], limit=1.2)
        >>> chart["points"], [text for _, text in chart["y"]]
        ('0.00,100.00 100.00,21.88', ['1.0', '0.5', '0'])
    """
    last = last or x[-1]
    first_log = math.log(x[0])
    width = max(1e-12, math.log(last) - first_log)
    # Where nothing is certified, all heights are 0, and the axis goes to 1.
    top = (max(*y, limit or 0.0) or 1.0) / HIGHEST

    def across(value: float) -> float:
        return 100.0 * (math.log(value) - first_log) / width

    def down(value: float) -> float:
        return 100.0 * (1.0 - value / top)

    places = [(across(a), down(b)) for a, b in zip(x, y, strict=True)]
    return {
        "points": " ".join(f"{left:.2f},{height:.2f}" for left, height in places),
        "x": [(across(n), text) for n, text in POWERS.items() if n <= last],
        "y": [(down(value), text) for value, text in reversed(ticks(top))],
        "dots": [places[i] for i in dots],
        "limit": None if limit is None else down(limit),
    }


def ticks(top: float) -> list[tuple[float, str]]:
    """Return round values from 0 to at most `top`, with their words.

    Example:
        >>> [text for _, text in ticks(2.3)]
        ['0', '0.5', '1.0', '1.5', '2.0']
    """
    # The step is 1, 2 or 5 times a power of ten, such that there are few enough.
    smallest_step = top / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(smallest_step))
    steps = [power * times for times in (1, 2, 5, 10)]
    step = next(step for step in steps if step >= smallest_step)
    places = max(0, -math.floor(math.log10(step) + ROUNDING))
    marks = [(0.0, "0")]
    for i in range(1, math.floor(top / step + ROUNDING) + 1):
        marks.append((i * step, f"{i * step:.{places}f}"))
    return marks


def ruler(radius: float, distances: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return `distances` with their letters, and a ball of `radius`, on one scale.

    Returns:
        centre: where the image is, in percent of the width, as all that follows.
        radius: of the ball.
        height: of the drawing.
        marks: for each distance its letter, where it stands, and in which row above the
            line, so that letters do not cover each other.
        ticks: of the scale.

    Example:
        >>> drawn = ruler(1.0, [("A", 2.0), ("B", 8.0)])
        >>> [(letter, round(place, 1)) for letter, place, row in drawn["marks"]]
        [('A', 31.5), ('B', 91.5)]
    """
    in_order = sorted(distances, key=lambda marked: marked[1])
    # Some room beyond the ball; 1 where there is neither ball nor distance.
    lengths = [1.5 * radius] + [distance for _, distance in in_order]
    farthest = max(lengths) or 1.0
    is_small = radius < SMALL_BALL * farthest
    margin = MARGIN_OF_SMALL_BALL if is_small else MARGIN
    unit = (FARTHEST_MARK - margin) / (farthest + radius)
    centre = margin + unit * radius
    marks = [
        (letter, centre + unit * distance, i % ROWS_OF_LETTERS)
        for i, (letter, distance) in enumerate(in_order)
    ]
    return {
        "centre": round(centre, 2),
        "radius": unit * radius,
        # Room for the ball, and for its edge above and below.
        "height": max(LEAST_HEIGHT, 2.0 * unit * radius + 2.0),
        "marks": marks,
        "ticks": [(centre + unit * value, text) for value, text in ticks(farthest)],
    }
