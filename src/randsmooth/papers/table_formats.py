"""A table of texts as plain text, Markdown or LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import pandas as pd

from randsmooth.escape import latex, markdown, printable
from randsmooth.report.formats import left, right

FIGURE = re.compile(r"[+-]?[\d,]+(\.\d+)?(e[+-]\d+)?")


def to_text(frame: pd.DataFrame, under: Sequence[str] = ()) -> str:
    """Aligned columns, texts to the left and figures to the right; the sentences `under` it below."""
    cells = [[printable(str(cell)) for cell in (head, *frame[head])] for head in frame.columns]
    aligned = [_align(column) for column in cells]
    lines = [" ".join(line).rstrip() for line in zip(*aligned, strict=True)]
    return "\n".join([*lines, *(f"\n{printable(sentence)}" for sentence in under)]) + "\n"


def to_markdown(frame: pd.DataFrame, under: Sequence[str] = ()) -> str:
    """A pipe table, with the sentences `under` it below."""
    rule = ["---:" if _is_figures(frame[head]) else "---" for head in frame.columns]
    head, *rest = [[markdown(cell) for cell in row] for row in _cells(frame)]
    lines = [f"| {' | '.join(row)} |" for row in [head, rule, *rest]]
    return "\n".join([*lines, *(f"\n{markdown(sentence)}" for sentence in under)]) + "\n"


def to_latex(frame: pd.DataFrame, under: Sequence[str] = ()) -> str:
    """A tabular that needs no package; each sentence `under` it is a paragraph below."""
    form = "".join("r" if _is_figures(frame[head]) else "l" for head in frame.columns)
    lines = [" & ".join(map(latex, row)) + r" \\" for row in _cells(frame)]
    paragraphs = [f"\n{latex(sentence)}" for sentence in under]
    body = [lines[0], r"\hline", *lines[1:]]
    return "\n".join([rf"\begin{{tabular}}{{{form}}}", r"\hline", *body, r"\hline", r"\end{tabular}", *paragraphs, ""])


def legible(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as readable text: five digits, whole numbers with commas, nothing for NaN."""
    return frame.map(_legible)


def _legible(value: object) -> str:
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return ""
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.5g}"


def _cells(frame: pd.DataFrame) -> list[list[str]]:
    """The headings, then the rows."""
    return [
        [str(head) for head in frame.columns],
        *([str(cell) for cell in row] for row in frame.itertuples(index=False)),
    ]


def _align(column: list[str]) -> list[str]:
    return right(column) if _is_figures(pd.Series(column[1:], dtype=str)) else left(column)


def _is_figures(column: pd.Series) -> bool:
    cells = [str(cell) for cell in column if str(cell)]
    return bool(cells) and all(FIGURE.fullmatch(cell) for cell in cells)


FORMATS: dict[str, Callable[[pd.DataFrame, Sequence[str]], str]] = {"txt": to_text, "md": to_markdown, "tex": to_latex}
