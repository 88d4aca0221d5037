"""The checks of tables as reports print them.

Each failure has a line; of many failures, each table that they doubt has one. All tables
or pairs that passed the same check share one, so that a report on many tables stays short.
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
from randsmooth.escape import few_of, names_of, printable
from randsmooth.metrics.blame import Standing
from randsmooth.metrics.check_values import (
    FAILED,
    NOT_COMPARED,
    OF_ANOTHER_TABLE,
    PASSED,
    UNKNOWN,
    Check,
    State,
)
from randsmooth.metrics.checks import check_folder
from randsmooth.metrics.copies import COPY_KINDS
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

# What failed, where a line has no room for the sentence; the gravest first.
TOPICS = {
    "changed_released": "an altered copy of a released log",
    "rearranged": "rearranged rows of a released log",
    "scaled_released": "scaled radii of a released log",
    "from_released": "radii derived from a released log",
    "repeated": "repeated rows",
    "copies": "a copy",
    "part": "a part of another table",
    "derived": "radii derived from another table",
    "mostly_equal": "rows of another table",
    "rows": "an image has several rows",
    "radii": "impossible radii",
    "sigma": "radii of another sigma",
    "sigmas": "radii of another sigma",
    "order": "images exchanged",
    "sources": "another data set",
    "classes_renamed": "classes renamed",
    "labels": "other labels",
    "labels_of_data": "labels not of the data set",
    "images": "other images",
}
GRAVITY = {kind: place for place, kind in enumerate(TOPICS)}

# More failures of one kind have no line each, but one together.
MOST_FAILURES = 5
MORE_FAILURES = "{number} more failures of this kind ({topic})"

# More tables that passed a check are counted, not named.
MOST_NAMED = 4

# Where more failures than this are to be told, those of a table share a line; and more
# tables than this have one line together.
MOST_TABLES = 8
MORE_TABLES = "{number:,} more tables failed a check"
ONE_TABLE_MORE = "1 more table failed a check"

# The sentence of several checks of one kind and state.
SUMMED: dict[tuple[str, State], str] = {
    ("images", PASSED): (
        "all tables of one data set have rows for the same images (by idx)"
    ),
    ("subset", PASSED): (
        "{number} tables are about some of the images of another, evenly spaced"
    ),
    ("labels", PASSED): (
        "the tables agree on the label of every image that they share"
    ),
    ("copies", PASSED): "no table is a copy of another",
    ("rows", UNKNOWN): "{tables} do not say which image a row is about",
    ("labels_of_data", PASSED): "labels of {tables} are those of the data set",
    ("labels_of_data", UNKNOWN): ("labels of {tables} were not compared: {reason}"),
    ("radii", PASSED): (
        "no radius of {tables} exceeds what its n and alpha allow{beside}"
    ),
    ("radii", UNKNOWN): (
        "it is unknown with which sigma, n and alpha {tables} were certified"
    ),
    ("sigma", PASSED): "the largest radii of {tables} are those of their sigma",
    ("sigma", UNKNOWN): (
        "the largest radii of {tables} do not say at which sigma they were certified"
    ),
    ("order", PASSED): (
        "images of a class have alike radii in {number} pairs of tables "
        "(rank correlation {least:z.2f} to {most:z.2f})"
    ),
    ("order", UNKNOWN): (
        "it cannot be told whether {number} pairs of tables find the same images of a "
        "class hard"
    ),
    ("is_released", PASSED): "{tables} are released logs, unaltered",
    ("is_released", UNKNOWN): (
        "{tables} agree with released logs on up to {images} images each; the others were "
        "not compared"
    ),
    ("part_of_released", UNKNOWN): (
        "{tables} have a part of the images of released logs, evenly spaced; compared were "
        "up to {images} of each"
    ),
    ("unnumbered_released", UNKNOWN): (
        "{tables} have the totals of released logs; their rows do not say their image"
    ),
    ("from_released", UNKNOWN): (
        "{tables} are either models of released logs certified anew, or altered copies of "
        "these logs"
    ),
}

# What is told table by table, where at most MOST_TABLES are: which log each one is.
NAMING_KINDS = frozenset(
    {"is_released", "part_of_released", "unnumbered_released", "from_released"}
)

# Behind the sentence of a failure, what follows from it.
CONSEQUENCES = "; from this follow: {topics}"


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
    """Return a line for each failure, and one for each kind that passed or is unknown.

    A failure that follows from another has no line of its own.
    """
    consequences = _consequences(checks)
    following = {id(check) for group in consequences.values() for check in group}
    lines = []
    for state in ORDER:
        of_state = [
            check
            for check in checks
            if check.state == state and id(check) not in following
        ]
        # Checks of a kind may stand apart, and `groupby` gathers neighbours alone.
        kinds = list(dict.fromkeys(check.kind for check in of_state))
        if state == FAILED:
            kinds.sort(key=lambda kind: GRAVITY[kind])
        of_state.sort(key=lambda check: (kinds.index(check.kind), _reason_of(check)))
        groups = groupby(of_state, key=lambda check: (check.kind, _reason_of(check)))
        for (kind, _), group in groups:
            lines += _lines_of_kind(kind, state, list(group), consequences)
    return lines


def _reason_of(check: Check) -> str:
    """Return why a check cannot be told, where it says so: each reason has a line."""
    return str(check.facts.get("reason", ""))


def _consequences(checks: Sequence[Check]) -> dict[int, list[Check]]:
    """Return the failures that follow from another, by the `id` of that."""
    standing = Standing.of(checks)
    consequences: dict[int, list[Check]] = {}
    for check in checks:
        cause = standing.cause_of(check)
        if cause is not None:
            consequences.setdefault(id(cause), []).append(check)
    return consequences


def _lines_of_kind(
    kind: str,
    state: State,
    checks: list[Check],
    consequences: Mapping[int, Sequence[Check]],
) -> list[CheckLine]:
    """Return one line that sums up checks of a kind and state, or a line for each.

    SUMMED has no sentence for failures: the first MOST_FAILURES have lines of their own,
    and the last line gives the number of the rest.

    Args:
        kind: the kind of the checks.
        state: their state.
        checks: the checks.
        consequences: the failures that follow from each check, by its `id`.
    """
    template = SUMMED.get((kind, state))
    if template is not None and not _are_told_apart(kind, checks):
        return [CheckLine(state, template.format_map(_sums(checks)))]
    shown = few_of(checks, MOST_FAILURES) if state == FAILED else checks
    lines = [
        CheckLine(state, _with_consequences(check, consequences)) for check in shown
    ]
    if len(checks) > len(shown):
        more = MORE_FAILURES.format(number=len(checks) - len(shown), topic=TOPICS[kind])
        lines.append(CheckLine(state, more))
    return lines


def _are_told_apart(kind: str, checks: Sequence[Check]) -> bool:
    """Return whether each check has a line, and not all of them one together."""
    return len(checks) == 1 or (kind in NAMING_KINDS and len(checks) <= MOST_TABLES)


def _with_consequences(
    check: Check, consequences: Mapping[int, Sequence[Check]]
) -> str:
    """Return the sentence of a check, and the topics of failures that follow from it."""
    following = consequences.get(id(check), [])
    # One topic may follow beside several tables.
    topics = dict.fromkeys(TOPICS[each.kind] for each in following)
    if not topics:
        return str(check)
    return f"{check}{CONSEQUENCES.format(topics=', '.join(topics))}"


def _sums(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the facts that the sentences of SUMMED tell: each tells some of them."""
    # Checks of pairs have no "table", and only those of the order have a correlation.
    names = [check.facts["table"] for check in checks if "table" in check.facts]
    correlations = [check.facts.get("correlation", 0.0) for check in checks]
    return {
        "number": len(checks),
        "beside": _borrowed_budgets(checks),
        # Checks of one line have one reason.
        "reason": NOT_COMPARED.get(_reason_of(checks[0]), ""),
        # The names of a few of many tell nothing.
        "tables": _named(names),
        "images": max(check.facts.get("images", 0) for check in checks),
        "least": min(correlations),
        "most": max(correlations),
    }


