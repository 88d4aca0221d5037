"""The settings of a verb: a pydantic model whose fields come from the command line or from YAML."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from randsmooth.atomic import write_atomically
from randsmooth.documents import parse_yaml, read_file, shown
from randsmooth.errors import InputError, unknown
from randsmooth.frozen_record import is_whole, whole_number
from randsmooth.urls import is_url, place_of

LONGEST = 2**16  # bytes of a configuration; room for a thousand files, and read in seconds whatever it holds
S = TypeVar("S", bound="Settings")


class Settings(BaseModel):
    """What a verb runs on. Unknown keys are errors.

    Attributes:
        in_files: whether the settings can be kept in a YAML file, by --save-config, and read from it, by --config.
        goes_on: how an interrupted run goes on, in words; empty where it does not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    in_files: ClassVar[bool] = True
    goes_on: ClassVar[str] = ""

    @field_validator("*", mode="before")
    @classmethod
    def _as_written(cls, value: Any, info: ValidationInfo) -> Any:
        """Whole numbers may be written as 1e5, and URLs are kept as typed: a path s3://bucket would lose a slash.

        It has the name of what `FrozenRecord` does, and so replaces it.
        """
        annotation = cls.model_fields[str(info.field_name)].annotation
        if is_whole(annotation):
            return whole_number(value)
        if typing.get_origin(annotation) is Literal and value not in get_args(annotation):
            raise unknown(str(info.field_name), value, get_args(annotation))
        taken = kinds_in(annotation)
        if Path not in taken or not isinstance(value, str | list):
            return value
        values = value if isinstance(value, list) else [value]
        if str not in taken and (url := next(filter(is_url, values), None)) is not None:
            raise InputError(f"{url} is a URL; expected a path on this machine")
        places = [place_of(each) if isinstance(each, str) else each for each in values]
        return places if isinstance(value, list) else places[0]

    @classmethod
    def epilog(cls) -> str:
        """What `--help` says below the options, in paragraphs."""
        return ""


class Unsaved(Settings):
    """Settings of a listing or a report, which is no run to be repeated from a file."""

    in_files = False


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


def option(help: str, default: Any = None, *, as_typed: tuple[Any, str] | None = None, **kwargs: Any) -> Any:
    """A setting given as --name.

    Args:
        help: what it says of itself.
        default: None where it is worked out when the verb runs.
        as_typed: its type on the command line and the word for its value, where those are not the field's.
        kwargs: of pydantic's Field; `flag` in `json_schema_extra` is its name where that is not the field's.
    """
    if as_typed is not None:
        kwargs["json_schema_extra"] = {"cli": as_typed[0], "metavar": as_typed[1]}
    return Field(default, description=help, **kwargs)


def validate(settings: type[S], verb: str, values: Mapping[str, Any]) -> S:
    """The settings in `values`; InputError names the key that is unknown, missing or wrong."""
    for key in values:
        if key not in settings.model_fields:
            raise unknown(f"setting of `{verb}`", shown(key), settings.model_fields)
        if any("\0" in str(value) for value in listed_or_one(values[key])):  # no name of a file, nor anything else
            raise InputError(f"{as_given(key, settings.model_fields[key])} must not hold the character \\0")
    try:
        return settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "value_error" and not first["loc"]:  # a check of ours on several settings, which it names
            raise InputError(str(first["ctx"]["error"])) from None
        key = str(first["loc"][0]) if first["loc"] else verb
        option = as_given(key, settings.model_fields.get(key))
        if first["type"] == "value_error":  # ours, from reading the option
            raise InputError(f"{option}: {first['ctx']['error']}") from None
        if first["type"] == "missing":
            raise InputError(f"{verb} needs {option}; see `randsmooth {verb} --help`") from None
        raise InputError(f"{option}: {first['msg']}; got {shown(repr(first['input']))}") from None


def listed_or_one(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def as_given(key: str, field: FieldInfo | None) -> str:
    """A setting as the command line spells it: --label-aware, or MODEL for one given by its place."""
    extra = field.json_schema_extra if field and isinstance(field.json_schema_extra, dict) else {}
    return key.upper() if extra.get("place") else "--" + str(extra.get("flag", key)).replace("_", "-")


def read_document(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file. Raises InputError where it holds anything else."""
    if not path.is_file():
        raise InputError(f"no configuration file at {path}")
    values = parse_yaml(read_file(path, LONGEST), path)
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold `key: value` lines, the settings of a verb of randsmooth")
    return values


def read_config(path: Path, verb: str) -> dict[str, Any]:
    """The settings for `verb` in a YAML file, whose key `verb`, if there is one, must agree."""
    values = read_document(path)
    meant = values.pop("verb", verb)
    if meant != verb:
        raise InputError(f"{path} configures `randsmooth {shown(meant)}`, not `randsmooth {verb}`")
    settings = {str(key).replace("-", "_"): value for key, value in values.items()}
    if len(settings) < len(values):
        raise InputError(f"{path} gives a setting twice, with - and with _: which of them is meant?")
    return settings


def write_config(settings: Settings, verb: str, path: Path) -> None:
    """Write `settings` so that `randsmooth VERB --config PATH` runs them again."""
    if path.exists():
        raise InputError(f"{path} exists; --save-config writes a new file")
    values = {"verb": verb, **settings.model_dump(mode="json", exclude_none=True, exclude={"resume", "overwrite"})}
    write_atomically(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())


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
