"""What pages draw: pictures, votes, curves, and distances on a ruler.

Places in a drawing are in percent of its size. Its words are HTML, which keeps its size
when the drawing shrinks.
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
# Up to so many values (C * H * W), a PNG is small enough, whatever the image shows.
MOST_VALUES_IN_PNG = 2**14
JPEG_QUALITY = 85

# The most bars of classes in a vote; the other classes together have one more.
MOST_BARS = 6
# The most characters of the name of a class beside its bar.
LONGEST_NAME = 24

# The part of a chart's height that its highest point takes.
HIGHEST = 0.9375
MOST_TICKS = 5
# Value -> text of the marks of a logarithmic axis.
POWERS = {
    10**2: "100",
    10**3: "1,000",
    10**4: "10k",
    10**5: "100k",
    10**6: "1M",
    10**7: "10M",
}

# Rows of letters above the ruler. A page has fewer letters, so that none covers another.
ROWS_OF_LETTERS = 4
# Where the farthest mark of a ruler stands, in percent of its width.
FARTHEST_MARK = 91.5
# The least end of the scale, in radii of the ball.
BEYOND_BALL = 1.5
# A ball is small if its radius is less than this share of the farthest distance.
SMALL_BALL = 0.05
# The free space before the ball, in percent of the width: more before a small one.
MARGIN = 1.5
MARGIN_OF_SMALL_BALL = 5.0
# The least height of a ruler, in percent of its width.
LEAST_HEIGHT = 14.0

# Less than any difference that matters, more than what floats are rounded by.
ROUNDING = 1e-9
# The least width of an axis, in natural logarithms, by which places are divided.
LEAST_WIDTH = 1e-12


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
    rows = levels[0] if len(levels) == 1 else levels.transpose(1, 2, 0)
    image = Image.fromarray(rows)
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    if levels.size <= MOST_VALUES_IN_PNG:
        uri = web.data_uri(image, "png")
    else:
        uri = web.data_uri(image, "jpeg", quality=JPEG_QUALITY)
    return uri, max(image.size) < SIDE_WITHOUT_SQUARES


def amplified(change: Pixels) -> tuple[Pixels, int]:
    """Return a change of an image around mid-grey, amplified until it can be seen.

    Args:
        change: the difference (C, H, W) of two images.

    Returns:
        The picture (C, H, W), and how many times the change is amplified in it.

    Example:
        >>> shown, times = amplified(np.full((1, 2, 2), -0.04, np.float32))
        >>> times, shown.round(2).max()
        (12, np.float32(0.02))
    """
    largest = float(np.abs(change).max())
    times = 1
    # The largest change becomes black or white, half away from mid-grey.
    if largest > 0.0:
        times = max(1, int(0.5 / largest))
    return (0.5 + times * change).astype(np.float32), times


def vote_of(look: Watched, classes: Sequence[str]) -> dict[str, Any]:
    """Return the bars of the classes that came out most often, with the bound on p_A.

    The picked class is among them, and all other classes have one bar together.

    Args:
        look: the counts of an image.
        classes: the names of the K classes.

    Returns:
        bars: for each bar (name, count, share in percent, whether it is picked).
        lower: the lower bound on p_A, in percent.
        lower_text: the bound as digits, rounded down.
    """
    counts = look.counts
    by_count = np.argsort(-counts, kind="stable").tolist()
    order = [k for k in by_count if counts[k] > 0]
    shown = order[:MOST_BARS]
    # Other samples picked it: it may be rare among these.
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
        x, y: the coordinates of the points of a line; x is ascending.
        dots: the indices of the points that are marked.
        limit: the height of a dashed line; None: there is none.
        last: the end of the axis of x; default: the last x.

    Returns:
        points: "x,y x,y ..." of the line, with y downwards.
        x, y: (place, text) of each mark of the axes; those of x are powers of ten from
            100 on.
        dots: (x, y) of each marked point.
        limit: the y of the dashed line, or None.

    Example:
        >>> chart = curve([100, 1000], [0.0, 1.0], dots=[1], limit=1.2)
        >>> chart["points"], [text for _, text in chart["y"]]
        ('0.00,100.00 100.00,21.88', ['1.0', '0.5', '0'])
    """
    last = last or x[-1]
    first_log = math.log(x[0])
    # One point alone has no width, by which places are divided.
    width = max(LEAST_WIDTH, math.log(last) - first_log)
    # Where nothing is certified, all heights are 0, and the axis goes to 1.
    highest = max(*y, limit or 0.0) or 1.0
    end_of_y = highest / HIGHEST

    def across(value: float) -> float:
        """Return the place of an x, in percent from the left."""
        return 100.0 * (math.log(value) - first_log) / width

    def down(value: float) -> float:
        """Return the place of a y, in percent from above."""
        return 100.0 * (1.0 - value / end_of_y)

    places = [(across(a), down(b)) for a, b in zip(x, y, strict=True)]
    return {
        "points": " ".join(f"{left:.2f},{height:.2f}" for left, height in places),
        "x": [(across(n), text) for n, text in POWERS.items() if n <= last],
        "y": [(down(value), text) for value, text in reversed(ticks(end_of_y))],
        "dots": [places[i] for i in dots],
        "limit": None if limit is None else down(limit),
    }


def ticks(end: float) -> list[tuple[float, str]]:
    """Return (value, text) of round values from 0 to at most `end`, which is above 0.

    Example:
        >>> [text for _, text in ticks(2.3)]
        ['0', '0.5', '1.0', '1.5', '2.0']
    """
    # The step is 1, 2 or 5 times a power of ten, such that there are few enough.
    smallest_step = end / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(smallest_step))
    steps = [power * times for times in (1, 2, 5, 10)]
    step = next(step for step in steps if step >= smallest_step)
    decimals = max(0, -math.floor(math.log10(step) + ROUNDING))
    marks = [(0.0, "0")]
    for i in range(1, math.floor(end / step + ROUNDING) + 1):
        marks.append((i * step, f"{i * step:.{decimals}f}"))
    return marks


def ruler(radius: float, distances: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return a ruler with the image, the ball around it and distances from it.

    Args:
        radius: the radius of the certified ball; 0 where nothing is certified.
        distances: (letter, distance) of each mark.

    Returns:
        centre: the place of the image. All places and lengths are in percent of the
            width.
        radius: the radius of the ball.
        height: the height of the drawing.
        marks: (letter, place, row) of each distance: rows above the line keep letters
            from covering each other.
        ticks: (place, text) of each mark of the scale.

    Example:
        >>> drawn = ruler(1.0, [("A", 2.0), ("B", 8.0)])
        >>> [(letter, round(place, 1)) for letter, place, row in drawn["marks"]]
        [('A', 31.5), ('B', 91.5)]
    """
    in_order = sorted(distances, key=lambda mark: mark[1])
    # With some room beyond the ball. Where there is neither ball nor distance, the scale
    # goes to 1.
    lengths = [BEYOND_BALL * radius, *(distance for _, distance in in_order)]
    farthest = max(lengths) or 1.0
    is_small = radius < SMALL_BALL * farthest
    margin = MARGIN_OF_SMALL_BALL if is_small else MARGIN
    # Percent of the width for a distance of 1: the left edge of the ball stands at the
    # margin, the farthest distance at its mark.
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
