"""How a contract is checked: one requirement after the other, each with the words for what is wrong."""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any

from randsmooth.errors import Problem

Check = tuple[object, str]
"""Whether something holds, and what to say of the entry otherwise."""

Checks = Generator[Check, None, None]
"""The checks of a contract, each computed when those before it hold."""


def run(entry: str, checks: Checks) -> None:
    """Raise AssertionError, naming the entry, at the first of `checks` that does not hold, or where one fails.

    No `assert`: under `python -O` these checks hold as well.

    Example:
        >>> run("method 'mine'", (check for check in [(True, "is no method"), (False, "has no docstring")]))
        Traceback (most recent call last):
        ...
        AssertionError: method 'mine' has no docstring
    """
    try:
        with closing(
            checks
        ):  # which gives back what they have borrowed, such as torch's inference mode
            for holds, otherwise in checks:
                if not bool(holds):
                    raise AssertionError(otherwise)
    except AssertionError as error:
        raise AssertionError(f"{entry} {error}") from error
    except Exception as error:  # a stranger's entry may raise anything
        raise AssertionError(
            f"{entry} fails when it is tried ({type(error).__name__}: {error})"
        ) from error


def opened(kind: str, entry: Any, registry: Mapping[str, Any]) -> tuple[str, Any]:
    """What errors call an entry, given by its name or as it is, and the entry itself."""
    if isinstance(entry, str):
        return f"{kind} {entry!r}", registry[entry]
    return (
        f"{kind} {getattr(entry, 'name', None) or getattr(entry, '__name__', entry)!r}",
        entry,
    )


def refusal(what: str, call: Callable[[], object], naming: str = "") -> Check:
    """That `call` raises Problem, whose message holds `naming`."""
    try:
        call()
    except Problem as error:
        return naming in str(
            error
        ), f"does not name {naming!r} when it refuses {what}: {error}"
    except Exception as error:
        return (
            False,
            f"raises {type(error).__name__} for {what}, expected a Problem: {error}",
        )
    return False, f"accepts {what}, expected a Problem"


def one_line(text: object) -> bool:
    """Whether `text` is a sentence or title that fits a listing."""
    return isinstance(text, str) and bool(text.strip()) and "\n" not in text
