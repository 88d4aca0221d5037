"""Commands as a user would type them, of a step or of settings; without secrets."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Secret

from randsmooth.cli.settings import Given, Settings
from randsmooth.documents import parse_yaml
from randsmooth.urls import without_credentials

if TYPE_CHECKING:
    from randsmooth.launch import Step

# A text that YAML reads as itself, most likely.
WORD = re.compile(r"[A-Za-z][\w./+-]*")


def command_of(step: Step) -> str:
    """Return the command that does what a step does.

    Example:
        >>> from pathlib import Path
        >>> from randsmooth.launch import Train
        >>> from randsmooth.training import TrainingSettings
        >>> settings = TrainingSettings(sigma=0.25, set={"lr": 0.1})
        >>> step = Train(
        ...     name="a/train", makes=Path("a"), dataset="digits", settings=settings
        ... )
        >>> command_of(step)
        'randsmooth train digits --sigma 0.25 --set lr=0.1 --out a --resume'
    """
    words = command_words(step.verb, step.arguments(), step.options())
    return shlex.join(["randsmooth", *words])


def command_words(
    verb: str, arguments: Sequence[str], options: Mapping[str, Any]
) -> list[str]:
    """Return the words of a command line, after `randsmooth`.

    Args:
        verb: the name of the command.
        arguments: the positional arguments of the command.
        options: the settings of the command by name; those that are None or False are
            left out.

    Example:
        >>> options = {"n": 1000, "sound": True, "model_arg": {"depth": 20}}
        >>> command_words("certify", ["a"], options)
        ['certify', 'a', '--n', '1000', '--sound', '--model-arg', 'depth=20']
    """
    words = [verb, *arguments]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            for key, part in value.items():
                words += [flag, f"{key}={as_yaml(part)}"]
        elif isinstance(value, list):
            for part in value:
                words += [flag, str(part)]
        elif value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def as_yaml(value: Any) -> str:
    """Return a value as YAML reads it.

    A text that YAML may read as something else is quoted.

    Example:
        >>> as_yaml("pgd"), as_yaml("1e3"), as_yaml([1, 2])
        ('pgd', '"1e3"', '[1, 2]')
    """
    is_word = isinstance(value, str) and WORD.fullmatch(value) is not None
    if is_word and parse_yaml(value, "the value") == value:
        return str(value)
    return json.dumps(value)


def words_of(
    verb: str, settings: Settings, *, without: Collection[str] = ()
) -> list[str]:
    """Return the words of the command that gives these settings, after `randsmooth`.

    Defaults are left out, and so are the settings in `without`; stars stand in place
    of secrets.
    """
    given = settings.model_dump(exclude={*without}, exclude_defaults=True)
    if given.get("model_arg"):
        given["model_arg"] = with_stars(given["model_arg"])
    if given.get("noise"):
        given["noise"] = settings.noise.text  # type: ignore[attr-defined]

    arguments: list[str] = []
    options: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        if name not in given:
            continue
        value = given[name]
        mark = Given.of(field)
        if mark.by_place:
            arguments += map(str, value if isinstance(value, list) else [value])
        elif mark.by_commas:
            options[mark.option or name] = ",".join(map(_short, value))
        else:
            options[mark.option or name] = value
    words = command_words(verb, arguments, options)
    return [without_credentials(word) for word in words]


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_stars(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a model as a command that is kept gives them.

    Example:
        >>> with_stars({"depth": 20, "token": Secret("abc")})
        {'depth': 20, 'secret:token': '**********'}
    """
    written = {}
    secret = {}
    for name, value in sorted(arguments.items()):
        if isinstance(value, Secret):
            secret[f"secret:{name}"] = str(value)
        else:
            written[name] = value
    return written | secret


def as_typed(words: Sequence[str]) -> str:
    """Return the command of these words as a page may show it.

    What gives access in a URL is left out.

    Example:
        >>> as_typed(["evaluate", "s3://key:word@bucket/a b.parquet"])
        "randsmooth evaluate 's3://***@bucket/a b.parquet'"
    """
    return shlex.join(["randsmooth", *map(without_credentials, words)])
