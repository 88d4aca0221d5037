"""The rows of a log: its text, cut into columns, each cell with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.evidence import Floats, Ints
from randsmooth.certificates.logs.first_line import (
    COLUMNS,
    FIRST_BYTES,
    MOST_COLUMNS,
    check_names,
    column_names,
    names_without_header,
)
from randsmooth.certificates.logs.text import read_text
from randsmooth.documents import shown
from randsmooth.errors import WrongFile

NUMBER = re.compile(
    r"[-+]?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?", re.ASCII
)

# The end of a time with all its decimals, such as 0:00:01.250000.
WHOLE_TIME = re.compile(r".*\d:\d\d:\d\d\.\d{6}")


@dataclass(frozen=True)
class Lines:
    """The cells of a log by column, and the line of each row.

    Errors name the line of the row that is wrong.

    Attributes:
        path: the path of the file.
        columns: name -> the cells of the N rows, in the order of the file.
        line_numbers: (N,) the number of each row's line.
        headers: the numbers of the lines below the first that repeat the header, as a
            second run appends it.
    """

    path: Path
    columns: Mapping[str, Sequence[str]]
    line_numbers: Sequence[int]
    headers: Sequence[int] = ()

    @classmethod
    def of(cls, path: Path) -> Lines:
        """Read the log at `path`.

        Raises:
            WrongFile: the file is no log: it is empty, ragged, cut short, or without a
                column that a log needs.
        """
        text = read_text(path)
        lines = _numbered_lines(text)
        if not lines:
            raise WrongFile(
                f"{path} is empty; a log begins with the names of its columns",
                file=path,
            )
        first_number = next(iter(lines))
        first_line = lines[first_number]
        repeated_headers = list[int]()
        # Some programs write rows without a header: their columns are known.
        names = names_without_header(first_line)
        if not names:
            names = column_names(first_line)
            check_names(path, names, first_line)
            del lines[first_number]
            repeated_headers = [
                number for number, line in lines.items() if line == first_line
            ]

        rows = {
            number: line.split("\t", MOST_COLUMNS) for number, line in lines.items()
        }
        for number in repeated_headers:
            del rows[number]
        for number, row in rows.items():
            if len(row) != len(names):
                line = shown(repr(lines[number][:FIRST_BYTES]))
                raise WrongFile(
                    f"{path}, line {number}: {len(row)} cells instead of {len(names)}: "
                    f"a row that was cut short, or no row. It reads {line}",
                    file=path,
                )
        columns = {
            name: [row[column] for row in rows.values()]
            for column, name in enumerate(names)
        }
        _check_end(path, text, columns)
        return cls(path, columns, list(rows), repeated_headers)

    def numbers(self, name: str) -> Floats:
        """Return (N,) the numbers of a column.

        Raises:
            WrongFile: a cell holds none, or one that is not finite.
        """
        cells = self.columns[name]
        is_no_number = [NUMBER.fullmatch(cell) is None for cell in cells]
        self.refuse(name, is_no_number, "is no number")
        numbers = np.array(cells, np.float64)
        self.refuse(name, ~np.isfinite(numbers), "is too large a number")
        return numbers

    def integers(self, name: str, least: int, most: int, why: str = "") -> Ints:
        """Return (N,) the whole numbers of a column.

        Raises:
            WrongFile: one lies outside `least`..`most`. The message ends in `why`,
                which explains these limits.
        """
        numbers = self.numbers(name)
        outside = (numbers % 1 != 0) | (numbers < least) | (numbers > most)
        self.refuse(
            name, outside, f"is not a whole number from {least} to {most:,}{why}"
        )
        return numbers.astype(np.int64)

    def refuse(self, name: str, wrong: ArrayLike, why: str) -> None:
        """Raise WrongFile for the first row that is `wrong` (N,).

        The message tells its line in the file, and its cell in the column `name`.
        """
        rows = np.flatnonzero(wrong)
        if len(rows):
            row = rows[0]
            cell = shown(repr(self.columns[name][row]))
            raise WrongFile(
                f"{self.path}, line {self.line_numbers[row]}: {name}={cell} {why}",
                file=self.path,
            )

    @property
    def part(self) -> Ints:
        """(N,) the number of each row's part of the file, from 0 on.

        A part ends where the header stands again.
        """
        return np.searchsorted(self.headers, self.line_numbers).astype(np.int64)

    @property
    def starts(self) -> Ints:
        """(parts,) the first row of each part."""
        first_rows_below = np.searchsorted(self.line_numbers, self.headers)
        return np.append(0, first_rows_below).astype(np.int64)

    @property
    def unread(self) -> list[str]:
        """The names of the columns of which nothing is read.

        A column without a name, such as the index that pandas writes, is left out.
        """
        # COLUMNS has the columns that are read as its values; its keys are spellings.
        read_names = set(COLUMNS.values())
        return [name for name in self.columns if name and name not in read_names]


def _numbered_lines(text: str) -> dict[int, str]:
    """Return the lines that are not empty, by their numbers, which begin at 1."""
    numbered = enumerate(text.split("\n"), start=1)
    return {number: line for number, line in numbered if line}


def _check_end(path: Path, text: str, columns: Mapping[str, Sequence[str]]) -> None:
    """Raise Problem where the last line has no end, and may be cut."""
    if text.endswith("\n"):
        return
    # A last cell that was cut may still read as a number or a time. Only a time with
    # all its decimals is surely whole.
    last_column = list(columns)[-1]
    times = columns["time"]
    if last_column == "time" and times and WHOLE_TIME.fullmatch(times[-1]):
        return
    raise WrongFile(
        f"{path} ends inside its last line (cut short?); if it is whole, "
        "end it with a line "
        "break",
        file=path,
    )
