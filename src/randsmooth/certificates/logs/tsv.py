"""The TSV logs of the literature, in the forms in which they circulate.

Most are written by `certify.py` of Cohen et al. 2019 or a descendant of it: `idx label predict radius correct time`,
one line an image. These variants are read too: `time` in plain seconds, `correct` as a running total (Carlini et al.
2023), further columns at the end, and lines without header and `idx` (Lei et al. 2025).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.header import Header
from randsmooth.certificates.logs.inferred import CLASSES, path_facts, stem_of
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats, Ints
from randsmooth.documents import read_file, shown
from randsmooth.errors import ForeignFile, InputError

TSV_COLUMNS = ["idx", "label", "predict", "radius", "correct", "time"]
UNNUMBERED = "the log does not say which images it is about; they are numbered -1, -2, ... in its order"
FIRST = 400  # bytes that hold the first line of any log
ROW = re.compile(r"(-?\d+\t){1,2}-?\d+\t[\d.]+(e[-+]?\d+)?\t[01]\t[\d:.]+")  # numbers where a header should be
NUMBER = re.compile(r"[-+]?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?", re.ASCII)
CLOCK = re.compile(r"(?:(\d{1,4}) days?, )?(\d{1,4}):([0-5]?\d):([0-5]?\d(?:\.\d{0,12})?)", re.ASCII)
WHOLE_CLOCK = re.compile(r".*\d:\d\d:\d\d\.\d{6}")
LARGEST = 1000.0  # radius: more than any sigma up to 100 gives to any number of samples (`check_sigma`)
MOST_CLASSES = 100_000
LAST = 10**9  # image
LONGEST = 10**8  # seconds, three years
MOST_BYTES, MOST_LINES, MOST_COLUMNS = 2**28, 2 * 10**6, 100  # ImageNet has 1.28 million training images


class PredictionLog(ForeignFile):
    """A log of predictions (`predict.py`): it certifies nothing, and is no table of certificates.

    Example:
        >>> _ = Path("predictions").write_text("idx\\tlabel\\tpredict\\tcorrect\\ttime\\n")
        >>> read_tsv("predictions")
        Traceback (most recent call last):
            ...
        randsmooth.certificates.logs.tsv.PredictionLog: predictions is a log of predictions, not ...
    """


def looks_like_log(path: Path) -> bool:
    """Whether the first line is that of a log of certificates or predictions, whatever the file's name.

    Example:
        >>> _ = Path("sigma_0.25").write_text("idx\\tlabel\\tpredict\\tradius\\tcorrect\\ttime\\n")
        >>> looks_like_log(Path("sigma_0.25"))
        True
    """
    with path.open("rb") as file:
        line = file.read(FIRST).decode("ascii", errors="replace").partition("\n")[0].rstrip("\r")
    return {"label", "predict"} <= set(line.split("\t")) or ROW.fullmatch(line) is not None


def read_tsv(path: Path | str) -> Certificates:
    """Read a published log. It does not hold sigma, n and alpha: see `infer` and `Certificates.assuming`.

    Most logs print radii to three significant digits, perhaps rounded up. A log without `idx` does not say which images
    it is about; its rows are numbered below 0, so that `pair` finds none of them in another table.

    A log carries no digest. These properties are checked: images are in ascending order, labels and predictions are
    classes of the data set that the path names, an abstention has radius 0, no radius is above 1000, and `correct`
    agrees with label and predict. `infer`, which knows sigma, checks whether the radii can be reached.

    Raises:
        InputError: a log of predictions, one that holds too little, a missing column, a row cut short, or an impossible
            value; the line is named.

    Example:
        >>> lines = ["idx label predict radius correct time", "0 3 3 0.61 1 0:00:01.5", "20 8 -1 0.0 0 0:00:01.4"]
        >>> _ = Path("log.tsv").write_text("\\n".join(lines).replace(" ", "\\t") + "\\n")
        >>> table = read_tsv("log.tsv")
        >>> table.predict.tolist(), table.seconds.tolist()
        ([3, -1], [1.5, 1.4])
    """
    path = Path(path)
    lines, dataset = _Lines.of(path), path_facts(path).dataset
    last = CLASSES.get(dataset, MOST_CLASSES) - 1
    why = f", the classes of {dataset}, which its path names" if dataset in CLASSES else ""
    label, predict = lines.integers("label", 0, last, why), lines.integers("predict", ABSTAIN, last, why)
    bare = "idx" not in lines.columns
    idx = -1 - np.arange(len(label)) if bare else lines.integers("idx", 0, LAST)
    header = Header(notes=(UNNUMBERED,) * bare)
    table = Certificates(header, idx, label, predict, lines.numbers("radius"), lines.seconds(), name=stem_of(path))
    _check_rows(table, lines, rising=not bare)
    return table


def read_text(path: Path) -> str:
    """The text in the file at `path`, with one kind of line break.

    Raises:
        InputError: it is too large, or no text in UTF-8.
    """
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8 ({shown(error)})") from None
    if text.count("\n") > MOST_LINES:
        raise InputError(f"{path} has more than {MOST_LINES:,} lines, which is more than any file of ours")
    return text


@dataclass(frozen=True)
class _Lines:
    """The cells of a log by column, and the line of each row; what is wrong with a row is refused by its line."""

    path: Path
    columns: dict[str, Sequence[str]]
    places: Sequence[int]

    @classmethod
    def of(cls, path: Path) -> _Lines:
        """Raises InputError for what is no log: empty, ragged, cut short, or without a column that it needs."""
        text = read_text(path)
        rows = {place: line.split("\t", MOST_COLUMNS) for place, line in enumerate(text.split("\n"), start=1) if line}
        names = next(iter(rows.values()), [])
        if ROW.fullmatch("\t".join(names)) and len(names) == len(TSV_COLUMNS) - 1:
            names = TSV_COLUMNS[1:]  # of the form that has neither header nor idx
        else:
            rows.pop(next(iter(rows), 0), None)
        _check_names(path, names)
        for place, row in rows.items():
            if len(row) != len(names):
                raise InputError(f"{path}, line {place}: {len(row)} cells instead of {len(names)} (row cut short?)")
        lines = cls(path, {name: [row[k] for row in rows.values()] for k, name in enumerate(names)}, list(rows))
        whole = WHOLE_CLOCK.fullmatch(lines.columns["time"][-1]) if rows else None  # a time that is cut still parses
        if not text.endswith("\n") and not whole:
            raise InputError(f"{path} ends inside its last line (cut short?); if it is whole, end it with a line break")
        return lines

    def numbers(self, name: str) -> Floats:
        """(N,) the numbers of a column; InputError for a cell that holds none, or one that is not finite."""
        cells = self.columns[name]
        self.refuse(name, [NUMBER.fullmatch(cell) is None for cell in cells], "is no number")
        numbers = np.array(cells, np.float64)
        self.refuse(name, ~np.isfinite(numbers), "is too large a number")
        return numbers

    def integers(self, name: str, least: int, most: int, why: str = "") -> Ints:
        """(N,) the whole numbers of a column; InputError for one outside `least`..`most`, which `why` explains."""
        numbers = self.numbers(name)
        outside = (numbers % 1 != 0) | (numbers < least) | (numbers > most)
        self.refuse(name, outside, f"is no whole number from {least} to {most:,}{why}")
        return numbers.astype(np.int64)

    def seconds(self) -> Floats:
        """(N,) `time` as h:mm:ss with or without fractions, with days before it, or in plain seconds."""
        seconds = np.array([_seconds(cell) for cell in self.columns["time"]], np.float64)
        self.refuse("time", ~((seconds >= 0) & (seconds <= LONGEST)), "is neither h:mm:ss nor seconds")
        return seconds

    def refuse(self, name: str, wrong: ArrayLike, why: str) -> None:
        """Raise InputError for the first row that is `wrong` (N,), by its line in the file and its cell in a column."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            cell = shown(repr(self.columns[name][rows[0]]))
            raise InputError(f"{self.path}, line {self.places[rows[0]]}: {name}={cell} {why}")


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Raise InputError unless these are the columns of a log of certificates."""
    there = set(names)
    if "radius proved" in there:
        raise InputError(f"{path} is a log of one radius R, which it lacks: give from_radii R where it is proved")
    if "predict" in there and "radius" not in there:
        column = " (basePredict)" if "basePredict" in there else ""
        said = f"{path} is a log of predictions{column}, not of certificates: it holds no radius"
        raise PredictionLog(f"{said}; take the log that was made by certifying")
    missing = [n for n in TSV_COLUMNS if n not in there and not (n == "idx" and names == TSV_COLUMNS[1:])]
    if missing or len(there) < len(names) or len(names) > MOST_COLUMNS:
        lacks = f"{path} is no log of certificates: its first line lacks {', '.join(missing) or 'different names'}"
        columns = f"A log has the columns {', '.join(TSV_COLUMNS)}, with tabs between"
        raise InputError(f"{lacks}. {columns}; of class counts, `randsmooth from-counts FILE --sigma S` makes a table")


def _seconds(cell: str) -> float:
    found = CLOCK.fullmatch(cell)
    if found is None:
        return float(cell) if NUMBER.fullmatch(cell) else math.nan
    days, hours, minutes, seconds = found.groups(default="0")
    return round(86400.0 * int(days) + 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds), 9)


def _check_rows(table: Certificates, lines: _Lines, *, rising: bool) -> None:
    """Raise InputError for rows or columns that contradict each other."""
    if rising:
        lines.refuse("idx", np.diff(table.idx, prepend=-1) == 0, "stands twice; keep one row an image")
        lines.refuse("idx", np.diff(table.idx, prepend=-1) < 0, "is below that of the row before: sort the rows by idx")
    impossible = (table.radius < 0) | (table.radius > LARGEST)
    lines.refuse("radius", impossible, f"is below 0 or above {LARGEST:g}, which none can be")
    held = (table.predict == ABSTAIN) & (table.radius > 0)
    lines.refuse("radius", held, "stands where predict=-1 abstains; expected 0")
    correct = lines.integers("correct", 0, len(table))
    if not np.array_equal(correct, np.cumsum(table.correct)):  # a running total
        lines.refuse("correct", table.correct != correct, "contradicts predict")
