"""The TSV logs of the literature, in the forms in which they circulate.

Most are written by `certify.py` of Cohen et al. 2019 or a descendant of it: `idx label predict radius correct time`,
one line an image. These variants are read too: `time` in plain seconds, `correct` as a running total (Carlini et al.
2023), further columns at the end and logs of a single radius (Horvath et al. 2022), and lines without header and `idx`
(Lei et al. 2025). MATLAB files (Zhai et al. 2020) are read by `matlab`.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from randsmooth.certificates.header import Header
from randsmooth.certificates.logs import matlab
from randsmooth.certificates.logs.cells import CELL, Lines, read_lines
from randsmooth.certificates.logs.paths import CLASSES, PathFacts, path_facts
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats
from randsmooth.documents import shown
from randsmooth.errors import ForeignFile, InputError

TSV_COLUMNS = ["idx", "label", "predict", "radius", "correct", "time"]
BARE_COLUMNS = TSV_COLUMNS[1:]  # of the form that has neither header nor idx
PROVED = "radius proved"  # the column that says whether the one radius asked for was proved
UNNUMBERED = "the log does not say which images it is about; they are numbered -1, -2, ... in its order"
FIRST = 400  # bytes that hold the first line of any log
ROW = re.compile(r"(-?\d+\t){1,2}-?\d+\t[\d.]+(e[-+]?\d+)?\t[01]\t[\d:.]+")  # numbers where a header should be
COUNTS = re.compile(r"\b(counts0?(_0)?|n_A)\b")  # names of columns, in whatever form
CLOCKS = re.compile(r"(?:\d{1,4}:[0-5]?\d:[0-5]?\d(?:\.\d{0,12})?\n)+", re.ASCII)
CLOCK = re.compile(r"(?:(\d{1,4}) days?, )?(\d{1,4}):([0-5]?\d):([0-5]?\d(?:\.\d{0,12})?)", re.ASCII)
LARGEST = matlab.LARGEST  # radius: more than any sigma up to 100 gives to any number of samples (`check_sigma`)
MOST_CLASSES = 100_000
LAST = 10**9  # image
LONGEST = 10**8  # seconds, three years
ONE_RADIUS = "only radius {:g} was asked for: accuracies below it and ACR are lower bounds"
TEXTS = {".tsv", ".txt", ".csv", ".log"}  # suffixes; `sigma_0.25` has none


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
    line = _first_line(path)
    return {"label", "predict"} <= set(line.split("\t")) or ROW.fullmatch(line) is not None


def read_tsv(path: Path | str, header: Header | None = None) -> Certificates:
    """Read a published log. It does not hold sigma, n and alpha: pass them in `header`, or see `infer`.

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
    first = _first_line(path)
    if first.startswith(matlab.MAGIC):
        return matlab.read_matlab(path)
    bare = _is_bare(path, first)
    lines = read_lines(path, BARE_COLUMNS if bare else None)
    _check_columns(lines, bare)
    _check_ending(lines)
    known, facts = header or Header(), path_facts(path)
    last, why = _last_class(facts.dataset)
    table = Certificates(
        known.replace(notes=(*known.notes, UNNUMBERED)) if bare else known,
        idx=-1 - np.arange(len(lines)) if bare else lines.integers("idx", 0, LAST),
        label=lines.integers("label", 0, last, why),
        predict=lines.integers("predict", ABSTAIN, last, why),
        radius=_radius(lines, facts),
        seconds=_seconds(lines),
        name=path.stem if path.suffix in TEXTS else path.name,
    )
    _check_rows(table, lines, rising=not bare)
    return _of_one_radius(table, facts.radius or 0.0) if PROVED in lines.columns else table


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        first = file.read(FIRST).splitlines()[:1]
    return first[0].decode("ascii", errors="replace") if first else ""


def _is_bare(path: Path, first: str) -> bool:
    """Whether the log has neither header nor idx; InputError for one with idx but no header."""
    bare = ROW.fullmatch(first) is not None
    if bare and first.count("\t") == len(TSV_COLUMNS) - 1:
        raise InputError(
            f"{path} has no header; put a line on top that says {' '.join(TSV_COLUMNS)}, with tabs between"
        )
    return bare


def _last_class(dataset: str) -> tuple[int, str]:
    """The highest class that can occur, and why."""
    if dataset in CLASSES:
        return CLASSES[dataset] - 1, f"the last class of {dataset}, the data set that its path names"
    return MOST_CLASSES - 1, "more classes than any data set has"


