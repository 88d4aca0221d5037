"""Rows of a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?:[ =][A-Za-z_]+=?[A-Z_]+)?")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [_row(heads), _row(["---"] * len(heads)), *(_row([cell(text) for text in row]) for row in rows)]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """`text` on one line, without what would end the cell; an option is made code, or it would lose a dash.

    Example:
        >>> cell("see --set")
        'see `--set`'
    """
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    parts[::2] = [OPTION.sub(r"`\g<0>`", part) for part in parts[::2]]
    return "`".join(parts)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
