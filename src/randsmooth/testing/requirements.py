"""How a contract test says that something does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from randsmooth.errors import InputError


class Contract:
    """Requirements on one entry, which each failure names.

    Example:
        >>> Contract("method 'mine'").require(False, "has no docstring")
        Traceback (most recent call last):
        ...
        AssertionError: method 'mine' has no docstring
    """

    def __init__(self, entry: str) -> None:
        self.entry = entry

    def require(self, holds: object, otherwise: str) -> None:
        """Raise AssertionError, `otherwise` being what is wrong with the entry, unless `holds` is true.

        No `assert`: under `python -O` these checks hold as well.
        """
        if not bool(holds):
            raise AssertionError(f"{self.entry} {otherwise}")

    def works(self, what: str, call: Callable[[], Any]) -> Any:
        """What `call` returns; AssertionError, with `what` cannot be done, where it raises."""
        try:
            return call()
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{self.entry} {what}: {type(error).__name__}: {error}") from error

    def refuses(self, what: str, call: Callable[[], Any], naming: str = "") -> None:
        """Raise AssertionError unless `call` raises InputError whose message holds `naming`."""
        try:
            call()
        except InputError as error:
            self.require(naming in str(error), f"does not name {naming!r} when it refuses {what}: {error}")
            return
        except Exception as error:
            raise AssertionError(
                f"{self.entry} raises {type(error).__name__} for {what}, expected an InputError: {error}"
            ) from error
        self.require(False, f"accepts {what}, expected an InputError")


def one_line(text: object) -> bool:
    """Whether `text` is a sentence or title that fits a listing."""
    return isinstance(text, str) and bool(text.strip()) and "\n" not in text
