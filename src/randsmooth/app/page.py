"""The page that explains the certificate of one image: an HTML file that opens anywhere, offline.

Its words and drawings are those of `page.html.j2`; what is computed for them is here. Where things stand in the
drawings is in percent: their words are HTML, which does not shrink with them.
"""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from randsmooth.app.image_certificate import (
    BUDGETS,
    Explanation,
    Pixels,
    limit,
    radius_by_samples,
)
from randsmooth.atomic import write_atomically
from randsmooth.certificates import ARITHMETICS, BATCH_MATTERS
from randsmooth.certification import Watched
from randsmooth.escape import printable, setting, shortened
from randsmooth.extras import versions
from randsmooth.noise import (
    NORMS,
    OWN_UNITS,
    Gaussian,
    Noise,
    PerFeature,
    linf_radius,
    printed_radius,
    round_down,
)
from randsmooth.progress import clock
from randsmooth.report import web

CLASSES = 6  # bars of the vote, at most; the others are one
OF_CURVE = 61  # points of the curve of radii
SMALL = 2**14  # values of an image up to which PNG is small enough, whatever it shows
LONGEST_SIDE = 320  # pixels of a picture on the page
ROWS = 4  # of letters above the ruler, as many as there are letters, so that none covers another
LEVELS = 255  # steps from black to white in an image file
HIGHEST = 0.9375  # of a chart's height that its highest point takes
TICKS = 5  # at most, on an axis
POWERS = {
    10**2: "100",
    10**3: "1,000",
    10**4: "10k",
    10**5: "100k",
    10**6: "1M",
    10**7: "10M",
}  # on a logarithmic one


def explanation_page(explained: Explanation, *, command: str | None = None) -> str:
    """The page as HTML with everything inlined.

    Args:
        explained: what `explain` found.
        command: what was typed to make the page, to be shown on it.

    Example:
        >>> import randsmooth as rs
        >>> import torch
        >>> explained = rs.explain("demo", torch.rand(1, 8, 8), n=200, attack=False)
        >>> explanation_page(explained).startswith("<!DOCTYPE html>")
        True
    """
    s, look, engine = explained.settings, explained.look, explained.certified.engine
    growth = [*zip(BUDGETS, _growth(explained, BUDGETS), strict=True)]
    found, end = (
        _around(explained),
        limit(int(look.counts[look.picked]), look.samples, explained.noise),
    )
    places = [
        (letter, distance) for letter, (distance, *_) in zip("ABC", found, strict=False)
    ]
    return filled(
        "page.html.j2",
        called=partial(called, explained.classes),
        explained=explained,
        enough=next((samples for samples, radius in growth if radius > 0.0), None),
        around=found,
        ruler=ruler(look.radius, places),
        limit=end,
        growth=growth,
        chart=_growth_chart(explained, end) if end > 0.0 else None,
        seconds=float(explained.certified.seconds[0]) / (look.samples + s.n0),
        vote=vote_of(look, explained.classes),
        largest=printed_radius(s.smoothing.largest_radius(s.n, s.alpha)),
        notes=[] if engine.mixes else [("note", BATCH_MATTERS)],
        backend=f"{engine.backend.name}, {ARITHMETICS[engine.backend.precision]}, {engine.device.type}",
        command=command,
    )


def filled(template: str, **content: Any) -> str:
    """A page of this room, with what all of its templates use."""
    styles = [web.asset(web.__name__, "base.css"), web.asset(__package__, "page.css")]
    return web.page(
        __package__, template, scripts=[], styles=styles, **HELPERS, **content
    )


def write_explanation(
    explained: Explanation, path: Path | str, *, command: str | None = None
) -> None:
    """Write `explanation_page` to `path`, all or nothing.

    Example:
        >>> import tempfile
        >>> import randsmooth as rs
        >>> import torch
        >>> explained = rs.explain("demo", torch.rand(1, 8, 8), n=200, attack=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_explanation(explained, Path(folder) / "page.html")
        ...     [file.name for file in Path(folder).iterdir()]
        ['page.html']
    """
    write_atomically(Path(path), explanation_page(explained, command=command).encode())


