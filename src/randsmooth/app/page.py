"""The page that explains the certificate of one image: an HTML file that opens anywhere, offline.

Where things stand in its drawings is in percent: their words are HTML, which does not shrink with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from randsmooth.app import sentences
from randsmooth.app.one_image import BUDGETS, Explanation, Pixels, limit, radius_by_samples
from randsmooth.atomic import write_atomically
from randsmooth.certificates import ARITHMETICS, BATCH_MATTERS
from randsmooth.escape import printable, setting, shortened
from randsmooth.extras import versions
from randsmooth.models import notes_of
from randsmooth.noise import Gaussian, round_down
from randsmooth.report import web

CLASSES = 6  # bars of the vote, at most; the others are one
OF_CURVE = 61  # points of the curve of radii
SMALL = 2**14  # values of an image up to which PNG is small enough, whatever it shows
LONGEST_SIDE = 320  # pixels of a picture on the page
LEVEL = 7.0  # percent of the ruler's width that a letter takes
HIGHEST = 0.9375  # of a chart's height that its highest point takes
TICKS = 5  # at most, on an axis


def explanation_page(explained: Explanation, *, command: str | None = None) -> str:
    """The page as HTML with everything inlined.

    Args:
        explained: what `explain` found.
        command: what was typed to make the page, to be shown on it.

    Example:
        >>> import randsmooth as rs
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> explained = rs.explain(model, torch.rand(1, 8, 8), sigma=0.25, n=200, attack=False)
        >>> explanation_page(explained).startswith("<!DOCTYPE html>")
        True
    """
    drawn, cards = _distances(explained)
    denoised = explained.copies.denoised
    return web.page(
        __package__,
        "page.html.j2",
        scripts=[],
        styles=[web.asset(web.__name__, "base.css"), web.asset(__package__, "page.css")],
        title=sentences.headline(explained),
        summary=sentences.answer(explained),
        explained=explained,
        image=card(explained.image, "the image", shortened(printable(explained.name), 60)),
        copies=_copies(explained),
        denoised=[] if denoised is None else [card(each, f"copy {i + 1} denoised") for i, each in enumerate(denoised)],
        vote=vote_of(explained.counts, explained.picked, explained.q, explained.classes),
        vote_words=sentences.vote(explained),
        ruler=drawn,
        cards=cards,
        distance_words=sentences.distances(explained),
        attacks=_attacks(explained),
        attack_words=sentences.attack(explained),
        growth=_growth(explained),
        growth_curve=_growth_curve(explained),
        growth_words=sentences.growth(explained),
        limits=sentences.LIMITS,
        facts=_facts(explained, command),
    )


def write_explanation(explained: Explanation, path: Path | str, *, command: str | None = None) -> None:
    """Write `explanation_page` to `path`, all or nothing.

    Example:
        >>> import tempfile
        >>> import randsmooth as rs
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> explained = rs.explain(model, torch.rand(1, 8, 8), sigma=0.25, n=200, attack=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_explanation(explained, Path(folder) / "page.html")
        ...     [file.name for file in Path(folder).iterdir()]
        ['page.html']
    """
    write_atomically(Path(path), explanation_page(explained, command=command).encode())


@dataclass(frozen=True)
class Card:
    """A picture with its words.

    Attributes:
        uri: the picture as a `data:` URI.
        alt: what it shows, for those who do not see it.
        pixelated: whether its pixels are to be seen as squares.
        title, text: below it.
        letter: its place on the ruler.
        tone: what it is: "", "same" or "other".
    """

    uri: str
    alt: str
    pixelated: bool
    title: str
    text: str
    letter: str
    tone: str


def card(pixels: Pixels, alt: str, title: str = "", text: str = "", letter: str = "", tone: str = "") -> Card:
    """`pixels` (C, H, W), cut off at 0 and 1, as PNG; as JPEG where that would be large.

    One channel is grey, three are colours; of any other number the mean is shown.

    Example:
        >>> card(np.zeros((1, 8, 8), np.float32), "black").uri[:22]
        'data:image/png;base64,'
    """
    shown = pixels if pixels.shape[0] in (1, 3) else pixels.mean(axis=0, keepdims=True)
    levels = (np.clip(np.nan_to_num(shown), 0.0, 1.0) * 255.0).round().astype(np.uint8)
    image = Image.fromarray(levels[0] if len(levels) == 1 else levels.transpose(1, 2, 0))
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    uri = web.data_uri(image, "png") if levels.size <= SMALL else web.data_uri(image, "jpeg", quality=85)
    return Card(uri, alt, max(image.size) < 128, title, text, letter, tone)


def _copies(explained: Explanation) -> list[Card]:
    """The noisy copies, with the answers to them."""
    cards = []
    for i, (pixels, k) in enumerate(zip(explained.copies.pixels, explained.copies.answers, strict=True), 1):
        title, tone = sentences.called(explained, int(k)), "same" if k == explained.picked else "other"
        cards.append(card(pixels, f"noisy copy {i}, classified as {title}", title, tone=tone))
    return cards


def _distances(explained: Explanation) -> tuple[Ruler, list[Card]]:
    """The ruler, and the pictures of what stands on it."""
    found: list[tuple[float, Pixels, str, str]] = []
    tried, around = explained.attempts, explained.neighbours
    if tried is not None and tried.outside is not None:
        k = sentences.called(explained, tried.outside.predict)
        found.append((tried.outside.distance, tried.outside.point, f"an attack: {k}", "other"))
    if around is not None:
        for one, what, tone in ((around.same, "nearest", "same"), (around.other, "nearest other class:", "other")):
            if one is not None:
                found.append((one.distance, one.pixels, f"{what} {sentences.called(explained, one.label)}", tone))
    found.sort(key=lambda each: each[0])
    cards = [
        card(pixels, title, title, _in_radii(distance, explained), letter, tone)
        for letter, (distance, pixels, title, tone) in zip("ABC", found, strict=False)
    ]
    places = [(one.letter, distance) for one, (distance, *_) in zip(cards, found, strict=True)]
    if around is not None and around.typical is not None:
        places.append(("typical", around.typical))
    return ruler(explained.radius, places), cards


def _in_radii(distance: float, explained: Explanation) -> str:
    words = f"L2 {distance:.2f}"
    return words if explained.abstains else f"{words} = {distance / explained.radius:.1f} radii"


def _attacks(explained: Explanation) -> list[dict[str, Any]]:
    """For the attack inside the ball and the one outside: the change, amplified, and what becomes of the image."""
    tried = explained.attempts
    if tried is None:
        return []
    rows = []
    for name, found in (("Inside the ball", tried.inside), ("Outside", tried.outside)):
        if found is None:
            continue
        change, times = amplified(found.point - explained.image)
        answer = "abstains" if found.predict < 0 else f"answer {sentences.called(explained, found.predict)}"
        before = f"answer {sentences.called(explained, explained.predict)}"
        how = "on grey" if times == 1 else f"amplified {times} times, on grey"
        tone = "same" if found.predict in (explained.predict, -1) else "other"
        cards = [
            card(explained.image, "the image", "the image", before),
            card(change, "the change on grey", "the change", how),
            card(found.point, f"the changed image: {answer}", "image + change", answer, tone=tone),
        ]
        clipped = bool((found.point < 0.0).any() or (found.point > 1.0).any())
        rows.append({"name": f"{name}: L2 {found.distance:.2f}", "clipped": clipped, "cards": cards})
    return rows


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


def _growth(explained: Explanation) -> list[dict[str, str]]:
    """Radii by the number of samples, and how long that many take here."""
    s = explained.settings
    radii = radius_by_samples(explained.agreeing, explained.n, BUDGETS, alpha=s.alpha, sigma=explained.sigma)
    each = float(explained.certified.seconds[0]) / (explained.n + s.n0)
    rows = [
        {"n": f"{n:,}", "radius": sentences.down(r) if r > 0.0 else "abstains", "time": _duration(each * n)}
        for n, r in zip(BUDGETS, radii, strict=True)
    ]
    end = limit(explained.agreeing, explained.n, explained.sigma)
    last = "unknown" if math.isinf(end) else f"{end:.2f}" if end > 0.0 else "abstains"
    return [*rows, {"n": "without end", "radius": last, "time": ""}]


def _duration(seconds: float) -> str:
    if seconds < 1.0:
        return "under 1 s"
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _growth_curve(explained: Explanation) -> Curve | None:
    """The radius against the number of samples; None where no number certifies the class."""
    end = limit(explained.agreeing, explained.n, explained.sigma)
    if end <= 0.0:
        return None
    budgets = [round(10 ** (2 + 4 * i / (OF_CURVE - 1))) for i in range(OF_CURVE)]
    radii = radius_by_samples(
        explained.agreeing, explained.n, budgets, alpha=explained.settings.alpha, sigma=explained.sigma
    )
    marks = [(n, f"{n:,}" if n < 10_000 else f"{n // 1000:,}k" if n < 10**6 else "1M") for n in BUDGETS]
    dots = [i for i, n in enumerate(budgets) if n in BUDGETS]
    return curve(budgets, radii.tolist(), marks=marks, dots=dots, limit=None if math.isinf(end) else end)


def _facts(explained: Explanation, command: str | None) -> list[tuple[str, str]]:
    """What was certified, and how: enough to repeat it."""
    s, engine = explained.settings, explained.certified.engine
    guarantee = s.stopping_rule().guarantee()
    largest = round_down(Gaussian(explained.sigma).largest_radius(s.n, s.alpha), 3)
    facts: list[tuple[str, Any]] = [
        ("image", explained.name),
        ("shape", " × ".join(map(str, explained.image.shape))),
        ("guarantee", guarantee),
        ("sigma", explained.sigma),
        ("samples", f"{s.n0:,} that picked the class, {explained.n:,} that bounded its probability"),
        ("alpha", s.alpha),
        ("seed of the noise", str(explained.certified.seed)),
        ("largest radius that so many samples can prove", str(largest)),
        ("between the noisy copy and the label", list(notes_of(engine.model)) or "a network"),
        *([] if engine.mixes else [("note", BATCH_MATTERS)]),
        ("backend", f"{engine.backend.name}, {ARITHMETICS[engine.backend.precision]}, {engine.device.type}"),
        ("versions", versions()),
        *([("command", command)] if command else []),
    ]
    return [(name, setting(value)) for name, value in facts]


@dataclass(frozen=True)
class Bar:
    """One class of the vote: its name, its samples, and their share in percent."""

    name: str
    count: int
    share: float
    picked: bool


@dataclass(frozen=True)
class Vote:
    """The bars, and where the bound on p_A is, in percent and in words that are not above it."""

    bars: Sequence[Bar]
    lower: float
    lower_text: str


def vote_of(counts: NDArray[np.int64], picked: int, q: float, classes: Sequence[str]) -> Vote:
    """The bars of the classes with the most of `counts` (K,), the picked one among them; the rest is one bar."""
    n = max(1, int(counts.sum()))
    order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]]
    shown = order[:CLASSES]
    if picked not in shown:
        shown = [*shown[: CLASSES - 1], picked]
    bars = [(shortened(printable(classes[k]), 24), int(counts[k]), k == picked) for k in shown]
    if rest := [k for k in order if k not in shown]:
        bars.append((f"{len(rest)} other{'s' * (len(rest) > 1)}", int(counts[rest].sum()), False))
    lower = max(0.0, 1.0 - q)
    shares = [Bar(name, count, 100.0 * count / n, of) for name, count, of in bars]
    return Vote(shares, 100.0 * lower, sentences.share_down(lower))


@dataclass(frozen=True)
class Tick:
    """A mark of an axis: how far along it, in percent, and its words."""

    at: float
    text: str


@dataclass(frozen=True)
class Curve:
    """A line chart.

    Attributes:
        points: "x,y x,y ..." of the line, for a box of 100 by 100 with y downwards.
        x, y: marks of the axes; those of y are counted from the top.
        dots: (x, y) of points that are marked.
        limit: y of a dashed line; None without one.
    """

    points: str
    x: Sequence[Tick]
    y: Sequence[Tick]
    dots: Sequence[tuple[float, float]]
    limit: float | None


def curve(
    x: Sequence[float],
    y: Sequence[float],
    *,
    marks: Sequence[tuple[float, str]],
    dots: Sequence[int] = (),
    limit: float | None = None,
    last: float | None = None,
) -> Curve:
    """A chart of `y` against the logarithm of `x`, with `marks` on that axis and dots at some of the points.

    The axis goes on to `last`, where that is given.

    Example:
        >>> chart = curve([100, 1000], [0.0, 1.0], marks=[(100, "100")], dots=[1], limit=1.2)
        >>> chart.points, [tick.text for tick in chart.y]
        ('0.00,100.00 100.00,21.88', ['1.0', '0.5', '0'])
    """
    first, end = math.log(x[0]), math.log(x[-1] if last is None else last)
    top = max(*y, limit or 0.0, 1e-9) / HIGHEST

    def across(value: float) -> float:
        return 100.0 * (math.log(value) - first) / max(1e-12, end - first)

    def above(value: float) -> float:
        return 100.0 * (1.0 - value / top)

    places = [(across(a), above(b)) for a, b in zip(x, y, strict=True)]
    return Curve(
        " ".join(f"{a:.2f},{b:.2f}" for a, b in places),
        [Tick(across(value), text) for value, text in marks],
        [Tick(above(value), text) for value, text in reversed(ticks(top))],
        [places[i] for i in dots],
        None if limit is None else above(limit),
    )


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
    return [(i * step, f"{i * step:.{digits}f}" if i else "0") for i in range(math.floor(top / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Mark:
    """A distance on the ruler.

    Attributes:
        letter: stands for it in the drawing.
        at: percent of the width.
        level: 0, 1, ... rows above the line, so that letters do not cover each other.
    """

    letter: str
    at: float
    level: int


@dataclass(frozen=True)
class Ruler:
    """The ball and the distances around an image, at one scale.

    Attributes:
        centre: where the image is, in percent of the width.
        radius: of the ball, in percent of the width.
        height: of the drawing, in percent of its width.
        marks: the distances, nearest first.
        ticks: of the scale below.
    """

    centre: float
    radius: float
    height: float
    marks: Sequence[Mark]
    ticks: Sequence[Tick]


def ruler(radius: float, distances: Sequence[tuple[str, float]]) -> Ruler:
    """`distances` with their letters, and a ball of `radius` (0: none), on one scale.

    Example:
        >>> drawn = ruler(1.0, [("A", 2.0), ("B", 8.0)])
        >>> drawn.centre, [(mark.letter, round(mark.at, 1)) for mark in drawn.marks]
        (11.5, [('A', 31.5), ('B', 91.5)])
    """
    farthest = max([radius * 1.5, *(distance for _, distance in distances), 1e-9])
    room = 5.0 if radius < 0.05 * farthest else 1.5  # percent beside the ball, or beside the image alone
    unit = (91.5 - room) / (farthest + radius)
    centre = room + unit * radius
    placed: list[Mark] = []
    for letter, distance in sorted(distances, key=lambda each: each[1]):
        at = centre + unit * distance
        crowded = [mark.level for mark in placed if at - mark.at < LEVEL]
        placed.append(Mark(letter, at, next(level for level in range(99) if level not in crowded)))
    height = max(14.0, 2.0 * unit * radius + 2.0)
    scale = [Tick(centre + unit * value, text) for value, text in ticks(farthest)]
    return Ruler(round(centre, 2), unit * radius, height, placed, scale)