def _named(names: Sequence[str]) -> str:
    """Return the names of a few tables, and the number of many."""
    return names_of(names) if len(names) <= MOST_NAMED else f"{len(names):,} tables"


def _borrowed_budgets(checks: Sequence[Check]) -> str:
    """Word of which tables n and alpha are not known, and are taken from another."""
    borrowers = [
        check.facts["table"]
        for check in checks
        if check.facts.get("origin") == OF_ANOTHER_TABLE
    ]
    return f" (for {_named(borrowers)}, those of another table)" if borrowers else ""


def lines_by_table(
    failures: Mapping[str, Sequence[Check]], most: int = MOST_TABLES
) -> list[CheckLine]:
    """Return a line for each table that failed checks, those of the gravest first.

    It has the sentence of the gravest, and the topics of the others. Two tables may share
    a sentence, which is told once.

    Args:
        failures: the failed checks that doubt each table.
        most: the most tables that have a line; the last line gives the number of others.
    """

    def gravity(name: str) -> tuple[int, int]:
        """Return a key by which the gravest comes first."""
        gravest = min(GRAVITY[check.kind] for check in failures[name])
        return gravest, -len(failures[name])

    in_order = sorted(failures, key=gravity)
    sentences = [_sentence_of_table(failures[name]) for name in in_order[:most]]
    lines = [CheckLine(FAILED, sentence) for sentence in dict.fromkeys(sentences)]
    others = len(failures) - most
    if others == 1:
        lines.append(CheckLine(FAILED, ONE_TABLE_MORE))
    elif others > 1:
        lines.append(CheckLine(FAILED, MORE_TABLES.format(number=others)))
    return lines


