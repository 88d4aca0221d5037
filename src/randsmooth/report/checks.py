"""The checks of tables as reports print them.

Each failure has a line. All tables or pairs that passed the same check share one, so that
a report on many tables stays short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.escape import printable
from randsmooth.metrics.checks import (
    FAILED,
    PASSED,
    UNKNOWN,
    Check,
    State,
    check_folder,
)
from randsmooth.notes import Note
from randsmooth.progress import worded
from randsmooth.report.layouts import INDENT, wrapped

# The heading of the block of checks.
HEADING = "Checks"

# The reason why a table is not judged; `topics` says what failed.
NOT_JUDGED = "not judged, as a check failed ({topics})"

# The mark that a report prints for each state of a check.
MARKS: dict[State, str] = {PASSED: "✓", FAILED: "✗", UNKNOWN: "?"}

# What a screen reader reads in place of the mark.
WORDS: dict[State, str] = {
    PASSED: "passed",
    FAILED: "failed",
    UNKNOWN: "cannot be told",
}

# Failures are to be met first.
ORDER: tuple[State, ...] = (FAILED, PASSED, UNKNOWN)

# What failed, where a line has no room for the sentence.
TOPICS = {
    "rows": "an image has several rows",
    "images": "other images",
    "sources": "another data set",
    "labels": "other labels",
    "labels_of_data": "labels not of the data set",
    "radii": "impossible radii",
    "sigma": "radii of another sigma",
    "sigmas": "radii of another sigma",
    "copies": "a copy",
    "derived": "radii derived from another table",
    "mostly_equal": "rows of another table",
    "order": "images exchanged",
    "from_released": "radii derived from a released log",
}

# Names of more tables are not listed.
MOST_NAMES = 4

# More failures of one kind have no line each, but one together.
MOST_FAILURES = 5
MORE_FAILURES = "{number} more failures of this kind ({topic})"

# The sentence of several checks of one kind and state.
SUMMED: dict[tuple[str, State], str] = {
    ("images", PASSED): "all tables of one data set are about the same images",
    ("subset", PASSED): (
        "{number} tables are about some of the images of another, evenly spaced"
    ),
    ("labels", PASSED): (
        "the tables agree on the label of every image that they share"
    ),
    ("copies", PASSED): "no table is a copy of another",
    ("rows", UNKNOWN): "{tables} do not say which image a row is about",
    ("labels_of_data", PASSED): "labels of {tables} are those of the data set",
    ("labels_of_data", UNKNOWN): (
        "labels of {tables} were not compared with the data set, which is not here, or "
        "whose images stand here in another order"
    ),
    ("radii", PASSED): "every radius of {tables} is possible with its n and alpha",
    ("radii", UNKNOWN): (
        "it is unknown with which sigma, n and alpha {tables} were certified"
    ),
    ("sigma", PASSED): "the largest radii of {tables} are those of their sigma",
    ("sigma", UNKNOWN): (
        "the largest radii of {tables} do not say at which sigma they were certified"
    ),
    ("order", PASSED): (
        "images of a class have alike radii in {number} pairs of tables "
        "(rank correlation {least:.2f} to {most:.2f})"
    ),
    ("order", UNKNOWN): (
        "whether {number} pairs of tables find the same images of a class hard"
    ),
    ("is_released", UNKNOWN): (
        "{tables} agree with released logs on {images} images each; the others were not "
        "compared"
    ),
    ("may_be_scaled", UNKNOWN): (
        "{tables} agree with released logs, or are such with all their radii scaled"
    ),
}


@dataclass(frozen=True)
class CheckLine:
    """One line of the block of checks.

    Attributes:
        state: the state that all checks of the line share.
        sentence: says what was found.
    """

    state: State
    sentence: str

    @property
    def mark(self) -> str:
        """Return the tick, the cross, or the question mark."""
        return MARKS[self.state]

    @property
    def word(self) -> str:
        """Return the mark in words."""
        return WORDS[self.state]


def worth_printing(tables: Sequence[Certificates], checks: Sequence[Check]) -> bool:
    """Return whether a report shows its checks.

    Of a single table of counts nothing was compared, so that it is silent unless a
    check failed.
    """
    several = len(tables) > 1
    has_log = any(table.is_log for table in tables)
    return several or has_log or any(check.state == FAILED for check in checks)


def check_lines(checks: Sequence[Check]) -> list[CheckLine]:
    """Return a line for each failure, and one for each kind that passed or is unknown."""
    lines = []
    for state in ORDER:
        of_state = [check for check in checks if check.state == state]
        # Checks of a kind may stand apart, and `groupby` gathers neighbours alone.
        kinds = list(dict.fromkeys(check.kind for check in of_state))
        of_state.sort(key=lambda check: kinds.index(check.kind))
        for kind, group in groupby(of_state, key=lambda check: check.kind):
            lines += _lines_of_kind(kind, state, list(group))
    return lines


def _lines_of_kind(kind: str, state: State, checks: list[Check]) -> list[CheckLine]:
    """Return one line that sums up checks of a kind and state, or a line for each.

    SUMMED has no sentence for failures: the first MOST_FAILURES have lines of their own,
    and the last line gives the number of the rest.
    """
    template = SUMMED.get((kind, state))
    if len(checks) == 1 or template is None:
        lines = [CheckLine(state, str(check)) for check in checks[:MOST_FAILURES]]
        if len(checks) > MOST_FAILURES:
            # Only failures come in such numbers: SUMMED sums up what others may.
            more = MORE_FAILURES.format(
                number=len(checks) - MOST_FAILURES, topic=TOPICS[kind]
            )
            lines.append(CheckLine(state, more))
        return lines
    return [CheckLine(state, template.format_map(_sums(checks)))]


def _sums(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the facts that the sentences of SUMMED tell: each tells some of them."""
    # Checks of pairs have no "table", and only those of the order have a correlation.
    names = [check.facts["table"] for check in checks if "table" in check.facts]
    correlations = [check.facts.get("correlation", 0.0) for check in checks]
    return {
        "number": len(checks),
        "tables": listed(names),
        "images": max(check.facts.get("images", 0) for check in checks),
        "least": min(correlations),
        "most": max(correlations),
    }


