"""A table that floats in a paper: as wide as a column where it fits, else as the page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# What a paper must load.
PACKAGES = r"% needs \usepackage{booktabs}"

# Widths in points of a column and of the page in the narrowest usual paper of two
# columns: `article` on letter paper. Those of ICML and CVPR are wider.
COLUMN_WIDTH = 229.0
PAGE_WIDTH = 469.0
# Commands for the size of letters, and the points of a quad in it, from the largest.
SIZES = ((r"\small", 9.25), (r"\footnotesize", 8.5), (r"\scriptsize", 7.6))
# Sizes in which a table of one column is legible; one of the page may be smaller.
SIZES_OF_A_COLUMN = 2
# Points between two columns of a table, half of them on either side.
GAP = 8.0

# Widths of letters of Computer Modern in quads; of bold ones all are wider.
WIDTH_OF_LETTER = {" ": 0.33, **dict.fromkeys(".,:;'|!()[]-/ijlt", 0.33)}
WIDTH_OF_OTHERS = 0.52
WIDTH_OF_CAPITALS = 0.74
BOLD = 1.15
# What a label does not hold, as some packages give it a meaning.
UNSAFE_IN_LABELS = re.compile(r"[^A-Za-z0-9.]+")
COMMAND = re.compile(r"\\[a-zA-Z]+|[{}\\]")


@dataclass(frozen=True)
class Span:
    """A heading above several columns.

    Attributes:
        title: the escaped text.
        first: the place of the first of the columns.
        columns: how many they are, side by side.
    """

    title: str
    first: int
    columns: int

    @property
    def places(self) -> range:
        """Return the places of its columns."""
        return range(self.first, self.first + self.columns)


def label_of(*words: str) -> str:
    """Return a name by which a paper refers to a table, of what the table is about.

    Example:
        >>> label_of("certified", "cifar10", "sigma 0.5")
        'tab:certified-cifar10-sigma-0.5'
    """
    parts = [UNSAFE_IN_LABELS.sub("-", word).strip("-") for word in words]
    return f"tab:{'-'.join(filter(None, parts)).lower()}"


def floating_table(
    rows: Sequence[Sequence[str]],
    figures: Sequence[bool],
    caption: str,
    span: Span | None = None,
    *,
    label: str,
) -> list[str]:
    r"""Return the lines of a `table` or a `table*` that needs booktabs alone.

    Args:
        rows: the escaped cells of each row; the first row is the head.
        figures: for each column, whether it holds figures, which stand to the right.
        caption: the escaped caption.
        span: a heading above some of the columns.
        label: the name by which a paper refers to the table: letters, digits, ".", ":"
            and "-" alone (see `label_of`).

    Example:
        >>> rows = [["Method", "0"], ["macer", "64.7"]]
        >>> lines = floating_table(rows, [False, True], "A log.", label="tab:a-log")
        >>> print("\n".join(lines))
        % needs \usepackage{booktabs}
        \begin{table}[tb]
        \centering
        \small
        \caption{A log.}
        \label{tab:a-log}
        \smallskip
        \setlength{\tabcolsep}{4pt}
        \begin{tabular}{@{}lr@{}}
        \toprule
        Method & 0 \\
        \midrule
        macer & 64.7 \\
        \bottomrule
        \end{tabular}
        \end{table}
    """
    columns = list(zip(*rows, strict=True))
    environment, size, blocks = _place(columns, span)
    sides = ["r" if is_figures else "l" for is_figures in figures]
    lines = [
        PACKAGES,
        rf"\begin{{{environment}}}[tb]",
        r"\centering",
        size,
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        r"\smallskip",
        rf"\setlength{{\tabcolsep}}{{{GAP / 2:g}pt}}",
    ]
    for block in blocks:
        if block is not blocks[0]:
            lines.append(r"\par\medskip")
        places = "".join(sides[place] for place in block)
        head, *body = [
            rf"{' & '.join(row[place] for place in block)} \\" for row in rows
        ]
        lines += [
            rf"\begin{{tabular}}{{@{{}}{places}@{{}}}}",
            r"\toprule",
            *_spanning(span, block),
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    return [*lines, rf"\end{{{environment}}}"]


def _spanning(span: Span | None, block: Sequence[int]) -> list[str]:
    """Return the line of the heading above several columns, and the rule below it.

    Without a heading above any column of the block there are no lines.
    """
    if span is None:
        return []
    below = [place for place, column in enumerate(block) if column in span.places]
    if not below:
        return []
    # One & ends each column before the heading, and one each column behind it.
    left = " & " * below[0]
    right = " &" * (len(block) - 1 - below[-1])
    return [
        rf"{left}\multicolumn{{{len(below)}}}{{c}}{{{span.title}}}{right} \\",
        rf"\cmidrule(lr){{{below[0] + 1}-{below[-1] + 1}}}",
    ]


def _place(
    columns: Sequence[Sequence[str]], span: Span | None
) -> tuple[str, str, list[list[int]]]:
    """Return the environment, the size of letters, and the blocks of columns.

    A table that does not fit on the page is cut into blocks. Each begins with the
    columns that say what a row is.
    """
    quads = [max(map(_quads, column)) for column in columns]
    whole = list(range(len(columns)))
    for size, quad in SIZES[:SIZES_OF_A_COLUMN]:
        if _width(whole, quads, quad, span) <= COLUMN_WIDTH:
            return "table", size, [whole]
    for size, quad in SIZES:
        if _width(whole, quads, quad, span) <= PAGE_WIDTH:
            return "table*", size, [whole]

    smallest, quad = SIZES[-1]
    # The figures begin below the heading; without one, behind the first column.
    names = whole[: 1 if span is None else span.first]
    if _width(names, quads, quad, span) > PAGE_WIDTH / 2.0:
        # With such names a few figures a block would fit, or none.
        return "table*", smallest, [whole]
    blocks = [list(names)]
    for place in whole[len(names) :]:
        longer = [*blocks[-1], place]
        is_full = _width(longer, quads, quad, span) > PAGE_WIDTH
        if is_full and blocks[-1] != names:
            blocks.append([*names, place])
        else:
            blocks[-1] = longer
    return "table*", smallest, blocks


def _width(
    block: Sequence[int], quads: Sequence[float], quad: float, span: Span | None
) -> float:
    """Return about how wide columns are together, in points, as `quad` is."""
    widths = {place: quad * quads[place] + GAP for place in block}
    # There is no gap before the first column, and none behind the last (@{}).
    total = sum(widths.values()) - GAP
    if span is None:
        return total
    # A heading that is wider than its columns makes them wider.
    below = sum(width for place, width in widths.items() if place in span.places)
    return total + max(0.0, quad * _quads(span.title) + GAP - below)


def _quads(cell: str) -> float:
    """Return about how wide an escaped cell is printed, in quads."""
    width = sum(map(_quads_of_letter, COMMAND.sub("", cell)))
    return BOLD * width if r"\textbf" in cell else width


def _quads_of_letter(letter: str) -> float:
    """Return about how wide a letter is printed, in quads."""
    if letter.isupper():
        return WIDTH_OF_CAPITALS
    return WIDTH_OF_LETTER.get(letter, WIDTH_OF_OTHERS)