def _sentence_of_table(checks: Sequence[Check]) -> str:
    """Return the sentence of the gravest check that a table failed, and other topics."""
    gravest, *others = sorted(checks, key=lambda check: GRAVITY[check.kind])
    topics = dict.fromkeys(TOPICS[check.kind] for check in others)
    topics.pop(TOPICS[gravest.kind], None)
    if not topics:
        return str(gravest)
    return f"{gravest}; also: {', '.join(topics)}"


def doubted_tables(
    names: Sequence[str], baseline: int | None, checks: Sequence[Check]
) -> dict[str, str]:
    """Return the reason why each table that failed a check is not judged.

    A failed check of a table doubts the table. One of a pair doubts the one that it
    suspects (see `Standing.suspects`). Where it suspects both, it doubts the table that is
    judged against the baseline, or both if there is none. A pair that is not judged doubts
    nobody.

    Args:
        names: the names of the tables.
        baseline: the place of the baseline among them; None if there is none.
        checks: the checks of the tables.

    Returns:
        The reasons by the names of the tables.
    """
    reference = None if baseline is None else names[baseline]
    standing = Standing.of(checks)
    return reasons(
        failures_of_tables(checks, lambda check: _judged_of(check, standing, reference))
    )


def failures_in_folder(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Return the failed checks that doubt each table of a folder, by its name.

    A failed check of a pair doubts the one that it suspects (see `Standing.suspects`).
    Where it suspects both, it doubts the second; of copies both; and where images were
    exchanged the one that more such checks are about, or both.

    Args:
        checks: the result of `check_folder`.
    """
    times = Counter(
        name
        for check in checks
        if check.state == FAILED and check.kind == "order"
        for name in check.tables
    )
    standing = Standing.of(checks)
    return failures_of_tables(checks, lambda check: _unusual_of(check, standing, times))


def failures_of_tables(
    checks: Sequence[Check], doubted_by: Callable[[Check], Sequence[str]]
) -> dict[str, list[Check]]:
    """Return the failed checks that doubt each table, by its name.

    Args:
        checks: the checks of the tables.
        doubted_by: returns the names of the tables that a failed check doubts.
    """
    failures: dict[str, list[Check]] = {}
    for check in checks:
        if check.state == FAILED:
            for name in doubted_by(check):
                failures.setdefault(name, []).append(check)
    return failures


def reasons(failures: Mapping[str, Sequence[Check]]) -> dict[str, str]:
    """Return the reasons not to judge tables, by their names; the gravest topic first."""
    reason_of_table = {}
    for name, checks in failures.items():
        in_order = sorted(checks, key=lambda check: GRAVITY[check.kind])
        # Several checks may fail on one topic.
        topics = dict.fromkeys(TOPICS[check.kind] for check in in_order)
        reason_of_table[name] = NOT_JUDGED.format(topics=", ".join(topics))
    return reason_of_table


def _judged_of(check: Check, standing: Standing, reference: str | None) -> list[str]:
    """Return the tables that a failed check doubts, where others are judged against one.

    Args:
        check: the failed check.
        standing: what is known of each table.
        reference: the name of the baseline; None if there is none.
    """
    is_of_pair = len(check.tables) > 1
    if is_of_pair and reference is not None and reference not in check.tables:
        return []
    suspects = standing.suspects(check)
    if len(suspects) == 1:
        return suspects
    return [name for name in suspects if name != reference]


def _unusual_of(
    check: Check, standing: Standing, times: Mapping[str, int]
) -> list[str]:
    """Return the tables of a folder that a failed check doubts.

    Args:
        check: the failed check.
        standing: what is known of each table.
        times: how many failed checks of the order of images are about each table.
    """
    suspects = standing.suspects(check)
    if len(suspects) == 1 or check.kind in COPY_KINDS:
        return suspects
    if check.kind != "order":
        return suspects[-1:]
    most = max(times[name] for name in suspects)
    return [name for name in suspects if times[name] == most]


@dataclass(frozen=True)
class CheckBlock:
    """The block of checks of a report.

    Attributes:
        checks: all checks, each with its facts.
        failed: why tables are doubted, by their names.
        anyway: whether doubted tables are judged all the same.
        is_shown: whether the report prints the block.
        in_folder: whether the tables are those of a folder, whose failures are told table
            by table.
    """

    checks: Sequence[Check]
    failed: Mapping[str, str]
    anyway: bool = False
    is_shown: bool = True
    in_folder: bool = False

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
            failed=reasons(failures_in_folder(checks)),
            anyway=anyway,
            is_shown=worth_printing(tables, checks),
            in_folder=True,
        )

    @property
    def lines(self) -> list[CheckLine]:
        """Return the lines of the block; none where it is not shown."""
        if not self.is_shown:
            return []
        failed = [check for check in self.checks if check.state == FAILED]
        if not self.in_folder and len(failed) <= MOST_TABLES:
            return check_lines(self.checks)
        # Checks that passed say which tables are released logs: all are asked.
        if self.in_folder:
            failures = failures_in_folder(self.checks)
        else:
            failures = failures_of_tables(
                self.checks, Standing.of(self.checks).suspects
            )
        others = [check for check in self.checks if check.state != FAILED]
        return [*lines_by_table(failures), *check_lines(others)]

    @property
    def notes(self) -> list[Note]:
        """Return what no check sees, and what becomes of tables that failed one."""
        notes = [Note("unseen_by_checks")]
        if self.failed and self.anyway:
            notes.append(Note("judged_anyway"))
        elif self.failed:
            notes.append(Note("verdict_off", names=[*self.failed]))
        return notes

    @property
    def doubted(self) -> dict[str, str]:
        """Return why tables are not judged, by their names."""
        return {} if self.anyway else dict(self.failed)

    @property
    def content(self) -> list[dict[str, Any]]:
        """Return the checks for programs: kind, state, facts and sentence of each.

        `follows_from` is the kind of the failure that a failure follows from, if any.
        """
        standing = Standing.of(self.checks)
        content = []
        for check in self.checks:
            cause = standing.cause_of(check)
            follows_from = {"follows_from": cause.kind if cause else None}
            content.append(asdict(check) | follows_from | {"sentence": str(check)})
        return content

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
