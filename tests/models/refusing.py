"""What is refused, as a table: what is asked, and the kind, field and values of the problem."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from randsmooth.errors import Problem
from values import Refusal


def refusal(
    ask: Callable[..., object],
    *given: Any,
    kind: type[Exception] = Problem,
    **named: Any,
) -> str:
    """What the error of this kind says that `ask` raises."""
    with pytest.raises(kind) as refused:
        ask(*given, **named)
    return str(refused.value)


def problem_of(ask: Callable[..., object], *given: Any, **named: Any) -> Problem:
    """The problem that `ask` raises."""
    with pytest.raises(Problem) as refused:
        ask(*given, **named)
    return refused.value


def check_refusals(rows: Iterable[tuple[Callable[[], object], Refusal]]) -> None:
    """Each call raises a problem as the refusal beside it says."""
    for ask, expected in rows:
        expected.check(problem_of(ask))


def told(check: Callable[..., None], *given: Any, **how: Any) -> str:
    """What a contract says of an entry that breaks it."""
    return refusal(check, *given, kind=AssertionError, **how)


def each_told(check: Callable[[Any], None], broken: Iterable[tuple[Any, str]]) -> None:
    """Every entry is refused in words that hold all those between the bars."""
    for entry, words in broken:
        said = told(check, entry)
        assert all(word in said for word in words.split("|")), (words, said)
