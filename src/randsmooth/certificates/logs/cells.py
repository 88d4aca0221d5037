"""The cells of a text with tabs between them; errors name the line of the offending cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.documents import read_file, shown
from randsmooth.errors import InputError

MOST_BYTES = 2**28
MOST_LINES = 2 * 10**6  # ImageNet has 1.28 million training images
MOST_COLUMNS = 100

NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?"  # in one way: it is repeated below
CELL, CELLS = (re.compile(form, re.ASCII) for form in (NUMBER, rf"(?:{NUMBER}\n)*"))


@dataclass(frozen=True)
class Lines:
    """The cells of a text by column, and the line of each row.

    Attributes:
        path: of the file.
        columns: name -> (N,) texts.
        places: (N,) line numbers, from 1.
        ended: whether the last line ends with a line break.
    """

    path: Path
    columns: dict[str, Sequence[str]]
    places: Sequence[int]
    ended: bool

    def __len__(self) -> int:
        return len(self.places)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """(N,) the numbers of a column; InputError for a cell that holds none, or one that is not finite."""
        cells = self.columns[name]
        bad: ArrayLike = np.zeros(len(cells), np.bool_)
        if not CELLS.fullmatch("\n".join([*cells, ""])):  # cell by cell it takes ten times as long
            bad = [CELL.fullmatch(cell) is None for cell in cells]
        self.refuse(bad, lambda row: f"{name}={_quoted(cells[row])} is no number")
        numbers = np.array([float(cell) for cell in cells], np.float64)
        self.refuse(~np.isfinite(numbers), lambda row: f"{name}={_quoted(cells[row])} is too large a number")
        return numbers

    def integers(self, name: str, least: int, most: int, why: str = "") -> NDArray[np.int64]:
        """(N,) the whole numbers of a column; InputError for one outside `least`..`most` (`why` explains it)."""
        numbers, cells = self.numbers(name), self.columns[name]
        self.refuse(numbers % 1 != 0, lambda row: f"{name}={_quoted(cells[row])} is no whole number")
        self.refuse(numbers < least, lambda row: f"{name}={shown(cells[row])} is below {least}")
        self.refuse(numbers > most, lambda row: f"{name}={shown(cells[row])} is above {most:,}{why and f', {why}'}")
        return numbers.astype(np.int64)

    def refuse(self, bad: ArrayLike, say: Callable[[int], str]) -> None:
        """Raise InputError for the first row that is `bad` (N,), by its line in the file."""
        rows = np.flatnonzero(bad)
        if len(rows):
            row = int(rows[0])
            raise InputError(f"{self.path}, line {self.places[row]}: {say(row)}")


def _quoted(cell: str) -> str:
    return shown(repr(cell))


def read_lines(path: Path, names: Sequence[str] | None = None) -> Lines:
    """The cells of the file at `path`, whose columns are named by its first line, or by `names` if these are given.

    Blank lines are skipped.

    Raises:
        InputError: it is empty, too large or no text, its rows differ in length, or two columns have one name.
    """
    text = read_text(path)
    rows = _rows(text)
    if names is None:
        place, first = next(rows, (0, ""))
        names = first.split("\t", MOST_COLUMNS)
        if place == 0:
            raise InputError(f"{path} is empty; expected a line of column names, with tabs between")
        if len(names) > MOST_COLUMNS or len(set(names)) < len(names):
            raise InputError(f"{path} is not a certification log: more than {MOST_COLUMNS} columns, or one twice")
    places, cells = [], []
    for place, line in rows:
        row = line.split("\t", len(names))
        if len(row) != len(names):
            _refuse_ragged(path, place, len(row), len(names))
        places.append(place)
        cells.append(row)
    columns = zip(*cells, strict=True) if cells else [()] * len(names)
    return Lines(path, dict(zip(names, columns, strict=True)), places, text.endswith("\n"))


def _refuse_ragged(path: Path, place: int, got: int, expected: int) -> NoReturn:
    if got > expected:
        raise InputError(f"{path}, line {place}: more cells than its header, which has {expected}")
    raise InputError(f"{path}, line {place}: {got} cells instead of {expected} (row cut short?)")


def read_text(path: Path) -> str:
    """The text in the file at `path`, with one kind of line break.

    Raises:
        InputError: it is too large, or no text in UTF-8.
    """
    raw = read_file(path, MOST_BYTES)
    at = raw.find(b"\0")
    if at >= 0:
        line = raw.count(b"\n", 0, at) + 1
        raise InputError(f"{path}, line {line}: a zero byte; it is no text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: byte 0x{raw[error.start]:02x} is no text in UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.count("\n") > MOST_LINES:
        raise InputError(f"{path} has more than {MOST_LINES:,} lines, which is more than any file of ours")
    return text


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    return ((place, line) for place, line in enumerate(text.split("\n"), start=1) if line)
