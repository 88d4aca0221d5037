"""The text of a log, cut into columns: what its first line names, and where its rows stand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.evidence import Floats, Ints
from randsmooth.contents import HEAD, stands_for
from randsmooth.documents import read_file, shown
from randsmooth.errors import ForeignFile, WrongFile

TSV_COLUMNS = ["idx", "label", "predict", "radius", "correct", "time"]
SIGMA_COLUMNS = ("sigma", "best_sigma", "sigmamin")  # the sigma of each image's noise
P_LOWER = "pABar"  # the lower bound on p_A of each image
# Names that a column has elsewhere, in small letters.
COLUMNS = {name.lower(): name for name in (*TSV_COLUMNS, *SIGMA_COLUMNS, P_LOWER)}
COLUMNS |= {"original_idx": "idx", "radius_l2": "radius"}
VERONA = {"network", "image_id", "epsilon_value"}  # columns of its result_df.csv

MOST_BYTES = 2**28
MOST_LINES = 2 * 10**6  # ImageNet has 1.28 million training images
MOST_COLUMNS = 100
FIRST = 400  # bytes that hold the first line of any log

# Numbers where a header should be.
ROW = re.compile(r"(-?\d+\t){1,2}-?\d+\t[\d.]+(e[-+]?\d+)?\t[01]\t[\d:.]+")
NUMBER = re.compile(
    r"[-+]?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?", re.ASCII
)
WHOLE_CLOCK = re.compile(r".*\d:\d\d:\d\d\.\d{6}")
# What spreadsheets and editors write between columns, in place of tabs.
BETWEEN = {",": "commas", ";": "semicolons", " +": "spaces", r"\|": "bars"}
# How a file begins that holds something else.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
GZIP = b"\x1f\x8b"


class PredictionLog(ForeignFile):
    """A log of predictions (`predict.py`): it certifies nothing, and is no table of certificates.

    Example:
        >>> from randsmooth.certificates import read_tsv
        >>> _ = Path("predictions").write_text("idx\\tlabel\\tpredict\\tcorrect\\ttime\\n")
        >>> read_tsv("predictions")
        Traceback (most recent call last):
            ...
        randsmooth.certificates.logs.lines.PredictionLog: predictions is a log of predictions, not ...
    """


def looks_like_log(path: Path) -> bool:
    """Whether the first line is that of a log of certificates or predictions, whatever the file's name.

    Example:
        >>> _ = Path("sigma_0.25").write_text("idx\\tlabel\\tpredict\\tradius\\tcorrect\\ttime\\n")
        >>> looks_like_log(Path("sigma_0.25"))
        True
    """
    with path.open("rb") as file:
        text = file.read(FIRST).decode("ascii", errors="replace")
    line = text.partition("\n")[0].rstrip("\r")
    return {"label", "predict"} <= set(_names(line)) or ROW.fullmatch(line) is not None


def read_text(path: Path) -> str:
    """The text in the file at `path`, with one kind of line break.

    Raises:
        Problem: it is too large, or no text in UTF-8.
    """
    content = read_file(path, MOST_BYTES)
    if content and (instead := stands_for(content[:HEAD])):
        raise WrongFile(f"{path} {instead}", file=path)
    if content.startswith(UTF_16):
        raise WrongFile(
            f"{path} is text in UTF-16, as spreadsheets write it: save it as UTF-8",
            file=path,
        )
    if content.startswith(GZIP):
        raise WrongFile(
            f"{path} is compressed by gzip: unpack it first (gunzip)", file=path
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongFile(
            f"{path} is no text in UTF-8 ({shown(error)})", file=path
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.count("\n") > MOST_LINES:
        raise WrongFile(
            f"{path} has more than {MOST_LINES:,} lines, which is more than any file of ours",
            file=path,
        )
    return text


@dataclass(frozen=True)
class Lines:
    """The cells of a log by column, and the line of each row.

    What is wrong with a row is refused by its line.

    Attributes:
        path: of the file.
        columns: name -> the cells of the N rows, in the order of the file.
        places: (N,) the line of each row.
        headers: the lines below the first that say the header again, as a second run appends it.
    """

    path: Path
    columns: Mapping[str, Sequence[str]]
    places: Sequence[int]
    headers: Sequence[int] = ()

    @classmethod
    def of(cls, path: Path) -> Lines:
        """Read the log at `path`.

        Raises:
            Problem: what is no log: empty, ragged, cut short, or without a column that it needs.
        """
        text = read_text(path)
        lines = {
            place: line for place, line in enumerate(text.split("\n"), start=1) if line
        }
        if not lines:
            raise WrongFile(
                f"{path} is empty; a log begins with the names of its columns",
                file=path,
            )
        first = next(iter(lines.values()))
        names = _names_of_bare(first)
        headers = list[int]()
        if not names:
            names = _names(first)
            _check_names(path, names, first)
            del lines[next(iter(lines))]
            headers = [place for place, line in lines.items() if line == first]
        rows = {place: line.split("\t", MOST_COLUMNS) for place, line in lines.items()}
        for place in headers:
            del rows[place]
        for place, row in rows.items():
            if len(row) != len(names):
                line = shown(repr(lines[place][:FIRST]))
                said = f"{path}, line {place}: {len(row)} cells instead of {len(names)}"
                raise WrongFile(
                    f"{said}: a row that was cut short, or no row. It reads {line}"
                )
        cells_by_name = {
            name: [row[k] for row in rows.values()] for k, name in enumerate(names)
        }
        made = cls(path, cells_by_name, list(rows), headers)
        made._check_end(text)
        return made

    def _check_end(self, text: str) -> None:
        """Raise Problem where the last line has no end, and may be cut: a time that is cut still parses."""
        times = self.columns["time"]
        ends_in_a_time = (
            list(self.columns)[-1] == "time"
            and times
            and WHOLE_CLOCK.fullmatch(times[-1])
        )
        if text.endswith("\n") or ends_in_a_time:
            return
        raise WrongFile(
            f"{self.path} ends inside its last line (cut short?); if it is whole, end it with a line break",
            file=self.path,
        )

    def numbers(self, name: str) -> Floats:
        """(N,) the numbers of a column; Problem for a cell that holds none, or one that is not finite."""
        cells = self.columns[name]
        self.refuse(
            name, [NUMBER.fullmatch(cell) is None for cell in cells], "is no number"
        )
        numbers = np.array(cells, np.float64)
        self.refuse(name, ~np.isfinite(numbers), "is too large a number")
        return numbers

    def integers(self, name: str, least: int, most: int, why: str = "") -> Ints:
        """(N,) the whole numbers of a column; Problem for one outside `least`..`most`, which `why` explains."""
        numbers = self.numbers(name)
        outside = (numbers % 1 != 0) | (numbers < least) | (numbers > most)
        self.refuse(name, outside, f"is no whole number from {least} to {most:,}{why}")
        return numbers.astype(np.int64)

    def refuse(self, name: str, wrong: ArrayLike, why: str) -> None:
        """Raise Problem for the first row that is `wrong` (N,), by its line in the file and its cell in a column."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            cell = shown(repr(self.columns[name][rows[0]]))
            raise WrongFile(
                f"{self.path}, line {self.places[rows[0]]}: {name}={cell} {why}",
                file=self.path,
            )

    @property
    def part(self) -> Ints:
        """(N,) how many times the header stood again before each row."""
        return np.searchsorted(self.headers, self.places).astype(np.int64)

    @property
    def starts(self) -> Ints:
        """The first row below each header."""
        return np.append(0, np.searchsorted(self.places, self.headers)).astype(np.int64)

    @property
    def unread(self) -> list[str]:
        """The names of the columns of which nothing is read."""
        return [name for name in self.columns if name not in COLUMNS.values() and name]


