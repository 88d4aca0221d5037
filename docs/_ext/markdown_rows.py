"""Rows of a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [_row(heads), _row(["---"] * len(heads)), *(_row([cell(text) for text in row]) for row in rows)]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """`text` on one line, without what would end the cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
