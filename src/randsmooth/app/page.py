"""The page that explains the certificate of one image: an HTML file that works offline.

Its words are in `page.html.j2`. This module computes the figures for them.
"""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.app.abstention import why_abstained
from randsmooth.app.drawing import amplified, curve, picture, ruler, vote_of
from randsmooth.app.image_certificate import (
    BUDGETS,
    Explanation,
    Pixels,
    limit,
    radius_by_samples,
)
from randsmooth.app.wording import (
    class_name,
    distance_inside,
    examples,
    examples_of_features,
    length_unit,
    noise_words,
    norm_words,
    share_rounded_down,
    unit_of_features,
    within,
)
from randsmooth.atomic import write_atomically
from randsmooth.certificates import ARITHMETICS, BATCH_MATTERS
from randsmooth.escape import fact_text
from randsmooth.extras import versions
from randsmooth.noise import Gaussian, printed_radius
from randsmooth.progress import clock
from randsmooth.report import web

# The powers of ten between which the curve of radii goes, from 100 samples to a million,
# and its number of points.
FIRST_POWER = 2
LAST_POWER = 6
POINTS_OF_CURVE = 61

# Name in the templates of this room -> the function.
HELPERS: dict[str, Any] = {
    "amplified": amplified,
    "clock": clock,
    "distance_inside": distance_inside,
    "examples": examples,
    "examples_of_features": examples_of_features,
    "length_unit": length_unit,
    "noise_words": noise_words,
    "norm_words": norm_words,
    "picture": picture,
    "printed_radius": printed_radius,
    "setting": fact_text,
    "share_rounded_down": share_rounded_down,
    "unit_of_features": unit_of_features,
    "versions": versions,
    "within": within,
}


class Surrounding(NamedTuple):
    """An image that is a mark on the ruler.

    Attributes:
        distance: the distance from the certified image.
        pixels: the pixels (C, H, W).
        words: the words below the image.
        tone: the colour of its frame, a class of the style sheet: "same" or "other", as
            the class of the image is.
    """

    distance: float
    pixels: Pixels
    words: str
    tone: str


def explanation_page(explained: Explanation, *, command: str | None = None) -> str:
    """Return the page as HTML with everything inlined.

    Args:
        explained: the result of `explain`.
        command: the command that made the page, which the page shows.

    Example:
        >>> import randsmooth as rs
        >>> import torch
        >>> explained = rs.explain("demo", torch.rand(1, 8, 8), n=200, attack=False)
        >>> explanation_page(explained).startswith("<!DOCTYPE html>")
        True
    """
    settings = explained.settings
    look = explained.look
    engine = explained.certified.engine
    backend = engine.backend

    # (samples, radius) at each of BUDGETS.
    growth = list(zip(BUDGETS, _growth(explained, BUDGETS), strict=True))
    votes = int(look.counts[look.picked])
    radius_at_the_end = limit(votes, look.samples, explained.noise)
    chart = None
    if radius_at_the_end > 0.0:
        chart = _growth_chart(explained, radius_at_the_end)

    # At most three images: an attack and two neighbours.
    around = _around(explained)
    distances = [surrounding.distance for surrounding in around]
    letters = list(zip("ABC", distances, strict=False))
    seconds_of_sample = float(explained.certified.seconds[0]) / (
        look.samples + settings.n0
    )
    largest = explained.noise.largest_radius(settings.n, settings.alpha)
    return filled(
        "page.html.j2",
        class_name=partial(class_name, explained.classes),
        explained=explained,
        abstention=why_abstained(explained),
        around=around,
        ruler=ruler(look.radius, letters),
        limit=radius_at_the_end,
        growth=growth,
        chart=chart,
        seconds=seconds_of_sample,
        vote=vote_of(look, explained.classes),
        largest=printed_radius(largest),
        gaussian=isinstance(explained.noise, Gaussian),
        notes=[] if engine.mixes else [("note", str(BATCH_MATTERS))],
        backend=(
            f"{backend.name}, {ARITHMETICS[backend.precision]}, {engine.device.type}"
        ),
        command=command,
    )


def filled(template: str, **content: Any) -> str:
    """Return a page of this room: a template filled with content and HELPERS."""
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


def _around(explained: Explanation) -> list[Surrounding]:
    """Return the images that are marks on the ruler, the nearest first."""
    around = []
    attempts = explained.attempts
    if attempts is not None and attempts.outside is not None:
        attack = attempts.outside
        answer = class_name(explained.classes, attack.predict)
        around.append(
            Surrounding(
                attack.distance,
                attack.point,
                words=f"an attack: {answer}",
                tone="other",
            )
        )
    neighbours = explained.neighbours
    if neighbours is not None:
        for neighbour, words, tone in (
            (neighbours.same, "nearest", "same"),
            (neighbours.other, "nearest other class:", "other"),
        ):
            if neighbour is None:
                continue
            label = class_name(explained.classes, neighbour.label)
            around.append(
                Surrounding(
                    neighbour.distance,
                    neighbour.pixels,
                    words=f"{words} {label}",
                    tone=tone,
                )
            )
    return sorted(around, key=lambda surrounding: surrounding.distance)


def _growth(explained: Explanation, budgets: Sequence[int]) -> list[float]:
    """Return the radii that the share of this run would prove at `budgets` of samples."""
    look = explained.look
    radii = radius_by_samples(
        int(look.counts[look.picked]),
        look.samples,
        budgets,
        alpha=explained.settings.alpha,
        noise=explained.noise,
    )
    return [float(radius) for radius in radii]


def _growth_chart(explained: Explanation, end: float) -> dict[str, Any]:
    """Return the chart of the radius against the number of samples.

    Args:
        explained: the result of `explain`.
        end: the limit of the radius, which the dashed line shows if it is finite.
    """
    powers = LAST_POWER - FIRST_POWER
    # Evenly spread on the logarithmic axis; BUDGETS are among them.
    budgets = [
        round(10 ** (FIRST_POWER + powers * i / (POINTS_OF_CURVE - 1)))
        for i in range(POINTS_OF_CURVE)
    ]
    return curve(
        budgets,
        _growth(explained, budgets),
        dots=[i for i, n in enumerate(budgets) if n in BUDGETS],
        limit=None if math.isinf(end) else end,
    )
