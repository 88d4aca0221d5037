"""Checks of hyperparameters, so that a wrong one is named before any work."""

from __future__ import annotations

from randsmooth.errors import InputError


def at_least(name: str, value: float, least: float) -> None:
    """Raise InputError when `value` is below `least` (or not a number)."""
    if not value >= least:
        raise InputError(f"{name}={value} must be at least {least}")


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
