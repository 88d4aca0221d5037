"""Colours of the pages: text and marks that differ enough from what is behind them, in each scheme."""

import re
from itertools import product
from pathlib import Path

import pytest

import randsmooth
from randsmooth.report.web import asset

ROOM = Path(randsmooth.__file__).parent
# WCAG 2.2 AA, 1.4.3 and 1.4.11.
LEAST_OF_TEXT = 4.5
LEAST_OF_MARKS = 3.0
GROUNDS = ("ground", "panel")
TEXT = ("ink", "soft", "grey", "alarm", "accent", "warn-ink")
MARKS = ("warn",)

Palette = dict[str, tuple[int, ...]]


def luminance(colour: tuple[int, ...]) -> float:
    """WCAG's relative luminance of (red, green, blue) from 0 to 255."""
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (part / 255 for part in colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    darker, lighter = sorted((luminance(a), luminance(b)))
    return (lighter + 0.05) / (darker + 0.05)


def colour_of(text: str) -> tuple[int, ...]:
    """(red, green, blue) of #abc, #aabbcc or `1, 2, 3`."""
    if not text.startswith("#"):
        return tuple(map(int, text.split(",")))
    digits = text[1:]
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    return tuple(bytes.fromhex(digits))


def variables(rules: str) -> Palette:
    """The colours that CSS rules give to variables; the last of a name holds."""
    found = re.findall(r"--([\w-]+):\s*(#[\da-f]+|\d+, \d+, \d+)", rules)
    return {name: colour_of(text) for name, text in found}


def of_medium(styles: str, medium: str | None) -> str:
    """The rules in blocks for one medium, such as print; None: those in no block."""
    inside = ""
    outside = ""
    rest = styles
    while "@media" in rest:
        before, _, rest = rest.partition("@media")
        outside += before
        condition, _, rest = rest.partition("{")
        depth = 1
        end = 0
        while depth:
            depth += {"{": 1, "}": -1}.get(rest[end], 0)
            end += 1
        if medium is not None and medium in condition:
            inside += rest[: end - 1]
        rest = rest[end:]
    return outside + rest if medium is None else inside


def palettes() -> dict[str, Palette]:
    """Of each scheme in which a page of ours is shown, the colours by name."""
    pages = asset("randsmooth.report.web", "base.css")
    pages += asset("randsmooth.app", "page.css")
    light = variables(of_medium(pages, None))
    dark = light | variables(of_medium(pages, "prefers-color-scheme: dark"))
    named = {"light": light, "dark": dark}
    for path in sorted(ROOM.glob("*/**/*.css")):
        printed = variables(of_medium(path.read_text(), "print"))
        if printed:
            named[f"{path.parent.name}/{path.stem} printed"] = light | printed
    return named


PALETTES = palettes()


def test_the_contrast_of_known_colours_is_that_of_the_standard() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21.0)
    assert contrast(colour_of("#777"), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)
    assert len(PALETTES) == 6
    assert PALETTES["light"]["ground"] != PALETTES["dark"]["ground"]


@pytest.mark.parametrize("scheme", PALETTES)
def test_text_and_marks_differ_enough_from_what_is_behind_them(scheme: str) -> None:
    palette = PALETTES[scheme]
    for names, least in ((TEXT, LEAST_OF_TEXT), (MARKS, LEAST_OF_MARKS)):
        for name, ground in product(names, GROUNDS):
            reached = contrast(palette[name], palette[ground])
            assert reached >= least, (scheme, name, ground, round(reached, 2))