def picture(pixels: Pixels) -> tuple[str, bool]:
    """`pixels` (C, H, W), cut off at 0 and 1, as a `data:` URI; and whether its pixels are to be seen as squares.

    One channel is grey, three are colours; of any other number the mean is shown. As PNG; as JPEG where that is large.

    Example:
        >>> uri, squares = picture(np.zeros((1, 8, 8), np.float32))
        >>> uri[:22], squares
        ('data:image/png;base64,', True)
    """
    shown = pixels if pixels.shape[0] in (1, 3) else pixels.mean(axis=0, keepdims=True)
    levels = (np.clip(np.nan_to_num(shown), 0.0, 1.0) * 255.0).round().astype(np.uint8)
    image = Image.fromarray(
        levels[0] if len(levels) == 1 else levels.transpose(1, 2, 0)
    )
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    uri = (
        web.data_uri(image, "png")
        if levels.size <= SMALL
        else web.data_uri(image, "jpeg", quality=85)
    )
    return uri, max(image.size) < 128


def called(classes: Sequence[str], k: int) -> str:
    """The name of class `k`, fit for a sentence."""
    return shortened(printable(classes[k] if 0 <= k < len(classes) else str(k)), 40)


def _around(explained: Explanation) -> list[tuple[float, Pixels, str, str]]:
    """What stands on the ruler, the nearest first: how far, its picture, what it is, and its colour."""
    found, tried, around = [], explained.attempts, explained.neighbours
    if tried is not None and (out := tried.outside) is not None:
        found.append(
            (
                out.distance,
                out.point,
                f"an attack: {called(explained.classes, out.predict)}",
                "other",
            )
        )
    if around is not None:
        for one, what, tone in (
            (around.same, "nearest", "same"),
            (around.other, "nearest other class:", "other"),
        ):
            if one is not None:
                found.append(
                    (
                        one.distance,
                        one.pixels,
                        f"{what} {called(explained.classes, one.label)}",
                        tone,
                    )
                )
    return sorted(found, key=lambda each: each[0])


def amplified(change: Pixels) -> tuple[Pixels, int]:
    """A change (C, H, W) of an image around mid-grey, and how many times it is amplified so that it can be seen.

    Example:
        >>> shown, times = amplified(np.full((1, 2, 2), -0.04, np.float32))
        >>> times, shown.round(2).max()
        (12, np.float32(0.02))
    """
    largest = float(np.abs(change).max())
    times = max(1, int(0.5 / largest)) if largest > 0.0 else 1
    return (0.5 + times * change).astype(np.float32), times


def _growth(explained: Explanation, budgets: Sequence[int]) -> list[float]:
    """The radius that the share of this run would have at so many samples."""
    look, alpha = explained.look, explained.settings.alpha
    share = int(look.counts[look.picked]), look.samples
    return [
        float(r)
        for r in radius_by_samples(*share, budgets, alpha=alpha, noise=explained.noise)
    ]


def _growth_chart(explained: Explanation, end: float) -> dict[str, Any]:
    """The radius against the number of samples, and what it tends to."""
    budgets = [round(10 ** (2 + 4 * i / (OF_CURVE - 1))) for i in range(OF_CURVE)]
    dots = [i for i, n in enumerate(budgets) if n in BUDGETS]
    return curve(
        budgets,
        _growth(explained, budgets),
        dots=dots,
        limit=None if math.isinf(end) else end,
    )


def vote_of(look: Watched, classes: Sequence[str]) -> dict[str, Any]:
    """The bars of the classes that came out most often, the picked one among them; the rest is one bar.

    A bar is a name, a number, its share in percent and whether it is picked. The bound on p_A is there in percent, and
    in words that are not above it.
    """
    counts, picked = look.counts, look.picked
    order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]]
    shown = (
        order[:CLASSES]
        if picked in order[:CLASSES]
        else [*order[: CLASSES - 1], picked]
    )
    bars = [
        (shortened(printable(classes[k]), 24), int(counts[k]), k == picked)
        for k in shown
    ]
    if rest := [k for k in order if k not in shown]:
        bars.append(
            (
                f"{len(rest)} other{'s' * (len(rest) > 1)}",
                int(counts[rest].sum()),
                False,
            )
        )
    lower = max(0.0, 1.0 - look.q)
    shares = [
        (name, count, 100.0 * count / look.samples, of) for name, count, of in bars
    ]
    return {"bars": shares, "lower": 100.0 * lower, "lower_text": share_down(lower)}


