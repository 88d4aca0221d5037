"""The arguments that a user gives for opening a model, secrets among them."""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Secret

from randsmooth.documents import shown
from randsmooth.errors import BadValue, Setting
from randsmooth.urls import names_a_secret, without_credentials

# The start of the name of an argument that its user keeps secret.
MARK = "secret:"

# The text in place of a secret in a command that is kept.
STARS = str(Secret("-"))

# The number of digits of a hash by which two secrets are told apart.
HASH_DIGITS = 12


def secret_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with the secret ones in `pydantic.Secret`.

    Those are secret that their user marks by "secret:NAME", or that are called so.

    Raises:
        BadValue: one of them holds the stars that stand for a secret.

    Example:
        >>> secret_arguments({"depth": 20, "api_key": "abc", "secret:who": "me"})
        {'depth': 20, 'api_key': Secret('**********'), 'who': Secret('**********')}
    """
    arguments = dict[str, Any]()
    for marked, value in given.items():
        name = marked.removeprefix(MARK)
        if not isinstance(value, Secret) and (name != marked or names_a_secret(name)):
            value = Secret[Any](value)
        if isinstance(value, Secret) and value.get_secret_value() == STARS:
            raise BadValue(
                f"the secret argument {shown(name)} is {STARS}",
                field="model_arg",
                fix="give the value; commands and files that are kept hold stars in "
                "its place",
            )
        arguments[name] = value
    return arguments


def revealed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with secrets as they are, for what opens the model."""
    return {
        name: value.get_secret_value() if isinstance(value, Secret) else value
        for name, value in arguments.items()
    }


def recorded_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a table may say them.

    Of a secret it is a hash, by which two runs are told apart.

    Example:
        >>> recorded_arguments({"depth": 20, "token": "abc"})
        {'depth': 20, 'token': 'secret sha256:25f1489e989b'}
    """
    arguments = secret_arguments(given)
    for name, value in arguments.items():
        if isinstance(value, Secret):
            # With its name, so that equal secrets of two names have two hashes.
            content = repr((name, value.get_secret_value())).encode()
            digest = hashlib.sha256(content).hexdigest()
            arguments[name] = f"secret sha256:{digest[:HASH_DIGITS]}"
        elif isinstance(value, str):
            arguments[name] = without_credentials(value)
    return arguments


def check_arguments(
    called: Callable[..., Any], given: Mapping[str, Any], what: str, *, first: int = 0
) -> None:
    """Raise BadValue where `called` does not take the arguments, or needs others.

    Args:
        called: a function or class.
        given: arguments by name.
        what: the name for it in the message.
        first: how many arguments it is given besides, at the front.

    Example:
        >>> def resnet(depth, width=1):
        ...     ...
        >>> check_arguments(resnet, {"depth": 8}, "zoo.py:resnet")
        >>> check_arguments(resnet, {"dept": 8}, "zoo.py:resnet")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: zoo.py:resnet takes the arguments depth, width ...
    """
    try:
        signature = inspect.signature(called)
    # A compiled function says nothing of its arguments.
    except ValueError:
        return
    try:
        signature.bind(*[None] * first, **given)
    except TypeError as error:
        names = [*signature.parameters][first:]
        raise BadValue(
            f"{what} takes the arguments {shown(', '.join(names) or 'none')} ({error})",
            field="model_arg",
            fix=(
                "give each as ",
                Setting("model_arg"),
                "; a function that itself takes images is returned by another",
            ),
        ) from error
