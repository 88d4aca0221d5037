"""Rows of cells as lines of text, aligned or in Markdown; and how many columns they have."""

import re
import textwrap
from collections.abc import Sequence

# The letters before a line that belongs to the line above.
INDENT = "  "

# Spaces between two columns: heads of several words, such as "at 0", need more than one.
GAP = 1
GAP_BETWEEN_WORDS = 2

# Marks a place in a long word where a line may end: a space that no sentence holds.
BREAK = "\x0b"


def wrapped(sentence: str, width: int, indent: str = "") -> list[str]:
    """Return a sentence as lines of at most `width` letters, broken at spaces if possible.

    Args:
        sentence: the text, on one line.
        width: the most letters of a line.
        indent: the letters before each line but the first.

    Example:
        >>> wrapped("one two three", 9, "  ")
        ['one two', '  three']
        >>> wrapped("in runs/long/path.tsv", 12, "  ")
        ['in runs/', '  long/', '  path.tsv']
    """
    longest = width - len(indent)
    # A path that is longer than a line is broken behind slashes. `wrap` takes the mark
    # there for a space, and leaves it in the middle of lines.
    breakable = re.sub(
        rf"\S{{{longest + 1},}}",
        lambda word: word[0].replace("/", f"/{BREAK}"),
        sentence,
    )
    lines = textwrap.wrap(
        breakable,
        width,
        subsequent_indent=indent,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return [line.replace(BREAK, "") for line in lines]


def fitted(
    rows: Sequence[Sequence[str]],
    width: int,
    figures: Sequence[bool] = (),
    gap: int = GAP,
) -> list[str]:
    """Return rows as aligned lines, of at most `width` letters if possible.

    Where rows are too long, the first cell of each takes a line of its own. Where they
    are still too long, each row becomes a block: a line with its first cell, and below a
    line for each other cell, with the head of its column.

    Args:
        rows: the cells of each row; the first row is the head.
        width: the most letters of a line.
        figures, gap: as in `aligned`.

    Example:
        >>> rows = [["name", "share"], ["a-long-name", "50.0"]]
        >>> fitted(rows, 20, [False, True])
        ['name        share', 'a-long-name  50.0']
        >>> fitted(rows, 12, [False, True])
        ['  share', 'a-long-name', '   50.0']
    """
    lines = aligned(rows, figures, gap)
    if widest(lines) <= width:
        return lines
    head, *body = rows
    below_names = aligned([row[1:] for row in rows], figures[1:], gap)
    if widest(below_names) + len(INDENT) <= width:
        lines = [INDENT + below_names[0]]
        for row, cells in zip(body, below_names[1:], strict=True):
            lines += [row[0], INDENT + cells]
        return lines
    lines = []
    for row in body:
        head_and_cell = [*zip(head[1:], row[1:], strict=True)]
        lines.append(row[0])
        lines += [INDENT + line for line in aligned(head_and_cell, gap=gap)]
    return lines


def widest(lines: Sequence[str]) -> int:
    """Return the number of letters in the longest line."""
    return max(map(len, lines), default=0)


def aligned(
    rows: Sequence[Sequence[str]], figures: Sequence[bool] = (), gap: int = GAP
) -> list[str]:
    """Return each row as a line, the cells of each column padded to one width.

    Args:
        rows: the cells of each row; all rows have the same number of cells.
        figures: for each column, whether it holds figures, which are aligned to the
            right. Columns beyond its end are aligned to the left.
        gap: the number of spaces between two columns.
    """
    padded = []
    for place, column in enumerate(zip(*rows, strict=True)):
        width = max(map(len, column))
        is_figures = place < len(figures) and figures[place]
        pad = str.rjust if is_figures else str.ljust
        padded.append([pad(cell, width) for cell in column])
    between = " " * gap
    return [between.join(cells).rstrip() for cells in zip(*padded, strict=True)]


def pipes(rows: Sequence[Sequence[str]], figures: Sequence[bool]) -> list[str]:
    """Return rows as the lines of a Markdown table.

    Args:
        rows: the cells of each row, escaped; the first row is the head.
        figures: for each column, whether it holds figures, which are aligned to the
            right.
    """
    head, *body = rows
    rule = ["---:" if is_figures else "---" for is_figures in figures]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]


def thinned(radii: Sequence[float], most: int) -> list[float]:
    """Return at most `most` of the radii.

    Where there are more, every second radius is dropped, again and again. The first
    stays.

    Example:
        >>> thinned([0.0, 0.25, 0.5, 0.75, 1.0], most=3)
        [0.0, 0.5, 1.0]
    """
    kept = list(radii)
    while len(kept) > most:
        kept = kept[::2]
    return kept
