"""Which of two tables a failed check doubts, and which failures follow from another."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from randsmooth.metrics.check_values import FAILED, PASSED, Check

# A log that failed one of these was made from a released log, and is none.
ALTERED_KINDS = frozenset(
    {"changed_released", "rearranged", "scaled_released", "from_released"}
)

# Failures of a pair that follow where one of the two was made from a released log.
FOLLOWING_KINDS = frozenset({"images", "labels", "classes_renamed", "order"})


@dataclass(frozen=True)
class Standing:
    """What is known of tables before two of them are compared.

    Attributes:
        sound: the names of whole released logs that failed no check of their own.
        faulty: the names of tables that failed a check of their own.
        altered: name -> the check that found an altered copy of a released log.
    """

    sound: Set[str]
    faulty: Set[str]
    altered: dict[str, Check]

    @classmethod
    def of(cls, checks: Sequence[Check]) -> Standing:
        """Return the standing of the tables that were checked."""
        failed = [check for check in checks if check.state == FAILED]
        faulty = {check.facts["table"] for check in failed if "table" in check.facts}
        released = {
            check.facts["table"]
            for check in checks
            if check.kind == "is_released" and check.state == PASSED
        }
        altered = {
            check.facts["table"]: check
            for check in failed
            if check.kind in ALTERED_KINDS
        }
        return cls(sound=released - faulty, faulty=faulty, altered=altered)

    def suspects(self, check: Check) -> list[str]:
        """Return the tables that a failed check may doubt: one of a pair, where it is known.

        It is the copy of a known original, the table beside a whole released log, or the
        one that failed a check of its own.

        Example:
            >>> released = Check("is_released", PASSED, {"table": "a"})
            >>> labels = Check("labels", FAILED, {"a": "a", "b": "b"})
            >>> Standing.of([released, labels]).suspects(labels)
            ['b']
            >>> Standing.of([labels]).suspects(labels)
            ['a', 'b']
        """
        names = check.tables
        original = check.facts.get("original")
        if original is not None:
            return [name for name in names if name != original]
        unsound = [name for name in names if name not in self.sound]
        faulty = [name for name in names if name in self.faulty]
        for suspected in (unsound, faulty):
            if len(suspected) == 1:
                return suspected
        return names

    def cause_of(self, check: Check) -> Check | None:
        """Return the failed check of one table that a failure of a pair follows from."""
        if check.state != FAILED or check.kind not in FOLLOWING_KINDS:
            return None
        suspects = self.suspects(check)
        if len(suspects) != 1:
            return None
        return self.altered.get(suspects[0])
