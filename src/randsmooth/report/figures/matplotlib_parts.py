"""What every figure drawn by matplotlib shares: how axes look, how names are written, how a file is made."""

from __future__ import annotations

import io
from typing import Any

from randsmooth.escape import printable, shortened
from randsmooth.report.figures.colours import DASHES

PAPER_FORMATS = ("png", "pdf", "svg")
LINE_STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))
NAME = 28  # characters: a legend's room is small


def plain_axes(axes: Any) -> None:
    """A light grid behind the curves, and no frame above and to the right."""
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_name(text: str, longest: int = NAME) -> str:
    """`text` for a legend. matplotlib hides labels that start with an underscore: a space of no width keeps them."""
    short = shortened(printable(text), longest)
    return f"\u200b{short}" if short.startswith("_") else short


def as_text(*drawn: Any) -> None:
    """Make matplotlib show the texts `drawn` as they are.

    A name from a file is no formula: $ begins none, and LaTeX, where it is set up, is not run.
    """
    for text in drawn:
        text.set(usetex=False, parse_math=False)


def saved(figure: Any, suffix: str, dpi: int) -> bytes:
    """The figure as a file of one of PAPER_FORMATS."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, dpi=dpi)
    return buffer.getvalue()
