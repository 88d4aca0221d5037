"""Texts in matplotlib's figures: a name from a file is text, never a formula."""

from __future__ import annotations

from typing import Any

from randsmooth.escape import printable, shortened

NAME = 28  # characters: a legend's room is small


def name(text: str, longest: int = NAME) -> str:
    """`text` for a legend. matplotlib hides labels that start with an underscore: a space of no width keeps them."""
    short = shortened(printable(text), longest)
    return f"\u200b{short}" if short.startswith("_") else short


def as_text(*drawn: Any) -> None:
    """Have matplotlib's texts `drawn` as they are: $ begins no formula, and LaTeX, where it is set up, is not run."""
    for text in drawn:
        text.set(usetex=False, parse_math=False)
