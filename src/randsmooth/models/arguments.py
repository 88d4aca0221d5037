"""The arguments that a user gives to whatever makes a model, checked against its signature."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Secret

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

NAMES_A_SECRET = re.compile(r"token|secret|passw|credential|api_?key", re.IGNORECASE)


def secret_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with those in `pydantic.Secret` that their user marks by "secret:NAME", or that are called so.

    Example:
        >>> secret_arguments({"depth": 20, "api_key": "abc", "secret:who": "me"})
        {'depth': 20, 'api_key': Secret('**********'), 'who': Secret('**********')}
    """
    made = {}
    for name, value in given.items():
        plain = name.removeprefix("secret:")
        hidden = not isinstance(value, Secret) and (plain != name or NAMES_A_SECRET.search(name))
        made[plain] = Secret[Any](value) if hidden else value
    return made


def revealed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as what makes a model is to be given them."""
    return {name: value.get_secret_value() if isinstance(value, Secret) else value for name, value in given.items()}


def told(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a table may say them: of a secret, a hash, by which two runs are told apart.

    Example:
        >>> told({"depth": 20, "token": "abc"})
        {'depth': 20, 'token': 'secret sha256:25f1489e989b'}
    """
    hidden = secret_arguments(given)
    return {name: _hash(name, value) if isinstance(value, Secret) else value for name, value in hidden.items()}


def _hash(name: str, value: Secret[Any]) -> str:
    return f"secret sha256:{hashlib.sha256(repr((name, value.get_secret_value())).encode()).hexdigest()[:12]}"


def check_arguments(called: Callable[..., Any], given: Mapping[str, Any], what: str, *, first: int = 0) -> None:
    """Raise InputError where `called` does not take the arguments `given` by name, or needs others.

    Args:
        called: a function or class.
        given: arguments by name.
        what: what to call it in the message.
        first: how many arguments it is given besides, at the front.

    Example:
        >>> def resnet(depth, width=1):
        ...     ...
        >>> check_arguments(resnet, {"depth": 8}, "zoo.py:resnet")
        >>> check_arguments(resnet, {"dept": 8}, "zoo.py:resnet")
        Traceback (most recent call last):
        randsmooth.errors.InputError: unknown argument of zoo.py:resnet 'dept': did you mean 'depth'? ...
        >>> check_arguments(resnet, {}, "zoo.py:resnet")
        Traceback (most recent call last):
        randsmooth.errors.InputError: zoo.py:resnet needs the argument depth: give it with --model-arg depth=... ...
    """
    try:
        parameters = list(inspect.signature(called).parameters.values())[first:]
    except (TypeError, ValueError):  # of a compiled function
        return
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    free = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for name in given if not free else ():
        if name not in names and not names:
            raise InputError(f"{what} takes no arguments; got {name}={shown(repr(given[name]))}")
        if name not in names:
            raise unknown(f"argument of {what}", name, names)
    needed = [each.name for each in parameters if each.default is each.empty and each.name in names]
    missing = [name for name in needed if name not in given]
    if missing:
        raise InputError(
            f"{what} needs the argument {missing[0]}: give it with --model-arg {missing[0]}=... (a function that "
            "itself takes images has to be returned by another)"
        )