def listed(names: Sequence[str]) -> str:
    """Name a few things, and only count many.

    Example:
        >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
        ('a, b', 'a, b, c and 2 more')
    """
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    first = ", ".join(names[: MOST_NAMES - 1])
    return f"{first} and {len(names) - MOST_NAMES + 1} more"


def doubted_tables(
    names: Sequence[str], baseline: int | None, checks: Sequence[Check]
) -> dict[str, str]:
    """Return the reason why each table that failed a check is not judged.

    A failed check of a table doubts the table. One of a pair doubts the table that is
    judged against the baseline, or both tables where neither is the baseline and there
    is none. A pair that is not judged doubts nobody.

    Args:
        names: the names of the tables.
        baseline: the place of the baseline among them; None if there is none.
        checks: the checks of the tables.

    Returns:
        The reasons by the names of the tables.
    """
    reference = None if baseline is None else names[baseline]
    return _reasons(checks, lambda check: _judged_of(check, reference))


def doubted_in_folder(checks: Sequence[Check]) -> dict[str, str]:
    """Return the same reasons as `doubted_tables` for tables checked by `check_folder`.

    A failed check of a pair doubts its second table. Where images were exchanged, it is
    the one that more such checks are about, or both.
    """
    times = Counter(
        name
        for check in checks
        if check.state == FAILED and check.kind == "order"
        for name in _names_in(check)
    )
    return _reasons(checks, lambda check: _unusual_of(check, times))