def curve(
    x: Sequence[float],
    y: Sequence[float],
    *,
    dots: Sequence[int] = (),
    limit: float | None = None,
    last: float | None = None,
) -> dict[str, Any]:
    """A chart of `y` against the logarithm of `x`, with the powers of ten from 100 on and dots at some of the points.

    The axis goes on to `last`; by default to the last x. What is given is for a box of 100 by 100, with y downwards:
    `points` "x,y x,y ..." of the line, marks `x` and `y` of the axes, `dots` (x, y), and `limit`, the y of a dashed
    line or None.

    Example:
        >>> chart = curve([100, 1000], [0.0, 1.0], dots=[1], limit=1.2)
        >>> chart["points"], [text for _, text in chart["y"]]
        ('0.00,100.00 100.00,21.88', ['1.0', '0.5', '0'])
    """
    last = last or x[-1]
    first, end = math.log(x[0]), math.log(last)
    top = (max(*y, limit or 0.0) or 1.0) / HIGHEST  # 1 where nothing is certified

    def across(value: float) -> float:
        return 100.0 * (math.log(value) - first) / max(1e-12, end - first)

    def above(value: float) -> float:
        return 100.0 * (1.0 - value / top)

    places = [(across(a), above(b)) for a, b in zip(x, y, strict=True)]
    return {
        "points": " ".join(f"{a:.2f},{b:.2f}" for a, b in places),
        "x": [(across(n), text) for n, text in POWERS.items() if n <= last],
        "y": [(above(value), text) for value, text in reversed(ticks(top))],
        "dots": [places[i] for i in dots],
        "limit": None if limit is None else above(limit),
    }


def ticks(top: float) -> list[tuple[float, str]]:
    """Round values from 0 to at most `top`, with their words.

    Example:
        >>> [text for _, text in ticks(2.3)]
        ['0', '0.5', '1.0', '1.5', '2.0']
    """
    rough = top / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [
        (i * step, f"{i * step:.{digits}f}" if i else "0")
        for i in range(math.floor(top / step + 1e-9) + 1)
    ]


