"""The page that explains the certificate of one image: an HTML file that opens anywhere, offline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.atomic import write_atomically
from randsmooth.certificates import ARITHMETICS, BATCH_MATTERS
from randsmooth.escape import printable, setting, shortened
from randsmooth.explanation import sentences
from randsmooth.explanation.charts import Curve, Ruler, curve, ruler
from randsmooth.explanation.growth import BUDGETS, limit, radius_by_samples
from randsmooth.explanation.one_image import Explanation
from randsmooth.explanation.pictures import Picture, amplified, picture
from randsmooth.models import notes_of
from randsmooth.report import web
from randsmooth.versions import versions

CLASSES = 6  # bars of the vote, at most; the others are one
OF_CURVE = 61  # points of the curve of radii


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


@dataclass(frozen=True)
class Card:
    """A picture with its words; `letter` is its place on the ruler, `tone` says what it is: "", "same" or "other"."""

    picture: Picture
    title: str
    text: str = ""
    letter: str = ""
    tone: str = ""


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
    return web.page(
        "randsmooth.explanation",
        "page.html.j2",
        scripts=[],
        styles=[web.asset("randsmooth.report.web", "base.css"), web.asset("randsmooth.explanation", "page.css")],
        title=sentences.headline(explained),
        summary=sentences.answer(explained),
        explained=explained,
        image=_card(explained.image, f"{shortened(printable(explained.name), 60)}", "the image"),
        copies=_copies(explained),
        denoised=_denoised(explained),
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


def vote_of(counts: NDArray[np.int64], picked: int, q: float, classes: Sequence[str]) -> Vote:
    """The bars of the classes with the most of `counts` (K,), the picked one among them; the rest is one bar."""
    n = max(1, int(counts.sum()))
    order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]]
    shown = order[:CLASSES]
    if picked not in shown:
        shown = [*shown[: CLASSES - 1], picked]
    bars = [Bar(_short(classes[k]), int(counts[k]), 100.0 * int(counts[k]) / n, k == picked) for k in shown]
    rest = [k for k in order if k not in shown]
    if rest:
        left = int(counts[rest].sum())
        bars.append(Bar(f"{len(rest)} other{'s' * (len(rest) > 1)}", left, 100.0 * left / n, False))
    lower = max(0.0, 1.0 - q)
    return Vote(bars, 100.0 * lower, sentences.share_down(lower))


def _short(name: str) -> str:
    return shortened(printable(name), 24)


def _card(pixels: NDArray[np.float32], title: str, alt: str, text: str = "", letter: str = "", tone: str = "") -> Card:
    return Card(picture(pixels, alt), title, text, letter, tone)


def _copies(explained: Explanation) -> list[Card]:
    """The noisy copies, with the answers to them."""
    cards = []
    copies = zip(explained.copies.pixels, explained.copies.answers.tolist(), strict=True)
    for i, (pixels, k) in enumerate(copies, 1):
        title = sentences.called(explained, k)
        tone = "same" if k == explained.picked else "other"
        cards.append(_card(pixels, title, f"noisy copy {i}, classified as {title}", tone=tone))
    return cards


def _denoised(explained: Explanation) -> list[Card]:
    found = explained.copies.denoised
    return [] if found is None else [_card(each, "", f"copy {i + 1} denoised") for i, each in enumerate(found)]


def _distances(explained: Explanation) -> tuple[Ruler, list[Card]]:
    """The ruler, and the pictures of what stands on it."""
    found: list[tuple[float, NDArray[np.float32], str, str]] = []
    tried, around = explained.attempts, explained.neighbours
    if tried is not None and tried.outside is not None:
        k = sentences.called(explained, tried.outside.predict)
        found.append((tried.outside.distance, tried.outside.point, f"an attack: {k}", "other"))
    if around is not None and around.same is not None:
        k = sentences.called(explained, around.same.label)
        found.append((around.same.distance, around.same.pixels, f"nearest {k}", "same"))
    if around is not None and around.other is not None:
        k = sentences.called(explained, around.other.label)
        found.append((around.other.distance, around.other.pixels, f"nearest other class: {k}", "other"))
    found.sort(key=lambda each: each[0])
    cards = [
        _card(pixels, title, title, _in_radii(distance, explained), letter, tone)
        for letter, (distance, pixels, title, tone) in zip("ABCDEFGH", found, strict=False)
    ]
    places = [(card.letter, distance) for card, (distance, *_) in zip(cards, found, strict=True)]
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
        changed = found.predict not in (explained.predict, -1)
        before, tone = f"answer {sentences.called(explained, explained.predict)}", "other" if changed else "same"
        how = "on grey" if times == 1 else f"amplified {times} times, on grey"
        cards = [
            _card(explained.image, "the image", "the image", before),
            _card(change, "the change", "the change on grey", how),
            _card(found.point, "image + change", f"the changed image: {answer}", answer, tone=tone),
        ]
        clipped = bool((found.point < 0.0).any() or (found.point > 1.0).any())
        rows.append({"name": f"{name}: L2 {found.distance:.2f}", "clipped": clipped, "cards": cards})
    return rows


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
    s, engine = explained.settings, explained.certified.drawn.engine
    guarantee = s.stopping_rule().guarantee()
    largest = bounds.round_down(bounds.largest_radius(s.n, s.alpha, explained.sigma), 3)
    facts: list[tuple[str, Any]] = [
        ("image", explained.name),
        ("shape", " × ".join(map(str, explained.image.shape))),
        ("guarantee", guarantee),
        ("sigma", explained.sigma),
        ("samples", f"{s.n0:,} that picked the class, {explained.n:,} that bounded its probability"),
        ("alpha", s.alpha),
        ("seed of the noise", str(explained.certified.drawn.engine.seed)),
        ("largest radius that so many samples can prove", str(largest)),
        ("between the noisy copy and the label", list(notes_of(engine.model)) or "a network"),
        *([] if engine.mixes else [("note", BATCH_MATTERS)]),
        ("backend", f"{engine.backend.name}, {ARITHMETICS[engine.backend.precision]}, {engine.device.type}"),
        ("versions", versions()),
        *([("command", command)] if command else []),
    ]
    return [(name, setting(value)) for name, value in facts]
