"""Checks of hyperparameters, so that a wrong one is named before any work."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from torch import Tensor

from randsmooth.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from randsmooth.methods.base import Method

T = TypeVar("T")

MOST = 10**6  # of any count of noises, steps or epochs: what is larger takes all memory, or years

KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def choices(hint: Any) -> tuple[Any, ...]:
    """The values of a hyperparameter that is declared as `Literal[...]`, or as that or None; () for any other."""
    options = (hint, *get_args(hint))
    return next((get_args(option) for option in options if get_origin(option) is Literal), ())


def plain_type(hint: Any) -> type | None:
    """bool, int, float or str: the type that a hyperparameter is declared with, also where it may be None instead.

    Of a `Literal` it is the type of the choices; None stands for any other type.
    """
    if allowed := choices(hint):
        return type(allowed[0])
    return next((kind for kind in KINDS if kind in (hint, *get_args(hint))), None)


def check_types(method: DataclassInstance) -> None:
    """Raise InputError unless every hyperparameter is of its declared type.

    A whole number will do for a float, and may not be larger than MOST. A `Literal` takes its own values only.
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
    """Raise InputError unless `value` is a `kind`, and no flood of noises, steps or epochs."""
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
    """Raise InputError unless `value` is a finite number, `least` or more."""
    if not least <= value < float("inf"):
        raise InputError(f"{name}={value} must be at least {least} and finite")


def within(name: str, value: float, low: float, high: float) -> None:
    """Raise InputError unless low <= value <= high."""
    if not low <= value <= high:
        raise InputError(f"{name}={value} must lie in [{low}, {high}]")


def above(name: str, value: float, bound: float) -> None:
    """Raise InputError unless value > bound and finite."""
    if not bound < value < float("inf"):
        raise InputError(f"{name}={value} must be a finite number above {bound}")


def one_of(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raise InputError unless `value` is one of `known`, and of its type."""
    if not any(type(value) is type(choice) and value == choice for choice in known):
        raise InputError(f"{name}={value!r} must be one of {', '.join(map(str, known))}")


def given(method: str, name: str, value: T | None) -> T:
    """`value` of the loss's `inputs`, which this method needs."""
    if value is None:
        raise InputError(f"the loss of {method} needs inputs.{name}: pass loss(..., inputs=LossInputs({name}=...))")
    return value