def _names(line: str) -> list[str]:
    """The columns that a first line names, the known ones as they are called here."""
    said = [name.strip() for name in line.split("\t", MOST_COLUMNS)]
    here = [COLUMNS.get(name.lower(), name) for name in said]
    # Another name for a column that is there, too, is the name of a further column.
    return [
        name if name == own or name not in said else own
        for name, own in zip(here, said, strict=True)
    ]


def _names_of_bare(line: str) -> list[str]:
    """The columns of a log whose first line is a row; empty where it is none."""
    if not ROW.fullmatch(line):
        return []
    return TSV_COLUMNS[-line.count("\t") - 1 :]


def _check_names(path: Path, names: Sequence[str], line: str) -> None:
    """Raise Problem unless these are the columns of a log of certificates, which `line` names."""
    there = set(names)
    if "radius proved" in there:
        raise WrongFile(
            f"{path} is a log of one radius R, which it lacks: give from_radii R where it is proved",
            file=path,
        )
    _check_one_radius(path, line)
    if "predict" in there and "radius" not in there:
        column = " (basePredict)" if "basePredict" in there else ""
        raise PredictionLog(
            f"{path} is a log of predictions{column}, not of certificates: it holds no radius; "
            "take the log that was made by certifying",
            file=path,
        )
    if set(line.split(",")) >= VERONA:
        raise WrongFile(
            f"{path} is a result_df.csv of VERONA, which leaves out images and says no classes: "
            "take the .txt log beside it (original_idx, label, predict, radius, correct, time)",
            file=path,
        )
    if cause := _not_between_tabs(line):
        way = f"expected {', '.join(TSV_COLUMNS)}, with tabs between and without quotes"
        raise WrongFile(f"{path} has {cause} in its first line: {way}", file=path)
    missing = [name for name in TSV_COLUMNS if name not in there]
    if not missing and len(there) == len(names) <= MOST_COLUMNS:
        return
    lacks = ", ".join(missing) or "different names"
    raise WrongFile(
        f"{path} is no log of certificates: its first line lacks {lacks}. It reads {shown(repr(line[:FIRST]))}. "
        f"A log has the columns {', '.join(TSV_COLUMNS)}, with tabs between; of class counts, "
        "`randsmooth from-counts` makes a table",
        file=path,
    )


def _not_between_tabs(line: str) -> str:
    """What stands between or around the columns of a log that are not tabs alone; empty where it is no log."""
    if {"label", "predict"} <= set(_names(line.replace('"', ""))):
        return "quotes around its columns" if '"' in line else ""
    for between, words in BETWEEN.items():
        names = re.split(between, line.replace('"', "").strip(), maxsplit=MOST_COLUMNS)
        if {"label", "predict"} <= set(_names("\t".join(names))):
            return f"{words} between its columns"
    return ""


def _check_one_radius(path: Path, line: str) -> None:
    """Raise Problem for a log with several radii of each image, of which a reader must choose."""
    said = [name.strip() for name in line.split("\t", MOST_COLUMNS)]
    radii = [name for name in said if name.lower().startswith("radius")]
    if "predict" not in said or len(radii) < 2 or said.count("radius") == 1:
        return
    raise WrongFile(
        f"{path} has several radii, {', '.join(radii)}: call the one that is meant radius "
        "(the L2 radius of Cohen et al., if p_A is to be recovered from it)",
        file=path,
    )
