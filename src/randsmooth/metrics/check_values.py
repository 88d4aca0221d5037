"""A check of tables as a value, and the sentence for each kind and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Facts = Mapping[str, Any]
State = Literal["passed", "failed", "unknown"]

# The states of a check.
PASSED: State = "passed"
FAILED: State = "failed"
UNKNOWN: State = "unknown"


def _images(facts: Facts) -> str:
    """Word which images one of two tables lacks, or both."""
    lacking = []
    if facts["missing_in_b"]:
        lacking.append("{b} lacks {missing_in_b:,} images of {a}")
    if facts["missing_in_a"]:
        lacking.append("{a} lacks {missing_in_a:,} images of {b}")
    return ", and ".join(lacking)


def _copies(facts: Facts) -> str:
    """Word two equal tables; `original` is None where nothing says which came first."""
    if facts["original"] is None:
        return "{a} and {b} are copies of each other: all answers and radii are equal"
    return "{b} is a copy of {a}: all answers and radii are equal"


def _derived(facts: Facts) -> str:
    """Word two tables of equal answers and unequal radii."""
    alike = "all {shared:,} answers are equal, and the radii have the same order"
    return f"{_made_from(facts)}: {alike}"


def _mostly_equal(facts: Facts) -> str:
    """Word two tables most of whose rows are equal."""
    alike = "{equal:,} of {shared:,} images have the same answer and the same radius"
    return f"{_made_from(facts)}: {alike}"


def _made_from(facts: Facts) -> str:
    """Word which table was made from the other, as far as it is known."""
    if facts["original"] is None:
        return "one of {a} and {b} was made from the other"
    return "{b} comes from {a}"


def _labels_not_compared(facts: Facts) -> str:
    """Word why the labels of a log were not compared with those of its data set."""
    return f"labels of {{table}} were not compared: {NOT_COMPARED[facts['reason']]}"


def budget_words(facts: Facts) -> str:
    """Word whence n and alpha of a log are known, unless the log states them."""
    if facts["origin"] == FROM_RADII:
        return ", as its largest radii say"
    if facts["origin"] == OF_ANOTHER_TABLE:
        return ", taken from {budget_of}"
    return ""


def _radii_possible(facts: Facts) -> str:
    """Word that no radius is too large."""
    allowed = "n={n:,} and alpha={alpha:g} allow"
    return f"no radius of {{table}} exceeds what {allowed}{budget_words(facts)}"


def _radii_impossible(facts: Facts) -> str:
    """Word how many radii are too large."""
    return (
        "{table}: {number:,} radii, up to {largest:.4g}, exceed {possible:.4g}, the most "
        f"that n={{n:,}} and alpha={{alpha:g}}{budget_words(facts)} allow at "
        "sigma={sigma:g}"
    )


def _altered(facts: Facts) -> str:
    """Word from which released log a table was made, and what was changed in it."""
    lead = f"{{table}}: altered copy of a released log ({SOURCE}: {{path}})"
    return _with_changes(lead, facts)


def _rearranged(facts: Facts) -> str:
    """Word whose rows a table has under other numbers, and what else was changed."""
    lead = f"{{table}}: rows of a released log ({SOURCE}: {{path}}) under other idx or labels"
    return _with_changes(lead, facts)


def _certified_anew(facts: Facts) -> str:
    """Word a table whose radii are near those of a released log.

    That images were made right or wrong would accuse an honest certification.
    """
    lead = (
        f"{{table}}: either the model of a released log ({SOURCE}) certified anew, or an "
        "altered copy of that log"
    )
    right = "{of_table.right:,} images right, there {of_log.right:,}"
    return f"{lead}: {'; '.join([*_changes_of_radii(facts), right])}"


def _with_changes(lead: str, facts: Facts) -> str:
    """Return words with what differs from a released log behind them, if anything."""
    changes = [*_changes_of_radii(facts), *_changes_of_images(facts)]
    return f"{lead}: {'; '.join(changes)}" if changes else lead


def _changes_of_radii(facts: Facts) -> list[str]:
    """Word what became of the radii that were compared."""
    of_compared = "{changed} of {compared} compared"
    if facts["factor"] is not None:
        return [f"radii × {{factor:.4g}} ({of_compared})"]
    if facts["added"] is not None:
        return [f"radii {{added:+.4g}} ({of_compared})"]
    if facts["changed"]:
        return [f"other radii ({of_compared})"]
    return []


def _changes_of_images(facts: Facts) -> list[str]:
    """Word how the totals of a table differ from those of a released log."""
    of_table = facts["of_table"]
    of_log = facts["of_log"]
    missing = of_log.images - of_table.images
    more_right = of_table.right - of_log.right
    changes = []
    if missing > 0:
        right = f"{-more_right:,} of them" if more_right else "none of them"
        changes.append(f"{missing:,} images missing, {right} right")
    elif more_right > 0:
        changes.append(f"{more_right:,} wrong images made right")
    elif more_right < 0:
        changes.append(f"{-more_right:,} right images made wrong")
    if abs(of_table.acr - of_log.acr) >= SMALLEST_DIFFERENCE_OF_ACR:
        changes.append("ACR {of_table.acr:.4f}, there {of_log.acr:.4f}")
    return changes


# Whose a released log is.
SOURCE = "{method} of {repository}"

# Smaller differences in ACR are not seen in its four decimals.
SMALLEST_DIFFERENCE_OF_ACR = 5e-5

# How n and alpha of a log are known.
STATED = "stated"
FROM_RADII = "from radii"
OF_ANOTHER_TABLE = "of another table"

# Why labels were not compared with those of a data set.
NO_DATA_SET_NAMED = "no data set named"
NOT_AT_HAND = "not at hand"
IN_ANOTHER_ORDER = "in another order"
NUMBERED_OTHERWISE = "numbered otherwise"
NOT_COMPARED = {
    NO_DATA_SET_NAMED: "nothing names the data set",
    NOT_AT_HAND: "the data set is not on this machine",
    IN_ANOTHER_ORDER: "the copy of the data set here has its images in another order",
    NUMBERED_OTHERWISE: "the copy of the data set here numbers its classes differently",
}

# The sentence for each kind and state of a check: a template with the names of the facts,
# or a function that makes one, where a fact decides about words.
WORDING: dict[str, dict[State, str | Callable[[Facts], str]]] = {
    "rows": {
        PASSED: "each image has one row",
        FAILED: (
            "{table}: image {image} has {times} rows, one of {number:,} duplicates"
        ),
        UNKNOWN: "{table} does not say which image a row is about",
    },
    "images": {
        PASSED: "all tables have rows for the same {number:,} images (by idx)",
        FAILED: _images,
    },
    "subset": {
        PASSED: (
            "{fewer} is about {number:,} of the {images:,} images of {more}, "
            "evenly spaced: the two are compared on these"
        ),
    },
    "sources": {
        FAILED: "{a} and {b} differ in the {field} of their images",
    },
    "labels": {
        PASSED: "the tables agree on the label of every image that they share",
        FAILED: (
            "{number:,} of {shared:,} shared images have another label in {a} "
            "than in {b}"
        ),
    },
    "classes_renamed": {
        FAILED: (
            "{a} and {b} number the classes differently on all {shared:,} shared images: "
            "class {class_a} of {a} is {class_b} of {b}"
        ),
    },
    "labels_of_data": {
        PASSED: "{table}: labels are those of the data set",
        FAILED: (
            "{table}: {number:,} of {images:,} labels are not those of the data set"
        ),
        UNKNOWN: _labels_not_compared,
    },
    "radii": {
        PASSED: _radii_possible,
        FAILED: _radii_impossible,
        UNKNOWN: (
            "{table}: it is unknown with which sigma, n and alpha it was certified"
        ),
    },
    "sigma": {
        PASSED: "{table}: its largest radii are those of sigma={sigma:g}",
        FAILED: (
            "{table}: its largest radii, {largest:.4g}, are those of "
            "sigma={implied:g}, and not of sigma={sigma:g}"
        ),
        UNKNOWN: (
            "{table}: its largest radii do not say at which sigma it was certified"
        ),
    },
    "sigmas": {
        FAILED: (
            "{a} and {b} do not say their sigma, and their largest radii are those of "
            "different ones: {sigma_a:g} and {sigma_b:g}"
        ),
    },
    "repeated": {
        FAILED: (
            "{table}: {number:,} rows below the largest radius repeat another to the "
            "radius and the time, such as image {image} and image {other}; rows at the "
            "largest radius are not counted"
        ),
    },
    "copies": {
        PASSED: "no table is a copy of another",
        FAILED: _copies,
    },
    "part": {
        FAILED: "{fewer} is a part of {more}: its {shared:,} rows are rows of {more}",
    },
    "derived": {FAILED: _derived},
    "mostly_equal": {FAILED: _mostly_equal},
    "order": {
        PASSED: (
            "images of a class have alike radii in {a} and {b} (rank correlation "
            "{correlation:z.2f})"
        ),
        FAILED: (
            "images of a class have unlike radii in {a} and {b} (rank "
            "correlation {correlation:z.2f}; mostly above 0.4 between released "
            "logs): were results exchanged between images?"
        ),
        UNKNOWN: (
            "it cannot be told whether {a} and {b} find the same images of a class hard"
        ),
    },
    "is_released": {
        PASSED: f"{{table}}: released log ({SOURCE}), unaltered",
        UNKNOWN: (
            f"{{table}}: agrees with a released log ({SOURCE}) on {{images}} images; the "
            "others were not compared"
        ),
    },
    "part_of_released": {
        UNKNOWN: (
            "{table}: {of_table.images:,} of the {of_log.images:,} images of a released "
            f"log ({SOURCE}), evenly spaced; compared were {{images}}"
        ),
    },
    "unnumbered_released": {
        UNKNOWN: (
            f"{{table}}: the totals of a released log ({SOURCE}); its rows do not say "
            "their image"
        ),
    },
    "scaled_released": {FAILED: _altered},
    "changed_released": {FAILED: _altered},
    "rearranged": {FAILED: _rearranged},
    "from_released": {FAILED: _altered, UNKNOWN: _certified_anew},
}


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        kind: the kind of check, such as "labels".
        state: "passed", "failed", or "unknown" where it cannot be told.
        facts: the facts that its sentence tells, by name. A check of one table has
            "table", one of a pair has "a" and "b".

    Example:
        >>> print(Check("rows", PASSED))
        each image has one row
    """

    kind: str
    state: State
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> list[str]:
        """Return the names of the tables that it is about: one, a pair, or none of them."""
        return [self.facts[key] for key in ("table", "a", "b") if key in self.facts]

    def __str__(self) -> str:
        wording = WORDING[self.kind][self.state]
        template = wording if isinstance(wording, str) else wording(self.facts)
        return template.format_map(self.facts)