def _reasons(
    checks: Sequence[Check], doubted_by: Callable[[Check], Sequence[str]]
) -> dict[str, str]:
    """Return the reasons not to judge tables, by their names.

    Args:
        checks: the checks of the tables.
        doubted_by: returns the names of the tables that a failed check doubts.
    """
    topics_of_table: dict[str, list[str]] = {}
    for check in checks:
        if check.state != FAILED:
            continue
        for name in doubted_by(check):
            topics_of_table.setdefault(name, []).append(TOPICS[check.kind])
    # Several checks may fail on one topic.
    return {
        name: NOT_JUDGED.format(topics=", ".join(dict.fromkeys(topics)))
        for name, topics in topics_of_table.items()
    }


def _names_in(check: Check) -> list[str]:
    """Return the names of the tables that a check is about: one, or a pair."""
    if "table" in check.facts:
        return [check.facts["table"]]
    return [check.facts["a"], check.facts["b"]]


def _judged_of(check: Check, reference: str | None) -> list[str]:
    """Return the tables that a check doubts, where others are judged against one."""
    names = _names_in(check)
    if len(names) == 1 or reference is None:
        return names
    if reference not in names:
        return []
    return [name for name in names if name != reference]


def _unusual_of(check: Check, times: Mapping[str, int]) -> list[str]:
    """Return the tables of a folder that a check doubts.

    Args:
        check: a failed check.
        times: how many failed checks of the order of images are about each table.
    """
    names = _names_in(check)
    if check.kind != "order":
        return names[-1:]
    most = max(times[name] for name in names)
    return [name for name in names if times[name] == most]


@dataclass(frozen=True)
class CheckBlock:
    """The block of checks of a report.

    Attributes:
        checks: all checks, each with its facts.
        failed: why tables are doubted, by their names.
        anyway: whether doubted tables are judged all the same.
        is_shown: whether the report prints the block.
    """

    checks: Sequence[Check]
    failed: Mapping[str, str]
    anyway: bool = False
    is_shown: bool = True

    @classmethod
    def of_folder(
        cls,
        tables: Sequence[Certificates],
        labels: Mapping[str, NDArray[np.int64]] | None = None,
        *,
        anyway: bool = False,
    ) -> CheckBlock:
        """Check the tables of a folder, which have distinct names.

        Args:
            tables: the certificates.
            labels: the labels of data sets that are at hand, as for `check_folder`.
            anyway: whether doubted tables are judged all the same.
        """
        checks = check_folder(tables, labels)
        return cls(
            checks=checks,
            failed=doubted_in_folder(checks),
            anyway=anyway,
            is_shown=worth_printing(tables, checks),
        )

    @property
    def lines(self) -> list[CheckLine]:
        """Return the lines of the block; none where it is not shown."""
        return check_lines(self.checks) if self.is_shown else []

    @property
    def notes(self) -> list[Note]:
        """Return what no check sees, and what becomes of tables that failed one."""
        notes = [Note("unseen_by_checks")]
        if self.failed and self.anyway:
            notes.append(Note("judged_anyway"))
        elif self.failed:
            notes.append(Note("verdict_off", names=listed([*self.failed])))
        return notes

    @property
    def doubted(self) -> dict[str, str]:
        """Return why tables are not judged, by their names."""
        return {} if self.anyway else dict(self.failed)

    @property
    def content(self) -> list[dict[str, Any]]:
        """Return the checks for programs: kind, state, facts and sentence of each."""
        return [{**asdict(check), "sentence": str(check)} for check in self.checks]

    def text(self, width: int) -> list[str]:
        """Lay out the block for a terminal of so many columns, an empty line below."""
        if not self.is_shown:
            return []
        text = [f"{HEADING}:"]
        for line in self.lines:
            text += wrapped(f"{INDENT}{line.mark} {line.sentence}", width, INDENT * 2)
        for note in self.notes:
            text += wrapped(worded(note), width)
        return [*map(printable, text), ""]
