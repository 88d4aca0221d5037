"""The TSV logs of the literature, in the forms in which they circulate.

Most are written by `certify.py` of Cohen et al. 2019 or a descendant of it: `idx label
predict radius correct time`, one line an image. These variants are read too: `time` in
plain seconds, `correct` as a running total (Carlini et al. 2023), rows in any order,
lines without header and without `idx` (Lei et al. 2025), a run that was killed and went
on in the same file, images that were not certified because they are misclassified
(VERONA), a sigma for each image (QCRS and other input-dependent smoothing), and further
columns.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.evidence import ABSTAIN, Floats, Ints
from randsmooth.certificates.header import Header
from randsmooth.certificates.logs.first_line import P_LOWER, SIGMA_COLUMNS
from randsmooth.certificates.logs.lines import NUMBER, Lines
from randsmooth.certificates.logs.paths import path_facts, stem_of
from randsmooth.certificates.logs.repositories import CLASSES
from randsmooth.certificates.table import Certificates
from randsmooth.errors import WrongFile
from randsmooth.escape import LONG_PART, printable, shortened
from randsmooth.noise.norms import LENGTHS
from randsmooth.notes import Note

CLOCK = re.compile(
    r"(?:(\d{1,4}) days?, )?(\d{1,4}):([0-5]?\d):([0-5]?\d(?:\.\d{0,12})?)", re.ASCII
)

# The largest radius that a log may have: more than any sigma up to 100 (`check_sigma`)
# gives to any number of samples.
LARGEST_RADIUS = 1000.0

# The most classes of a data set that is not known here.
MOST_CLASSES = 100_000

# What `predict` is in VERONA's logs for an image that was not certified, because the
# model misclassifies it.
MISCLASSIFIED = -2

# The largest position of an image.
LAST_IMAGE = 10**9

# The most seconds of an image: three years.
MOST_SECONDS = 10**8

# As Python prints `correct` where nobody makes a number of it.
TRUTH = {"True": "1", "False": "0"}


def read_tsv(path: Path | str) -> Certificates:
    """Read a published log.

    It does not hold sigma, n and alpha: see `infer` and `Certificates.assuming`.

    Most logs print radii to three significant digits, perhaps rounded up. A log without
    `idx` does not say which images it is about; its rows are numbered below 0, so that
    `pair` finds none of them in another table. Rows in another order are sorted by
    `idx`. The header's notes say what was unusual in a log.

    A column `sigma` or `best_sigma` is the noise of each image: where all have the
    same, it is the table's sigma, and else its `sigmas`. A column `pABar` is the lower
    bound on p_A that each radius states.

    A log carries no digest. These properties are checked: no image stands twice, labels
    and predictions are classes of the data set that the path names, an abstention has
    radius 0, no radius is above 1000, and `correct` agrees with label and predict.
    `infer`, which knows sigma, checks whether the radii can be reached.

    Raises:
        Problem: the file is a log of predictions, lacks a column, has a row that is cut
            short, holds two runs about the same images, or has an impossible value. The
            message names the line.

    Example:
        >>> lines = [
        ...     "idx label predict radius correct time",
        ...     "0 3 3 0.61 1 0:00:01.5",
        ...     "20 8 -1 0.0 0 0:00:01.4",
        ... ]
        >>> text = "\\n".join(lines).replace(" ", "\\t")
        >>> _ = Path("log.tsv").write_text(text + "\\n")
        >>> table = read_tsv("log.tsv")
        >>> table.predict.tolist(), table.seconds.tolist()
        ([3, -1], [1.5, 1.4])
    """
    path = Path(path)
    lines = Lines.of(path)
    dataset = path_facts(path).dataset
    last_class = CLASSES.get(dataset, MOST_CLASSES) - 1
    reason = ""
    if dataset in CLASSES:
        reason = f", the classes of {dataset}, which its path names"
    label = lines.integers("label", least=0, most=last_class, why=reason)
    predict = lines.integers(
        "predict", least=MISCLASSIFIED, most=last_class, why=reason
    )
    notes = _notes(lines, misclassified=int((predict == MISCLASSIFIED).sum()))
    table = Certificates(
        header=Header(notes=notes),
        idx=_positions(lines),
        label=label,
        # An image that was misclassified, -2, was not certified: it abstains, -1.
        predict=np.maximum(predict, ABSTAIN),
        radius=lines.numbers("radius"),
        seconds=_seconds_of(lines),
        q=_stated_q(lines),
        name=stem_of(path),
    )
    _check_rows(table, lines)
    return _in_order(_with_sigma(table, lines))


def _positions(lines: Lines) -> Ints:
    """Return (N,) the position of each image in its split; -1, -2, ... where the log
    does not say it.
    """
    if "idx" not in lines.columns:
        return -1 - np.arange(len(lines.line_numbers))
    idx = lines.integers("idx", least=0, most=LAST_IMAGE)
    # (N,) the first row about the image of each row.
    _, first_rows, group = np.unique(idx, return_index=True, return_inverse=True)
    first_row = first_rows[group]
    again = np.flatnonzero(first_row < np.arange(len(idx)))
    if len(again):
        row = again[0]
        fault = _stands_twice(lines, idx, first=int(first_row[row]), again=row)
        lines.refuse("idx", np.arange(len(idx)) == row, fault)
    return idx


def _stands_twice(lines: Lines, idx: Ints, first: int, again: int) -> str:
    """Return what is wrong with an image that stands in two rows, `first` and `again`."""
    fault = f"stands twice, first in line {lines.line_numbers[first]}"
    if lines.part[again] > lines.part[first]:
        header = lines.headers[lines.part[again] - 1]
        fault += f": line {header} is a header again, so a second run was appended to the first"
    elif idx[again] < idx[again - 1]:
        fault += ": duplicates, or a second run that was appended to the first"
    return f"{fault}. Keep one row an image, and make a file of each run"


def _seconds_of(lines: Lines) -> Floats:
    """Return (N,) the column `time` in seconds.

    It may be written as h:mm:ss, with or without fractions and days, or as seconds.
    """
    seconds = np.array([_seconds(cell) for cell in lines.columns["time"]], np.float64)
    possible = (seconds >= 0) & (seconds <= MOST_SECONDS)
    lines.refuse("time", ~possible, "is neither h:mm:ss nor seconds")
    return seconds


def _seconds(cell: str) -> float:
    """Return the seconds that a cell says; NaN where it is no time."""
    match = CLOCK.fullmatch(cell)
    if match is None:
        return float(cell) if NUMBER.fullmatch(cell) else math.nan
    days, hours, minutes, seconds = match.groups(default="0")
    whole_minutes = 86400.0 * int(days) + 3600.0 * int(hours) + 60.0 * int(minutes)
    # Rounded, as the sum has a float error of its own.
    return round(whole_minutes + float(seconds), 9)


def _stated_q(lines: Lines) -> Floats | None:
    """Return (N,) the upper bound on 1 - p_A of each image; None where the log has no
    column of bounds.
    """
    if P_LOWER not in lines.columns:
        return None
    p_lower = lines.numbers(P_LOWER)
    lines.refuse(P_LOWER, (p_lower < 0.0) | (p_lower > 1.0), "is no probability")
    radius = lines.numbers("radius")
    lines.refuse(
        P_LOWER,
        (p_lower <= 0.5) & (radius > 0.0),
        "certifies nothing, and the radius is above 0",
    )
    return 1.0 - p_lower


def _with_sigma(table: Certificates, lines: Lines) -> Certificates:
    """Return the table with the sigma in a column of the log, if it has one.

    Where all images have the same sigma, it goes into the header; else each keeps its
    own, in `sigmas`.
    """
    names = [name for name in SIGMA_COLUMNS if name in lines.columns]
    if len(names) > 1:
        raise WrongFile(
            f"{lines.path} has the columns {' and '.join(names)}: "
            "keep the one that radii are made with",
            file=lines.path,
        )
    if not names or len(table) == 0:
        return table
    name = names[0]
    sigmas = lines.numbers(name)
    least, most = LENGTHS
    outside = (sigmas < least) | (sigmas > most)
    lines.refuse(name, outside, f"is not a sigma; expected {least:g} to {most:g}")

    low = float(sigmas.min())
    high = float(sigmas.max())
    header = table.header
    if low == high:
        note = Note("sigma_column", sigma=low, column=name)
        header = header.replace(sigma=low, notes=(*header.notes, note))
        return replace(table, header=header)
    note = Note("sigmas_column", low=low, high=high, column=name)
    header = header.replace(notes=(*header.notes, note))
    return replace(table, sigmas=sigmas, header=header)


def _notes(lines: Lines, misclassified: int) -> tuple[Note, ...]:
    """Return the notes of the header on what is unusual in a log.

    `misclassified` is how many images the log says it left out as such.
    """
    notes = []
    if "idx" not in lines.columns:
        notes.append(Note("unnumbered"))
    if lines.headers:
        first_lines = ", ".join(map(str, lines.headers[:3]))
        notes.append(Note("second_header", lines=first_lines))
    if misclassified:
        notes.append(Note("misclassified", images=misclassified))
    if lines.unread:
        columns = shortened(printable(", ".join(lines.unread)), LONG_PART)
        notes.append(Note("columns_not_read", columns=columns))
    return tuple(notes)


def _in_order(table: Certificates) -> Certificates:
    """Return the table with its images in ascending order; as it is if it does not say
    which images they are.
    """
    # Positions below 0 stand for unknown ones: either all are, or none is.
    if len(table) == 0 or table.idx[0] < 0 or np.all(np.diff(table.idx) > 0):
        return table
    noted = table.header.replace(notes=(*table.header.notes, Note("sorted_by_idx")))
    return replace(table.rows(np.argsort(table.idx)), header=noted)


def _check_rows(table: Certificates, lines: Lines) -> None:
    """Raise Problem for columns that contradict each other."""
    impossible = (table.radius < 0) | (table.radius > LARGEST_RADIUS)
    lines.refuse(
        "radius",
        impossible,
        f"is below 0 or above {LARGEST_RADIUS:g}, which none can be",
    )
    abstains_with_radius = (table.predict == ABSTAIN) & (table.radius > 0)
    lines.refuse(
        "radius", abstains_with_radius, "stands where predict abstains; expected 0"
    )
    # The column `correct` is a truth value, or a running total up to N.
    cells = [TRUTH.get(cell, cell) for cell in lines.columns["correct"]]
    lines_of_numbers = replace(lines, columns={**lines.columns, "correct": cells})
    correct = lines_of_numbers.integers("correct", least=0, most=len(table))
    if not _counts_right_rows(correct, table.correct, lines):
        lines.refuse(
            "correct",
            table.correct != correct,
            "contradicts predict: expected 1 where predict is label, else 0, or the number "
            "of such rows so far",
        )


def _counts_right_rows(correct: Ints, right: NDArray[np.bool_], lines: Lines) -> bool:
    """Return whether `correct` (N,) is a running total of the `right` rows (N,).

    It may count through the whole file, or begin anew at each header. Or the rows were
    put in another order after they were counted.
    """
    total = np.cumsum(right)
    if np.array_equal(correct, total):
        return True
    total_before_part = np.append(0, total)[lines.starts]
    if np.array_equal(correct, total - total_before_part[lines.part]):
        return True

    # In another order, the right rows have the totals 1, 2, ... once each. A single 1
    # would be a truth value, and only rows with positions can be put in order again.
    each_once = np.arange(1, right.sum() + 1)
    known_images = "idx" in lines.columns
    return (
        known_images
        and len(each_once) > 1
        and np.array_equal(np.sort(correct[right]), each_once)
    )
