"""Texts as matplotlib draws them: names from files stay text."""

from typing import Any

from randsmooth.escape import printable, shortened

# Characters of a name in the legend, or beside a point; longer ones are shortened.
NAME_LENGTH = 60


def legend_name(text: str) -> str:
    """Return `text` for a legend.

    matplotlib hides labels that start with an underscore: a space of no width keeps
    them.
    """
    short = shortened(printable(text), NAME_LENGTH)
    return f"\u200b{short}" if short.startswith("_") else short


def as_text(*drawn: Any) -> None:
    """Make matplotlib show the texts `drawn` as they are.

    A name from a file is no formula: $ begins none, and LaTeX, where it is set up, is
    not run.
    """
    for text in drawn:
        text.set(usetex=False, parse_math=False)
