"""Names, classes and notes from files are data: these functions keep them text.

There is one for each kind of output. HTML is escaped by the templates (`report.web`).
"""

import csv
import html
import io
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

T = TypeVar("T")

# The most characters of a name in a table or a sentence; names of files are rarely longer.
LONGEST = 120

# The most characters of a sentence or a setting, and of one text within a setting: a
# guarantee has fewer.
LONG = 1000
LONG_PART = 400

NOT_RECORDED = "not recorded"

# The most names in a list, unless it says otherwise.
MOST_NAMES = 3

# Letters that mean something anywhere; those that begin a list; and what makes a link of
# https://... or of www.
MARKDOWN = re.compile(
    r"([\\`*_{}\[\]#!|~$&<>]|\A[+-]|(?<=\d)[.)](?=\s)|:(?=//)|(?<=www)\.)"
)
LATEX = {letter: f"\\{letter}" for letter in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # After a line break, LaTeX would take it for an optional argument.
    "[": "{[}",
}

# What spreadsheets take a formula by, wide letters among them.
FORMULA = re.compile(r"[=+\-@＝＋－＠]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def printable(text: str) -> str:
    r"""Return `text` on one line, with what is not printable spelled out, as in \x1b.

    Not printable are a terminal's control characters, line breaks of any kind, characters
    that reverse or hide those beside them, as \u202e does, and halves of surrogate pairs,
    which cannot be written to a file at all.

    Example:
        >>> printable("a\tb")
        'a\\tb'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return `text` with … in place of its middle where it is longer than `longest`.

    Similar names often differ at an end.

    Example:
        >>> shortened("cifar10-sigma0.5-amplify", longest=11)
        'cifar…plify'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def few_of(things: Sequence[T], most: int) -> Sequence[T]:
    """Return the first things of many, and all where one more is left at most.

    "And 1 more" would be as long as that one itself.

    Example:
        >>> few_of("abcd", most=3), few_of("abcde", most=3)
        ('abcd', 'abc')
    """
    return things if len(things) <= most + 1 else things[:most]


def names_of(names: Sequence[object], most: int = MOST_NAMES) -> str:
    """Return the names in a list; of many the first ones, and the number of the others.

    Example:
        >>> names_of(["a", "b", "c", "d"]), names_of(["a", "b", "c", "d", "e"])
        ('a, b, c, d', 'a, b, c and 2 more')
    """
    shown = few_of(names, most)
    listed = ", ".join(map(str, shown))
    others = len(names) - len(shown)
    return f"{listed} and {others:,} more" if others else listed


def fact_text(value: Any) -> str:
    """Return a fact of a header as text.

    Numbers have no tail of digits, nested values are flattened, and an empty one reads "not
    recorded".

    Example:
        >>> fact_text({"lr": 0.1 + 0.2, "steps": 20000, "teacher": None}), fact_text(None)
        ('lr 0.3, steps 20,000, teacher none', 'not recorded')
    """
    return shortened(_flat(value), LONG)


def _flat(value: Any) -> str:
    """Return a value as text, with the values in it beside each other."""
    if value is None or value in ("", (), [], {}):
        return NOT_RECORDED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(_flat_entry(name, part) for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_flat, value))
    return shortened(printable(str(value)), LONG_PART)


def _flat_entry(name: object, value: Any) -> str:
    """Return a name and its value as text; of a setting, None is a value."""
    text = "none" if value is None else _flat(value)
    return f"{printable(str(name))} {text}"


def say(text: str | Path = "", *, end: str = "\n", file: TextIO | None = None) -> None:
    """Print `text` with what is not printable spelled out.

    Line breaks in a text are kept, those of a path are spelled out, too. A name within a
    text must go through `printable` first, for it may hold a line break.

    Args:
        text: or a path.
        end: what is printed after it.
        file: default: stdout.
    """
    lines = text.split("\n") if isinstance(text, str) else [str(text)]
    if file is None:
        file = sys.stdout
    print("\n".join(map(printable, lines)), end=end, file=file, flush=True)


def markdown(text: str) -> str:
    r"""Return `text` as Markdown shows it as it is, in a paragraph or in a cell.

    Example:
        >>> print(markdown("a*b|c"))
        a\*b\|c
    """
    return MARKDOWN.sub(r"\\\1", printable(text))


def latex(text: str) -> str:
    r"""Return `text` as LaTeX prints it as it is.

    That holds behind a line break, too, whose option a star would be.

    Example:
        >>> print(latex("5% of p_A"))
        5\% of p\_A
    """
    escaped = "".join(LATEX.get(letter, letter) for letter in printable(text))
    if escaped.startswith("*"):
        return f"{{*}}{escaped[1:]}"
    return escaped


def plotly(text: str, longest: int = LONGEST) -> str:
    """Return `text` as plotly shows it as it is.

    It reads a little HTML in names and labels, and formulas between $ and $. Of a quotation
    mark's name it knows nothing, and a mark means nothing to it.
    """
    escaped = html.escape(shortened(printable(text), longest), quote=False)
    return escaped.replace("$", "&#36;")


def cell(value: Any) -> Any:
    """Return a cell of a CSV file.

    Text that a spreadsheet would take for a formula has ' before it; numbers stay numbers.
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    if FORMULA.match(text) and not NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def to_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return the CSV of `rows`, None for an empty cell.

    All texts are quoted where one holds a semicolon, which spreadsheets of many languages
    take for the end of a cell.
    """
    cells = [[cell(value) for value in row] for row in rows]
    texts = [value for row in cells for value in row if isinstance(value, str)]
    has_semicolon = any(";" in text for text in texts)
    buffer = io.StringIO()
    writer = csv.writer(
        buffer,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if has_semicolon else csv.QUOTE_MINIMAL,
    )
    writer.writerows(cells)
    return buffer.getvalue()


def to_json(content: Any, indent: int | None = 2) -> str:
    r"""Return `content` as JSON; what is not printable is written \uXXXX."""
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text
    )
