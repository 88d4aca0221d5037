"""The TSV logs of the literature, in the forms in which they circulate.

Most are written by `certify.py` of Cohen et al. 2019 or a descendant of it: `idx label predict radius correct time`,
one line an image. These variants are read too: `time` in plain seconds, `correct` as a running total (Carlini et al.
2023), rows in any order, lines without header and without `idx` (Lei et al. 2025), a run that was killed and went on
in the same file, images that were not certified because they are misclassified (VERONA), a sigma for each image
(QCRS and other input-dependent smoothing), and further columns.
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
from randsmooth.certificates.logs.lines import NUMBER, P_LOWER, SIGMA_COLUMNS, Lines
from randsmooth.certificates.logs.paths import CLASSES, path_facts, stem_of
from randsmooth.certificates.table import Certificates
from randsmooth.errors import WrongFile
from randsmooth.escape import LONG_PART, printable, shortened
from randsmooth.noise.norms import LENGTHS

UNNUMBERED = "the log does not say which images it is about; they are numbered -1, -2, ... in its order"
SORTED = "its rows were sorted by idx"
CLOCK = re.compile(
    r"(?:(\d{1,4}) days?, )?(\d{1,4}):([0-5]?\d):([0-5]?\d(?:\.\d{0,12})?)", re.ASCII
)
LARGEST = 1000.0  # radius: more than any sigma up to 100 gives to any number of samples (`check_sigma`)
MOST_CLASSES = 100_000
MISCLASSIFIED = (
    -2
)  # in VERONA's logs: the class was wrong, so the image was not certified
LAST = 10**9  # image
LONGEST = 10**8  # seconds, three years
TRUTH = {
    "True": "1",
    "False": "0",
}  # as Python prints `correct` where nobody makes a number of it


def read_tsv(path: Path | str) -> Certificates:
    """Read a published log. It does not hold sigma, n and alpha: see `infer` and `Certificates.assuming`.

    Most logs print radii to three significant digits, perhaps rounded up. A log without `idx` does not say which images
    it is about; its rows are numbered below 0, so that `pair` finds none of them in another table. Rows in another
    order are sorted by `idx`. What was made of a log that is not as usual, the header's notes say.

    A column `sigma` or `best_sigma` is the noise of each image: where all have the same, it is the table's sigma, and
    else its `sigmas`. A column `pABar` is the lower bound on p_A that each radius states.

    A log carries no digest. These properties are checked: no image stands twice, labels and predictions are classes of
    the data set that the path names, an abstention has radius 0, no radius is above 1000, and `correct` agrees with
    label and predict. `infer`, which knows sigma, checks whether the radii can be reached.

    Raises:
        Problem: a log of predictions, one that holds too little, a missing column, a row cut short, two runs about
            the same images, or an impossible value; the line is named.

    Example:
        >>> lines = ["idx label predict radius correct time", "0 3 3 0.61 1 0:00:01.5", "20 8 -1 0.0 0 0:00:01.4"]
        >>> _ = Path("log.tsv").write_text("\\n".join(lines).replace(" ", "\\t") + "\\n")
        >>> table = read_tsv("log.tsv")
        >>> table.predict.tolist(), table.seconds.tolist()
        ([3, -1], [1.5, 1.4])
    """
    path = Path(path)
    lines = Lines.of(path)
    dataset = path_facts(path).dataset
    last = CLASSES.get(dataset, MOST_CLASSES) - 1
    why = (
        f", the classes of {dataset}, which its path names"
        if dataset in CLASSES
        else ""
    )
    label = lines.integers("label", 0, last, why)
    predict = lines.integers("predict", MISCLASSIFIED, last, why)
    table = Certificates(
        header=Header(),
        idx=_positions(lines),
        label=label,
        predict=np.maximum(predict, ABSTAIN),
        radius=lines.numbers("radius"),
        seconds=_seconds_of(lines),
        q=_stated_q(lines),
        name=stem_of(path),
    )
    _check_rows(table, lines)
    notes = _notes(lines, misclassified=int((predict == MISCLASSIFIED).sum()))
    return _in_order(_with_sigma(replace(table, header=Header(notes=notes)), lines))


def _positions(lines: Lines) -> Ints:
    """(N,) the position of each image in its split; below 0 where the log does not say it."""
    if "idx" not in lines.columns:
        return -1 - np.arange(len(lines.places))
    idx = lines.integers("idx", 0, LAST)
    _, first, place = np.unique(idx, return_index=True, return_inverse=True)
    twice = np.flatnonzero(first[place] < np.arange(len(idx)))
    if len(twice):
        lines.refuse(
            "idx",
            np.arange(len(idx)) == twice[0],
            _twice(lines, idx, int(first[place[twice[0]]]), twice[0]),
        )
    return idx


def _twice(lines: Lines, idx: Ints, first: int, again: int) -> str:
    """What is said of an image that stands in two rows, `first` and `again`."""
    said = f"stands twice, first in line {lines.places[first]}"
    header = (
        lines.headers[lines.part[again] - 1]
        if lines.part[again] > lines.part[first]
        else 0
    )
    if header:
        said += f": line {header} is a header again, so a second run was appended to the first"
    elif idx[again] < idx[again - 1]:
        said += ": a second run seems to have been appended to the first here"
    return f"{said}. Keep one row an image, and make a file of each run"


def _seconds_of(lines: Lines) -> Floats:
    """(N,) `time` as h:mm:ss with or without fractions, with days before it, or in plain seconds."""
    seconds = np.array([_seconds(cell) for cell in lines.columns["time"]], np.float64)
    lines.refuse(
        "time",
        ~((seconds >= 0) & (seconds <= LONGEST)),
        "is neither h:mm:ss nor seconds",
    )
    return seconds


def _seconds(cell: str) -> float:
    found = CLOCK.fullmatch(cell)
    if found is None:
        return float(cell) if NUMBER.fullmatch(cell) else math.nan
    days, hours, minutes, seconds = found.groups(default="0")
    return round(
        86400.0 * int(days)
        + 3600.0 * int(hours)
        + 60.0 * int(minutes)
        + float(seconds),
        9,
    )


def _stated_q(lines: Lines) -> Floats | None:
    """(N,) the upper bound on 1 - p_A that the log states of each image; None where it does not."""
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
    """The table with the sigma that a column of the log states, or the sigmas, where images have several."""
    names = [name for name in SIGMA_COLUMNS if name in lines.columns]
    if len(names) > 1:
        raise WrongFile(
            f"{lines.path} has the columns {' and '.join(names)}: keep the one that radii are made with"
        )
    if not names or len(table) == 0:
        return table
    sigmas = lines.numbers(names[0])
    least, most = LENGTHS
    lines.refuse(
        names[0],
        (sigmas < least) | (sigmas > most),
        f"is no sigma; expected {least:g} to {most:g}",
    )
    low, high = float(sigmas.min()), float(sigmas.max())
    if low == high:
        note = f"sigma {low:g} as its column {names[0]} says"
        return replace(
            table,
            header=table.header.replace(sigma=low, notes=(*table.header.notes, note)),
        )
    note = (
        f"each image has a sigma of its own, {low:g} to {high:g}, as its column {names[0]} says: "
        "a radius holds if that sigma is kept for all inputs, not chosen anew for each"
    )
    return replace(
        table,
        sigmas=sigmas,
        header=table.header.replace(notes=(*table.header.notes, note)),
    )


def _notes(lines: Lines, misclassified: int) -> tuple[str, ...]:
    """What the header says of a log that is not as usual."""
    notes = []
    if "idx" not in lines.columns:
        notes.append(UNNUMBERED)
    if lines.headers:
        places = ", ".join(map(str, lines.headers[:3]))
        notes.append(
            f"a header stands again in line {places}: a run went on there, about other images"
        )
    if misclassified:
        were = "1 image was" if misclassified == 1 else f"{misclassified:,} images were"
        notes.append(
            f"{were} misclassified and not certified (predict=-2), which counts as wrong"
        )
    if lines.unread:
        notes.append(f"columns not read: {', '.join(lines.unread)}")
    return tuple(shortened(printable(note), LONG_PART) for note in notes)


def _in_order(table: Certificates) -> Certificates:
    """The table with its images in ascending order, as far as it says which they are."""
    if len(table) == 0 or table.idx[0] < 0 or np.all(np.diff(table.idx) > 0):
        return table
    noted = table.header.replace(notes=(*table.header.notes, SORTED))
    return replace(table.rows(np.argsort(table.idx)), header=noted)


def _check_rows(table: Certificates, lines: Lines) -> None:
    """Raise Problem for columns that contradict each other."""
    impossible = (table.radius < 0) | (table.radius > LARGEST)
    lines.refuse(
        "radius", impossible, f"is below 0 or above {LARGEST:g}, which none can be"
    )
    held = (table.predict == ABSTAIN) & (table.radius > 0)
    lines.refuse("radius", held, "stands where predict abstains; expected 0")
    cells = [TRUTH.get(cell, cell) for cell in lines.columns["correct"]]
    correct = replace(lines, columns={**lines.columns, "correct": cells}).integers(
        "correct", 0, len(table)
    )
    if not _counts_right_rows(correct, table.correct, lines):
        why = "contradicts predict: expected 1 where predict is label, else 0, or the number of such rows so far"
        lines.refuse("correct", table.correct != correct, why)


def _counts_right_rows(correct: Ints, right: NDArray[np.bool_], lines: Lines) -> bool:
    """Whether `correct` (N,) is a running total of the `right` rows (N,).

    It counts through the whole file or from each header on; or rows were put in another order after they were counted.
    """
    total = np.cumsum(right)
    before_each_part = np.append(0, total)[lines.starts]
    if np.array_equal(correct, total) or np.array_equal(
        correct, total - before_each_part[lines.part]
    ):
        return True
    each_once = np.arange(1, right.sum() + 1)
    known_images = "idx" in lines.columns
    return (
        known_images
        and len(each_once) > 1
        and np.array_equal(np.sort(correct[right]), each_once)
    )