def ruler(radius: float, distances: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """`distances` with their letters, and a ball of `radius` (0: none), on one scale.

    What is given is in percent of the width: `centre`, where the image is, `radius` of the ball, `height` of the
    drawing, `marks` (letter, where, row above the line, so that letters do not cover each other), `ticks` of the scale.

    Example:
        >>> drawn = ruler(1.0, [("A", 2.0), ("B", 8.0)])
        >>> drawn["centre"], [(letter, round(at, 1)) for letter, at, _ in drawn["marks"]]
        (11.5, [('A', 31.5), ('B', 91.5)])
    """
    farthest = max([radius * 1.5, *(distance for _, distance in distances)]) or 1.0
    room = (
        5.0 if radius < 0.05 * farthest else 1.5
    )  # percent beside the ball, or beside the image alone
    unit = (91.5 - room) / (farthest + radius)
    centre, in_order = room + unit * radius, sorted(distances, key=lambda each: each[1])
    placed = [
        (letter, centre + unit * distance, i % ROWS)
        for i, (letter, distance) in enumerate(in_order)
    ]
    scale = [(centre + unit * value, text) for value, text in ticks(farthest)]
    height = max(14.0, 2.0 * unit * radius + 2.0)
    return {
        "centre": round(centre, 2),
        "radius": unit * radius,
        "height": height,
        "marks": placed,
        "ticks": scale,
    }


def said(noise: Noise) -> str:
    """The noise itself: "σ = 0.5", "uniform=0.6", "σ = 0.25 standard deviations of each feature"."""
    if isinstance(noise, PerFeature):
        return f"σ = {noise.times:g} {NORMS[noise.norm].label}"
    return f"σ = {noise.sigma:g}" if isinstance(noise, Gaussian) else noise.text


def in_norm(noise: Noise) -> str:
    """The norm of radii, to be said before a length or a radius."""
    return "weighted L2" if noise.norm in OWN_UNITS else NORMS[noise.norm].label


def counted(noise: Noise) -> str:
    """What a length counts in, to be said behind it where each coordinate has a unit of its own; else nothing.

    Example:
        >>> counted(PerFeature(np.array([0.5, 10.0]), 0.25)), counted(Gaussian(0.5))
        (' (in standard deviations of each feature)', '')
    """
    return f" (in {NORMS[noise.norm].label})" if noise.norm in OWN_UNITS else ""


def within(noise: Noise, radius: float) -> str:
    """For a sentence, which changes are no larger than a radius.

    Example:
        >>> from randsmooth.noise import Ablation, Uniform
        >>> within(Uniform(0.6), 0.592), within(Ablation(45), 3.0)
        ('with L1 norm below 0.59', 'in at most 3 places')
    """
    if noise.norm == "l0":
        return f"in at most {radius:.0f} places"
    units = f", in {NORMS[noise.norm].label}," if noise.norm in OWN_UNITS else ""
    return f"with {in_norm(noise).removeprefix('weighted ')} norm below {printed_radius(radius)}{units}"


def examples(noise: Noise, radius: float, d: int) -> str:
    """Changes that are smaller, of an image of `d` values in 255 steps from black to white; "" if the place matters.

    In L2 a change of all d values by c has the norm c sqrt(d), one by c the norm c, and k from black to white sqrt(k).
    They are smaller than the radius as it is printed.

    Example:
        >>> from randsmooth.noise import Ablation, Gaussian, Uniform
        >>> examples(Gaussian(0.5), 0.62, 64)
        'every value by 19.7 of 255 levels, or a single value by 158 of 255 levels'
        >>> examples(Uniform(2.0), 1.5, 64), examples(Ablation(45), 3.0, 64)
        ('a single value from black to white', '3 pixels, to any colours')
    """
    if noise.norm == "l0":
        return f"{radius:.0f} pixels, to any colours"
    if noise.norm not in ("l1", "l2"):
        return ""
    radius = float(printed_radius(radius))
    wholly = min(d, math.ceil(radius if noise.norm == "l1" else radius**2) - 1)
    few = (
        f"{wholly} values from black to white"
        if wholly > 1
        else "a single value from black to white"
    )
    if not wholly:
        few = f"a single value by {max(0, math.floor(LEVELS * radius - 1e-9))} of {LEVELS} levels"
    every = math.floor(LEVELS * float(linf_radius(radius, d)) * 10 - 1e-9) / 10
    if noise.norm == "l1" or every < 0.1:
        return few
    return (
        "every value from black to white"
        if wholly == d
        else f"every value by {every:.1f} of {LEVELS} levels, or {few}"
    )


def unit_of_features(noise: Noise) -> str:
    """The norm of a change of features, and what it counts in.

    Example:
        >>> unit_of_features(Gaussian(0.5))
        "L2 norm, in the features' own units"
    """
    if noise.norm == "l0":
        return "features that change"
    counted = (
        f"in {NORMS[noise.norm].label}"
        if noise.norm in OWN_UNITS
        else "in the features' own units"
    )
    return f"{in_norm(noise).removeprefix('weighted ')} norm, {counted}"


def examples_of_features(noise: Noise, radius: float, d: int) -> str:
    """Changes of `d` features that are smaller than `radius`.

    Example:
        >>> examples_of_features(PerFeature(np.ones(25), times=0.5), 0.5, 25)
        'one feature by 0.50 of its standard deviation, or each of the 25 by 0.10 of its own'
        >>> examples_of_features(Gaussian(0.5), 0.5, 25)
        'one feature by 0.50, or each of the 25 by 0.10'
    """
    if noise.norm == "l0":
        return f"{radius:.0f} features, to any values"
    if noise.norm == "linf":
        return f"each of the {d} features by {printed_radius(radius)}"
    every = printed_radius(
        float(linf_radius(radius, d)) if noise.norm != "l1" else radius / d
    )
    if noise.norm not in OWN_UNITS:
        return f"one feature by {printed_radius(radius)}, or each of the {d} by {every}"
    of, own = (
        ("its standard deviation", "its own")
        if isinstance(noise, PerFeature)
        else ("that of the noise", "it")
    )
    return f"one feature by {printed_radius(radius)} of {of}, or each of the {d} by {every} of {own}"


def share_down(share: float) -> str:
    """A lower bound on a probability, not above it, with as many digits as tell it from 1.

    Example:
        >>> share_down(0.97316), share_down(0.9999309)
        ('0.9731', '0.999930')
    """
    digits = (
        4
        if share <= 0.999
        else min(9, 1 - math.floor(math.log10(max(1e-9, 1.0 - share))))
    )
    return str(round_down(share, digits))


HELPERS: dict[str, Any] = {
    each.__name__: each
    for each in (
        amplified,
        clock,
        picture,
        examples,
        examples_of_features,
        in_norm,
        printed_radius,
        counted,
        said,
        setting,
        share_down,
        unit_of_features,
        versions,
        within,
    )
}  # of the templates
