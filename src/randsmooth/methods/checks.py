"""Checks of hyperparameters, so that a wrong one is named before any work."""

from __future__ import annotations

from typing import TypeVar

from randsmooth.errors import InputError

T = TypeVar("T")


def at_least(name: str, value: float, least: float) -> None:
    """Raise InputError unless `value` is a finite number, `least` or more."""
    if not least <= value < float("inf"):
        raise InputError(f"{name}={value} must be at least {least} and finite")


def count(name: str, value: int, least: int) -> None:
    """Raise InputError unless `value` is a whole number, `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value} must be at least {least} and a whole number")


def within(name: str, value: float, low: float, high: float) -> None:
    """Raise InputError unless low <= value <= high."""
    if not low <= value <= high:
        raise InputError(f"{name}={value} must lie in [{low}, {high}]")


def above(name: str, value: float, bound: float) -> None:
    """Raise InputError unless value > bound and finite."""
    if not bound < value < float("inf"):
        raise InputError(f"{name}={value} must be a finite number above {bound}")


def one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise InputError unless `value` is one of `known`."""
    if value not in known:
        raise InputError(f"{name}={value!r} must be one of {', '.join(known)}")


def given(method: str, name: str, value: T | None) -> T:
    """`value` of the loss's `aside`, which this method needs."""
    if value is None:
        raise InputError(f"the loss of {method} needs aside.{name}: pass loss(..., aside=Aside({name}=...))")
    return value
