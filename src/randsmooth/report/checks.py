"""The checks of tables as reports print them.

Each failure has a line. All tables or pairs that passed the same check share one, so that
a report on many tables stays short.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from randsmooth.certificates import Certificates
from randsmooth.escape import printable
from randsmooth.metrics.checks import FAILED, PASSED, UNKNOWN, Check, State
from randsmooth.report.layouts import INDENT, wrapped

# The heading of the block of checks.
HEADING = "Checks"

# The reason why a table is not judged; `kinds` names the failed checks.
NOT_JUDGED = "not judged, as a check failed ({kinds})"

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
    "copies": "a copy",
    "derived": "radii derived from another table",
    "order": "images exchanged",
    "from_released": "radii derived from a released log",
}

# Names of more tables are not listed.
MOST_NAMES = 4

# The sentence of several checks of one kind and state.
SUMMED: dict[tuple[str, State], str] = {
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
    ("is_released", PASSED): "{tables} are released logs",
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
        # Checks of a kind may stand apart.
        kinds = list(dict.fromkeys(check.kind for check in of_state))
        of_state.sort(key=lambda check: kinds.index(check.kind))
        for kind, group in groupby(of_state, key=lambda check: check.kind):
            lines += _lines_of_kind(kind, state, list(group))
    return lines


def _lines_of_kind(kind: str, state: State, checks: list[Check]) -> list[CheckLine]:
    template = SUMMED.get((kind, state))
    if len(checks) == 1 or template is None:
        return [CheckLine(state, str(check)) for check in checks]
    return [CheckLine(state, template.format_map(_sums(checks)))]


def _sums(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the facts of the sentence of several checks."""
    names = [check.facts["table"] for check in checks if "table" in check.facts]
    correlations = [check.facts.get("correlation", 0.0) for check in checks]
    return {
        "number": len(checks),
        "tables": listed(names),
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
    """Say of each table that a failed check is about why it is not judged.

    A failed check of a table doubts the table. One of a pair doubts the table that is
    judged against the baseline, or both tables where neither is the baseline and there
    is none. A pair that is not judged doubts nobody.

    Returns:
        The reasons by the names of the tables.
    """
    topics: dict[str, list[str]] = {}
    for check in checks:
        if check.state != FAILED:
            continue
        for name in _doubted_by(check.facts, names, baseline):
            topics.setdefault(name, []).append(TOPICS[check.kind])
    return {
        name: NOT_JUDGED.format(kinds=", ".join(dict.fromkeys(kinds)))
        for name, kinds in topics.items()
    }


def _doubted_by(
    facts: Mapping[str, Any], names: Sequence[str], baseline: int | None
) -> list[str]:
    if "table" in facts:
        return [facts["table"]]
    pair = [facts["a"], facts["b"]]
    if baseline is None:
        return pair
    reference = names[baseline]
    if reference not in pair:
        return []
    return [name for name in pair if name != reference]


def as_text(
    lines: Sequence[CheckLine], sentences: Iterable[str], width: int
) -> list[str]:
    """Lay out the block of checks for a terminal of so many columns."""
    text = [f"{HEADING}:"]
    for line in lines:
        text += wrapped(f"{INDENT}{line.mark} {line.sentence}", width, INDENT * 2)
    for sentence in sentences:
        text += wrapped(sentence, width)
    return [*map(printable, text)]
