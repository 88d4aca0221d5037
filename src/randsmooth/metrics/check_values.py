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
        PASSED: "all tables are about the same {number:,} images",
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
        UNKNOWN: "{table}: its labels were not compared with the data set, {reason}",
    },
    "radii": {
        PASSED: (
            "{table}: every radius is possible with n={n:,} and alpha={alpha:g}{origin}"
        ),
        FAILED: (
            "{table}: {number:,} radii, up to {largest:.4g}, are beyond "
            "{possible:.4g}, the most that n={n:,} and alpha={alpha:g}{origin} "
            "certify at sigma={sigma:g}"
        ),
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
            "{table}: {number:,} rows repeat another to the radius and the time, such as "
            "that of image {image} that of image {other}"
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
        PASSED: (
            "{table} is the released log {log}: {images} radii agree one by one, and of "
            "all {of_table.images:,} images the number of right ones and the sum of radii"
        ),
        UNKNOWN: (
            "{table} agrees with the released log {log} on {images} images; the others "
            "were not compared"
        ),
    },
    "part_of_released": {
        UNKNOWN: (
            "{table} agrees with {images} images of the released log {log}, and has "
            "{of_table.images:,} of its {of_log.images:,}, evenly spaced; the others were "
            "not compared"
        ),
    },
    "scaled_released": {
        FAILED: (
            "{table} has the radii of the released log {log} times {factor:.4g}, as far "
            "as {images} images tell"
        ),
    },
    "unnumbered_released": {
        UNKNOWN: (
            "{table} has the number of right images and the sum of radii of the released "
            "log {log}; its rows do not say their image"
        ),
    },
    "changed_released": {
        FAILED: (
            "{table} is a changed copy of the released log {log}: "
            "{of_table.images:,} images (there {of_log.images:,}), "
            "{of_table.right:,} right ({of_log.right:,}), "
            "ACR {of_table.acr:.4f} ({of_log.acr:.4f})"
        ),
    },
    "rearranged": {
        FAILED: (
            "{table} has the answers of the released log {log} with other idx or labels, "
            "as the sums of radii tell: {of_table.images:,} images (there "
            "{of_log.images:,}), {of_table.right:,} right ({of_log.right:,})"
        ),
    },
    "from_released": {
        FAILED: (
            "{table} comes from the released log {log}: of {images} images it "
            "certifies the same and orders them alike, with other radii"
        ),
    },
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

    def __str__(self) -> str:
        wording = WORDING[self.kind][self.state]
        template = wording if isinstance(wording, str) else wording(self.facts)
        return template.format_map(self.facts)
