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

# The text in place of a secret in commands and files that are kept: what pydantic prints.
STARS = str(Secret("-"))

# The number of digits of a hash by which two secrets are told apart.
HASH_DIGITS = 12


def secret_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with the secret ones in `pydantic.Secret`.

    An argument is secret where its user gives it as "secret:NAME", or where its name
    says so, as "api_key" does.

    Raises:
        BadValue: a secret is STARS: somebody copied it from a command that was kept.

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
    """Return the arguments with secrets in plain text, as the model's opener needs them."""
    return {
        name: value.get_secret_value() if isinstance(value, Secret) else value
        for name, value in arguments.items()
    }


def recorded_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as they may stand in a table of certificates.

    A secret becomes a hash, so that two runs with different secrets can be told apart.

    Example:
        >>> recorded_arguments({"depth": 20, "token": "abc"})
        {'depth': 20, 'token': 'secret sha256:25f1489e989b'}
    """
    arguments = secret_arguments(given)
    for name, value in arguments.items():
        if isinstance(value, Secret):
            # The name is hashed too, so that equal secrets of two names have two hashes.
            content = repr((name, value.get_secret_value())).encode()
            digest = hashlib.sha256(content).hexdigest()
            arguments[name] = f"secret sha256:{digest[:HASH_DIGITS]}"
        elif isinstance(value, str):
            # A URL may carry a password.
            arguments[name] = without_credentials(value)
    return arguments


def check_arguments(
    called: Callable[..., Any], given: Mapping[str, Any], what: str, *, first: int = 0
) -> None:
    """Raise BadValue where `called` does not take the arguments, or needs others.

    Args:
        called: the function or class that makes the model.
        given: the arguments that the user gives it, by name.
        what: the name for `called` in the message.
        first: how many arguments it gets by position before these, such as the place of
            the model.

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
    # Functions written in C may not say which arguments they take.
    except ValueError:
        return
    # The names and numbers of arguments are checked, but not their values.
    by_position = [None] * first
    try:
        signature.bind(*by_position, **given)
    except TypeError as error:
        names = [*signature.parameters][first:]
        raise BadValue(
            f"{what} takes the arguments {shown(', '.join(names) or 'none')} ({error})",
            field="model_arg",
            fix=(
                "give each as ",
                Setting("model_arg"),
                f"; if {what} itself takes images, name a function that returns it",
            ),
        ) from error
