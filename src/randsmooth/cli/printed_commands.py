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
from randsmooth.number_text import shortest
from randsmooth.urls import without_credentials

if TYPE_CHECKING:
    from randsmooth.launch import Step

# A text that YAML most likely reads as this text; words such as "true" are exceptions.
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
        options: the settings of the command by name; None and False are left out. A
            mapping gives a word key=value for each key, and a list repeats the option.

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
    """Return a value as a text that YAML reads as this value.

    A text that YAML may read as something else is quoted.

    Example:
        >>> as_yaml("pgd"), as_yaml("1e3"), as_yaml([1, 2])
        ('pgd', '"1e3"', '[1, 2]')
    """
    is_word = isinstance(value, str) and WORD.fullmatch(value) is not None
    if is_word and parse_yaml(value, "the value") == value:
        return str(value)
    # JSON is YAML.
    return json.dumps(value)


def words_of(
    verb: str, settings: Settings, *, without: Collection[str] = ()
) -> list[str]:
    """Return the words of the command that gives these settings, after `randsmooth`.

    Args:
        verb: the name of the command.
        settings: the settings of the command; defaults are left out, and secrets are
            stars.
        without: the settings to leave out, too.
    """
    values = settings.model_dump(exclude={*without}, exclude_defaults=True)
    if values.get("model_arg"):
        values["model_arg"] = with_stars(values["model_arg"])
    # Dumped it is an object or a dictionary; users type its text, such as uniform=0.6.
    if values.get("noise"):
        values["noise"] = settings.noise.text  # type: ignore[attr-defined]

    arguments: list[str] = []
    options: dict[str, Any] = {}
    # In the order of the fields, which is that of the arguments on the command line.
    for name, field in type(settings).model_fields.items():
        if name not in values:
            continue
        value = values[name]
        how_given = Given.of(field)
        option = how_given.option or name
        if how_given.by_place:
            arguments += map(str, value if isinstance(value, list) else [value])
        elif how_given.by_commas:
            options[option] = ",".join(map(_short, value))
        else:
            options[option] = value
    words = command_words(verb, arguments, options)
    return [without_credentials(word) for word in words]


def _short(value: object) -> str:
    """Return a value as people type it: 0.5, and 1 in place of 1.0."""
    return shortest(value) if isinstance(value, float) else str(value)


def with_stars(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a model with stars in place of secrets.

    The prefix secret: tells whoever types the command to fill in a secret.

    Example:
        >>> with_stars({"depth": 20, "token": Secret("abc")})
        {'depth': 20, 'secret:token': '**********'}
    """
    shown = {}
    starred = {}
    for name, value in sorted(arguments.items()):
        if isinstance(value, Secret):
            # The text of pydantic's Secret is ten stars.
            starred[f"secret:{name}"] = str(value)
        else:
            shown[name] = value
    return shown | starred


def as_typed(words: Sequence[str]) -> str:
    """Return the command of these words, after `randsmooth`, as a page may show it.

    A password or key in a URL becomes stars.

    Example:
        >>> as_typed(["evaluate", "s3://key:word@bucket/a b.parquet"])
        "randsmooth evaluate 's3://***@bucket/a b.parquet'"
    """
    return shlex.join(["randsmooth", *map(without_credentials, words)])
