"""The settings of a verb: a pydantic model whose fields are given on the command line or in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from randsmooth.documents import parse_yaml, shown
from randsmooth.errors import InputError
from randsmooth.frozen_record import is_whole, whole_number
from randsmooth.urls import is_url, place_of


class Settings(BaseModel):
    """What a verb runs on. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _whole_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """Whole numbers may be written as 1e5. It has the name of what `FrozenRecord` does, and so replaces it."""
        return whole_number(value) if is_whole(cls.model_fields[str(info.field_name)].annotation) else value

    @field_validator("*", mode="before")
    @classmethod
    def _places(cls, value: Any, info: ValidationInfo) -> Any:
        """URLs are kept as they are typed, where they may stand; as a path s3://bucket would lose a slash."""
        taken = kinds_in(cls.model_fields[str(info.field_name)].annotation)
        if Path not in taken or not isinstance(value, str | list):
            return value
        values = value if isinstance(value, list) else [value]
        if str not in taken and (url := next(filter(is_url, values), None)) is not None:
            raise InputError(f"{url} is a URL; expected a path on this machine")
        places = [place_of(each) if isinstance(each, str) else each for each in values]
        return places if isinstance(value, list) else places[0]

    @classmethod
    def in_files(cls) -> bool:
        """Whether the settings can be kept in a YAML file, by --save-config, and read from it, by --config."""
        return True

    @classmethod
    def goes_on(cls) -> str:
        """How an interrupted run goes on, in words; empty where it does not."""
        return "the same command with --resume goes on" if "resume" in cls.model_fields else ""

    @classmethod
    def epilog(cls) -> str:
        """What `--help` says below the options, in paragraphs."""
        return ""


def kinds_in(annotation: Any) -> set[Any]:
    """The types that an annotation is put together from.

    Example:
        >>> kinds_in(list[Path]) == {list[Path], Path}
        True
    """
    return {annotation}.union(*map(kinds_in, get_args(annotation)))


def argument(help: str, cli: Any = None, **kwargs: Any) -> Any:
    """A setting given by its place on the command line; `cli` is its type there, if that is not the field's."""
    return Field(description=help, json_schema_extra={"place": True, "cli": cli}, **kwargs)


def option(help: str, default: Any = None, **kwargs: Any) -> Any:
    """A setting given as --name; `flag` in `json_schema_extra` is its name where that is not the field's."""
    return Field(default, description=help, **kwargs)


def pairs(values: Any) -> Any:
    """`--set key=value` strings as a dictionary; a dictionary, from YAML, is returned as it is.

    Example:
        >>> pairs(["lr=1e-3", "norm=linf"])
        {'lr': 0.001, 'norm': 'linf'}
    """
    if isinstance(values, dict):
        return values
    if not isinstance(values, list | tuple):
        raise InputError(f"{shown(repr(values))} must be `key: value` pairs")
    parsed = {}
    for text in values:
        key, equals, value = str(text).partition("=")
        if not equals:
            raise InputError(f"{text!r} must read key=value")
        parsed[key.strip()] = scalar(value)
    return parsed


def scalar(text: str) -> Any:
    """`text` as the YAML value that it spells, or `text` itself where it is not YAML, as @abc and [1 are not.

    A folder may have such a name; a setting that expects something else refuses it by its own check. 1e-3 is a
    number here, although YAML 1.1 reads it as a word.

    Example:
        >>> scalar("true"), scalar("1e-3"), scalar("@abc")
        (True, 0.001, '@abc')
    """
    try:
        value = parse_yaml(text, "the value")
    except InputError:
        return text
    try:
        return float(value) if value == text.strip() else value  # not what is quoted, which is meant as text
    except ValueError:
        return value


def numbers(values: Any) -> Any:
    """`0,0.5,1` as a list of floats; a list, from YAML, is returned as it is.

    Example:
        >>> numbers("0,0.5,1")
        [0.0, 0.5, 1.0]
    """
    if not isinstance(values, str):
        return values
    try:
        return [float(value) for value in values.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{values!r} must be numbers separated by commas, such as 0,0.5,1") from None


def words(values: Any) -> Any:
    """`md,latex` as a list of words; a list, from YAML, is returned as it is.

    Example:
        >>> words("md,latex")
        ['md', 'latex']
    """
    return values.replace(",", " ").split() if isinstance(values, str) else values


def listed(values: Any) -> Any:
    """A word, as YAML may have it, as a list of one; anything else is returned as it is.

    Example:
        >>> listed("csv")
        ['csv']
    """
    return [values] if isinstance(values, str) else values
