"""Checks of hyperparameters, which name a wrong value before any work is done."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from torch import Tensor

from randsmooth.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from randsmooth.methods.base import Method

T = TypeVar("T")

MOST = 10**6  # for counts of noises, steps or epochs: larger ones would take all memory, or years

KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def choices(hint: Any) -> tuple[Any, ...]:
    """The values allowed for a hyperparameter declared as `Literal[...]`, possibly or None; () for any other type."""
    options = (hint, *get_args(hint))
    return next((get_args(option) for option in options if get_origin(option) is Literal), ())


def plain_type(hint: Any) -> type | None:
    """bool, int, float or str, whichever a hyperparameter is declared as, whether or not it may also be None.

    For a `Literal` this is the type of its values. For any other type it is None.
    """
    if allowed := choices(hint):
        return type(allowed[0])
    return next((kind for kind in KINDS if kind in (hint, *get_args(hint))), None)


def check_types(method: DataclassInstance) -> None:
    """Raise InputError unless every hyperparameter is of its declared type.

    A whole number is accepted for a float. No whole number may be larger than MOST in absolute value. For a `Literal`,
    only its own values are accepted.
    """
    for name, hint in get_type_hints(type(method)).items():
        value = getattr(method, name)
        if value is None and NoneType in get_args(hint):
            continue
        if allowed := choices(hint):
            one_of(name, value, allowed)
        elif kind := plain_type(hint):
            _check_plain(name, value, kind)


def _check_plain(name: str, value: Any, kind: type) -> None:
    """Raise InputError unless `value` is a `kind` and, if a whole number, not too large a count."""
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{name}={value!r} must be {KINDS[kind]}")
    if type(value) is int and abs(value) > MOST:
        raise InputError(f"{name}={value} must be at most {MOST:,}")


def check_noise(method: Method, x: Tensor, noise: Tensor) -> None:
    """Raise InputError unless noise (m, B, C, H, W) holds the method's m noises for each of x (B, C, H, W)."""
    if noise.shape != (method.m, *x.shape):
        raise InputError(
            f"noise of shape {tuple(noise.shape)} does not fit: m={method.m} noises of each image have "
            f"the shape {(method.m, *x.shape)}"
        )


def at_least(name: str, value: float, least: float) -> None:
    """Raise InputError unless `value` is finite and at least `least`."""
    if not least <= value < float("inf"):
        raise InputError(f"{name}={value} must be at least {least} and finite")


def within(name: str, value: float, low: float, high: float) -> None:
    """Raise InputError unless low <= value <= high."""
    if not low <= value <= high:
        raise InputError(f"{name}={value} must lie in [{low}, {high}]")


def above(name: str, value: float, bound: float) -> None:
    """Raise InputError unless `value` is finite and above `bound`."""
    if not bound < value < float("inf"):
        raise InputError(f"{name}={value} must be a finite number above {bound}")


def one_of(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raise InputError unless `value` is one of `known`, type included: True is not 1."""
    if not any(type(value) is type(choice) and value == choice for choice in known):
        raise InputError(f"{name}={value!r} must be one of {', '.join(map(str, known))}")


def given(method: str, name: str, value: T | None) -> T:
    """`value`, which is `name` in the loss's inputs; InputError if it is None, as this method needs it."""
    if value is None:
        raise InputError(f"the loss of {method} needs inputs.{name}: pass loss(..., inputs=LossInputs({name}=...))")
    return value
