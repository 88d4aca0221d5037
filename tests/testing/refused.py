"""What a contract says of an entry that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from models.refusing import refusal


def told(check: Callable[..., None], *given: Any, **how: Any) -> str:
    return refusal(lambda: check(*given, **how), AssertionError)


def each_told(check: Callable[[Any], None], broken: Iterable[tuple[Any, str]]) -> None:
    """Every entry is refused in words that hold all those between the bars."""
    for entry, words in broken:
        said = told(check, entry)
        assert all(word in said for word in words.split("|")), (words, said)
