"""What tests ask of problems and notes: their kind, their field and their value, and never their wording."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from randsmooth.errors import Problem
from randsmooth.notes import Note


@contextmanager
def noted(kind: str, **facts: Any) -> Iterator[list[Note]]:
    """Check that the block gives notes of this kind alone, the first with these facts among its own."""
    notes: list[Note] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if isinstance(warning.message, Note):
            notes.append(warning.message)
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    of_kind = [note for note in notes if note.kind == kind]
    assert of_kind, (kind, notes)
    assert facts.items() <= of_kind[0].facts.items(), (facts, of_kind[0])


class Refusal:
    """What a problem has to be: of this very kind, about this field, and naming these values in its text.

    Example:
        >>> from randsmooth.errors import BadValue
        >>> Refusal(BadValue, "q0=2", field="q0").check(
        ...     BadValue(field="q0", value=2, expected="must be below 1")
        ... )
    """

    def __init__(
        self, kind: type[Exception], *names: str, field: str | None = None
    ) -> None:
        self.kind = kind
        self.names = names
        self.field = field

    def check(self, problem: Exception) -> None:
        """Check that `problem` is as it has to be."""
        assert type(problem) is self.kind, (self.kind, problem)
        if self.field is not None:
            assert getattr(problem, "field", None) == self.field, (self.field, problem)
        unnamed = [name for name in self.names if name not in str(problem)]
        assert not unnamed, (unnamed, str(problem))

    def __repr__(self) -> str:
        return f"Refusal({self.kind.__name__}, {self.names}, field={self.field!r})"


class Caught:
    """The problem that a block raised, once the block has ended."""

    problem: Problem


@contextmanager
def refused(
    kind: type[Problem] = Problem, field: str | None = None, **parts: Any
) -> Iterator[Caught]:
    """Check that the block raises a problem of this very kind, about this field.

    Args:
        kind: its class.
        field: the setting that is wrong; None: any, or none.
        parts: other attributes of the problem: its value, its file.
    """
    caught = Caught()
    try:
        yield caught
    except Problem as problem:
        caught.problem = problem
    else:
        raise AssertionError(f"no {kind.__name__}")
    check(caught.problem, kind, field, **parts)


def check(
    problem: Problem,
    kind: type[Problem] = Problem,
    field: str | None = None,
    **parts: Any,
) -> None:
    """Check kind, field and other parts of a problem; arguments as for `refused`."""
    assert type(problem) is kind, (kind, problem)
    assert field is None or problem.field == field, (field, problem.field, problem)
    for name, value in parts.items():
        assert getattr(problem, name) == value, (name, getattr(problem, name), problem)
