"""Command lines as a user would type them: what a step, or settings, would be."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from randsmooth.documents import parse_yaml

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
        arguments: what it is given by place.
        options: its settings by name; those that are None or False are left out.

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
        elif value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def as_yaml(value: Any) -> str:
    """Return a value as YAML reads it; a text that may be read as something else is quoted.

    Example:
        >>> as_yaml("pgd"), as_yaml("1e3"), as_yaml([1, 2])
        ('pgd', '"1e3"', '[1, 2]')
    """
    is_word = isinstance(value, str) and WORD.fullmatch(value) is not None
    if is_word and parse_yaml(value, "the value") == value:
        return str(value)
    return json.dumps(value)
