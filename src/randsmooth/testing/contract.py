"""How a contract is checked: one requirement after the other, each with a message.

A message goes on from the name of the entry: "method 'mine'" + "has no docstring".
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from randsmooth.errors import Problem


@contextmanager
def contract_of(entry: str) -> Iterator[None]:
    """Name the entry in the AssertionError of the first requirement that does not hold.

    An entry that raises another error breaks its contract, too.

    Args:
        entry: what the messages begin with.

    Example:
        >>> with contract_of("method 'mine'"):
        ...     require(True, "is no method")
        ...     require(False, "has no docstring")
        Traceback (most recent call last):
        ...
        AssertionError: method 'mine' has no docstring
    """
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{entry} {error}") from error
    except Exception as error:  # a stranger's entry may raise anything
        raise AssertionError(
            f"{entry} fails when it is tried ({type(error).__name__}: {error})"
        ) from error


def require(holds: object, otherwise: str) -> None:
    """Raise AssertionError with what is wrong unless `holds` is true.

    It is no `assert`: under `python -O` the requirements hold as well.

    Example:
        >>> require(1 + 1 == 2, "cannot add")
    """
    if not bool(holds):
        raise AssertionError(otherwise)


def require_refusal(what: str, call: Callable[[], object], naming: str = "") -> None:
    """Require that `call` raises a Problem, whose message holds `naming`.

    Args:
        what: is refused, for the message.
        call: gives it to the entry.
        naming: what the error must name.

    Example:
        >>> require_refusal("'half' as a number", lambda: float("half"))
        Traceback (most recent call last):
        ...
        AssertionError: raises ValueError for 'half' as a number, expected a Problem: ...
    """
    try:
        call()
    except Problem as error:
        require(
            naming in str(error),
            f"does not name {naming!r} when it refuses {what}: {error}",
        )
    except Exception as error:
        raise AssertionError(
            f"raises {type(error).__name__} for {what}, expected a Problem: {error}"
        ) from error
    else:
        raise AssertionError(f"accepts {what}, expected a Problem")


def named_entry(kind: str, entry: Any, registry: Mapping[str, Any]) -> tuple[str, Any]:
    """Return what errors call an entry, given by its name or as it is, and the entry.

    Args:
        kind: such as "method".
        entry: a name in the registry, or the entry itself.
        registry: name -> entry.
    """
    if isinstance(entry, str):
        return f"{kind} {entry!r}", registry[entry]
    name = getattr(entry, "name", None) or getattr(entry, "__name__", entry)
    return f"{kind} {name!r}", entry


def is_one_line(text: object) -> bool:
    """Return whether `text` is a sentence or title that fits a listing."""
    return isinstance(text, str) and bool(text.strip()) and "\n" not in text