def _check_columns(lines: Lines, bare: bool) -> None:
    path, there = lines.path, set(lines.columns)
    if "predict" in there and not there & {"radius", PROVED}:
        column = " (basePredict)" if "basePredict" in there else ""
        raise PredictionLog(
            f"{path} is a log of predictions{column}, not of certificates: it holds no radius; take the log that "
            "was made by certifying"
        )
    radius = PROVED if PROVED in there else "radius"
    wanted = [radius if column == "radius" else column for column in (BARE_COLUMNS if bare else TSV_COLUMNS)]
    missing = [column for column in wanted if column not in there]
    if missing:
        raise InputError(
            f"{path} lacks the column {missing[0]!r}; a log has {', '.join(TSV_COLUMNS)}{_other_form(lines)}"
        )


def _other_form(lines: Lines) -> str:
    """The way out for a file that is no log, but counts, or a log between commas."""
    head = "\t".join(lines.columns)
    if COUNTS.search(head):
        return f". If it holds class counts, `randsmooth from-counts {lines.path.name} --sigma S` makes a table of them"
    if set(TSV_COLUMNS) <= set(head.split(",")):
        return ", with tabs between: replace its commas"
    return ""


def _radius(lines: Lines, facts: PathFacts) -> Floats:
    """(N,) the radii; of a log of a single radius, that one where it was proved and 0 elsewhere."""
    if PROVED not in lines.columns:
        return lines.numbers("radius")
    if facts.radius is None:
        raise InputError(
            f"{lines.path} does not say its radius: its column {PROVED!r} says of each image whether one radius was "
            "proved, and that radius is not in the file (adaptive sampling of smoothing-ensembles). Put it into the "
            f"name or a folder of the log, as in radius_0.5/{lines.path.name}"
        )
    return np.where(lines.integers(PROVED, -1, 1) == 1, facts.radius, 0.0)


def _of_one_radius(table: Certificates, radius: float) -> Certificates:
    """The table of a log of a single radius: an image of which it is not proved abstains."""
    header = table.header
    header = header.replace(rule=f"radius={radius:g}", notes=(*header.notes, ONE_RADIUS.format(radius)))
    return replace(table, header=header, predict=np.where(table.radius > 0.0, table.predict, ABSTAIN))


def _check_ending(lines: Lines) -> None:
    """Raise InputError unless the last line is seen to be whole: one that is cut inside its time still parses."""
    times = lines.columns["time"]
    if not lines.ended and not (len(times) and re.fullmatch(r".*\d:\d\d:\d\d\.\d{6}", times[-1])):
        raise InputError(
            f"{lines.path} ends inside its last line (cut short?); if it is whole, end it with a line break"
        )


def _seconds(lines: Lines) -> Floats:
    """`time` as h:mm:ss with or without fractions, with days before it, or in plain seconds."""
    time = lines.columns["time"]
    text = "\n".join([*time, ""])
    if CLOCKS.fullmatch(text):  # cell by cell it takes five times as long
        parts = np.array([float(part) for part in text.replace("\n", ":").split(":")[:-1]], np.float64)
        return np.round(parts.reshape(-1, 3) @ (3600.0, 60.0, 1.0), 9)
    seconds = np.array([_time(cell) for cell in time], np.float64)
    bad = ~((seconds >= 0) & (seconds <= LONGEST))
    lines.refuse(bad, lambda row: f"time={shown(repr(time[row]))} is neither h:mm:ss nor seconds (row cut short?)")
    return seconds


def _time(cell: str) -> float:
    found = CLOCK.fullmatch(cell)
    if found is None:
        return float(cell) if CELL.fullmatch(cell) else math.nan
    days, hours, minutes, seconds = found.groups(default="0")
    return round(86400.0 * int(days) + 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds), 9)


def _check_rows(table: Certificates, lines: Lines, *, rising: bool) -> None:
    """Raise InputError for rows or columns that contradict each other."""
    idx, radius = table.idx, lines.columns[PROVED if PROVED in lines.columns else "radius"]
    if rising:
        falls = np.diff(idx, prepend=-1) <= 0
        lines.refuse(falls, lambda row: f"idx={idx[row]} after {idx[row - 1]}; images rise from row to row")
    lines.refuse(table.radius < 0, lambda row: f"radius={radius[row]} is below 0")
    lines.refuse(table.radius > LARGEST, lambda row: f"radius={radius[row]} is above {LARGEST:g}, which none can be")
    held = (table.predict == ABSTAIN) & (table.radius > 0)
    lines.refuse(held, lambda row: f"radius={radius[row]} where predict=-1 abstains; expected 0")
    _check_correct(table, lines)


def _check_correct(table: Certificates, lines: Lines) -> None:
    correct = lines.integers("correct", 0, len(lines))
    if np.array_equal(correct, np.cumsum(table.correct)):  # a running total
        return
    lines.refuse(table.correct != correct, lambda row: f"correct={correct[row]} contradicts predict")
