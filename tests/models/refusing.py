"""What is refused, as a table: what is asked, and the words that the refusal says, its value and the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from randsmooth.errors import InputError


def refusal(ask: Callable[[], object], kind: type[Exception] = InputError) -> str:
    """What the error of this kind says that `ask` raises."""
    with pytest.raises(kind) as refused:
        ask()
    return str(refused.value)


def check_refusals(rows: Iterable[tuple[Callable[[], object], str]]) -> None:
    """Each call raises an InputError that says all the words between the bars of the text beside it."""
    for ask, said in rows:
        message = refusal(ask)
        assert [word for word in said.split(" | ") if word not in message] == [], message
