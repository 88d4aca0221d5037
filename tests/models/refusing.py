"""What is refused, as a table: what is asked, and the words that the refusal says, its value and the way out."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from randsmooth.errors import Problem


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


def check_refusals(rows: Iterable[tuple[Callable[[], object], str]]) -> None:
    """Each call raises a Problem that says all the words between the bars of the text beside it."""
    for ask, said in rows:
        message = refusal(ask)
        assert [word for word in said.split(" | ") if word not in message] == [], (
            message
        )


def told(check: Callable[..., None], *given: Any, **how: Any) -> str:
    """What a contract says of an entry that breaks it."""
    return refusal(check, *given, kind=AssertionError, **how)


def each_told(check: Callable[[Any], None], broken: Iterable[tuple[Any, str]]) -> None:
    """Every entry is refused in words that hold all those between the bars."""
    for entry, words in broken:
        said = told(check, entry)
        assert all(word in said for word in words.split("|")), (words, said)
