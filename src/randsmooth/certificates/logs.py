"""The TSV logs of the literature, in the forms in which they circulate.

Most are written by `certify.py` of Cohen et al. 2019 or a descendant of it: `idx label predict radius correct time`,
one line an image. Read besides: `time` in plain seconds, `correct` as a running total (Carlini et al. 2023), further
columns behind (Horvath et al. 2022), and lines without header and `idx` (Lei et al. 2025).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsmooth.certificates import matlab
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats, Ints
from randsmooth.errors import InputError

TSV_COLUMNS = ["idx", "label", "predict", "radius", "correct", "time"]
BARE_COLUMNS = TSV_COLUMNS[1:]  # of the form that has neither header nor idx
UNNUMBERED = "the log does not say which images it is about; they are numbered -1, -2, ... in its order"
FIRST = 400  # bytes that hold the first line of any log
ROW = re.compile(r"(-?\d+\t){1,2}-?\d+\t[\d.]+(e[-+]?\d+)?\t[01]\t[\d:.]+")  # numbers where a header should be
TEXTS = {".tsv", ".txt", ".csv", ".log"}  # suffixes; `sigma_0.25` has none


def is_log(path: Path) -> bool:
    """Whether the first line is that of a log, of certificates or of predictions, whatever the file is called."""
    line = _first_line(path)
    return {"label", "predict"} <= set(line.split("\t")) or ROW.fullmatch(line) is not None


def read_tsv(path: Path | str, header: Header | None = None) -> Certificates:
    """A published log. It says nothing of sigma, n or alpha: pass them in `header`, or see `infer`.

    Its radii are printed to three significant digits, mostly, and may have been rounded up. Which images a log without
    `idx` is about nobody can tell: they are numbered below 0, so that `pair` takes them for no other table's.

    Raises:
        InputError: a log of predictions, a form that says too little, a missing column, a row cut short, or a value
            that makes no sense; the line is named.
    """
    path = Path(path)
    lines = _lines(path)
    _check_columns(lines)
    _check_ending(lines)
    known = header or Header()
    table = Certificates(
        known.having(notes=(*known.notes, UNNUMBERED)) if lines.bare else known,
        idx=-1 - np.arange(len(lines.frame)) if lines.bare else lines.integers("idx"),
        label=lines.integers("label"),
        predict=lines.integers("predict"),
        radius=lines.numbers("radius"),
        seconds=_seconds(lines),
        name=path.stem if path.suffix in TEXTS else path.name,
    )
    _check_log(table, lines)
    return table


@dataclass(frozen=True)
class _Lines:
    """The cells of a log as texts; `bare` where it has neither header nor idx."""

    path: Path
    frame: pd.DataFrame
    bare: bool

    def numbers(self, column: str) -> Floats:
        numbers: Floats = pd.to_numeric(self.frame[column], errors="coerce").to_numpy(np.float64)
        self.refuse(~np.isfinite(numbers), lambda row: f"{column}={self.frame[column][row]!r} is no number")
        return numbers

    def integers(self, column: str) -> Ints:
        numbers = self.numbers(column)
        self.refuse(numbers % 1 != 0, lambda row: f"{column}={self.frame[column][row]!r} is no whole number")
        return numbers.astype(np.int64)

    def refuse(self, bad: NDArray[np.bool_], say: Callable[[int], str]) -> None:
        """Raise InputError for the first bad row, by its line in the file."""
        rows = np.flatnonzero(bad)
        if len(rows):
            raise InputError(f"{self.path}, line {rows[0] + (1 if self.bare else 2)}: {say(int(rows[0]))}")


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        first = file.read(FIRST).splitlines()[:1]
    return first[0].decode("ascii", errors="replace") if first else ""


def _lines(path: Path) -> _Lines:
    first = _first_line(path)
    if first.startswith(matlab.MAGIC):
        matlab.refuse(path)
    bare = ROW.fullmatch(first) is not None
    if bare and first.count("\t") == len(TSV_COLUMNS) - 1:
        raise InputError(
            f"{path} has no header; put a line on top that says {' '.join(TSV_COLUMNS)}, with tabs between"
        )
    try:
        frame = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, names=BARE_COLUMNS if bare else None)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty; a log has the columns {', '.join(TSV_COLUMNS)}") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a certification log: {error}") from error
    if not isinstance(frame.index, pd.RangeIndex):  # what pandas makes of rows longer than the header
        raise InputError(f"{path} is not a certification log: its rows have more cells than its header")
    return _Lines(path, frame, bare)


def _check_columns(lines: _Lines) -> None:
    path, there = lines.path, set(lines.frame.columns)
    if "radius proved" in there:
        _refuse_adaptive(path)
    if "predict" in there and "radius" not in there:
        told = " (basePredict)" if "basePredict" in there else ""
        raise InputError(
            f"{path} is a log of predictions{told}, not of certificates: it holds no radius; take the log that "
            "was made by certifying"
        )
    wanted = BARE_COLUMNS if lines.bare else TSV_COLUMNS
    missing = [column for column in wanted if column not in there]
    if missing:
        raise InputError(f"{path} lacks the column {missing[0]!r}; a log has {', '.join(TSV_COLUMNS)}")


def _refuse_adaptive(path: Path) -> NoReturn:
    raise InputError(
        f"{path} holds no radii: its column 'radius proved' says of each image whether one radius was proved, and the "
        "radius is not in the file (adaptive sampling of smoothing-ensembles). The share of rows with correct 1 is the "
        "certified accuracy at that radius; for more, certify with `randsmooth certify --rule radius=R`"
    )


def _check_ending(lines: _Lines) -> None:
    """A log cut inside its last time still parses: trust a last line only if it is seen to be whole."""
    whole = lines.path.read_bytes().endswith(b"\n") or (
        len(lines.frame) > 0 and re.fullmatch(r".*\d:\d\d:\d\d\.\d{6}", str(lines.frame["time"].iloc[-1]))
    )
    if not whole:
        raise InputError(
            f"{lines.path} ends inside its last line (cut short?); if it is whole, end it with a line break"
        )


def _seconds(lines: _Lines) -> Floats:
    """`time` as h:mm:ss with or without fractions, with days before it, or in plain seconds."""
    time = lines.frame["time"]
    clock = time.str.contains(":", regex=False)
    plain = pd.to_numeric(time.mask(clock), errors="coerce")
    told = pd.to_timedelta(time.where(clock), errors="coerce").dt.total_seconds()
    seconds: Floats = told.where(clock, plain).to_numpy(np.float64)
    bad = ~np.isfinite(seconds) | (seconds < 0)
    lines.refuse(bad, lambda row: f"time={time[row]!r} is neither h:mm:ss nor seconds (row cut short?)")
    return seconds


def _check_log(table: Certificates, lines: _Lines) -> None:
    lines.refuse(table.label < 0, lambda row: f"label={table.label[row]} is below 0")
    lines.refuse(table.predict < ABSTAIN, lambda row: f"predict={table.predict[row]} is below -1")
    lines.refuse(table.radius < 0, lambda row: f"radius={table.radius[row]} is below 0")
    correct = lines.numbers("correct")
    if np.array_equal(correct, np.cumsum(table.correct)):  # a running total
        return
    lines.refuse(table.correct != (correct == 1), lambda row: f"correct={correct[row]:.0f} contradicts predict")
