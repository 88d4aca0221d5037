"""Rows of cells as lines of text: aligned columns, Markdown, LaTeX."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], figures: Sequence[bool] = ()) -> list[str]:
    """Pad the cells of each column to one width.

    Args:
        rows: the cells of each row; all rows have the same number of cells.
        figures: for each column, whether it holds figures, which are aligned to the
            right. Columns beyond its end are aligned to the left.
    """
    padded = []
    for place, column in enumerate(zip(*rows, strict=True)):
        width = max(map(len, column))
        is_figures = place < len(figures) and figures[place]
        pad = str.rjust if is_figures else str.ljust
        padded.append([pad(cell, width) for cell in column])
    return [" ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


def pipes(rows: Sequence[Sequence[str]], figures: Sequence[bool]) -> list[str]:
    """Lay out a Markdown table of escaped cells; its first row is the head."""
    head, *body = rows
    rule = ["---:" if is_figures else "---" for is_figures in figures]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]


def tabular(rows: Sequence[Sequence[str]], figures: Sequence[bool]) -> list[str]:
    """Lay out a LaTeX table of escaped cells; its first row is the head."""
    head, *body = [rf"{' & '.join(cells)} \\" for cells in rows]
    sides = "".join("r" if is_figures else "l" for is_figures in figures)
    return [
        rf"\begin{{tabular}}{{{sides}}}",
        r"\hline",
        head,
        r"\hline",
        *body,
        r"\hline",
        r"\end{tabular}",
    ]
