"""Settings from the command line and from YAML files, checked; and written for another run to read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from randsmooth.atomic import write_atomically
from randsmooth.cli.settings import Settings
from randsmooth.documents import parse_yaml, read_file, shown
from randsmooth.errors import InputError, unknown

LONGEST = 2**16  # bytes; room for a thousand files, and read in seconds whatever it holds
S = TypeVar("S", bound=Settings)


def validate(settings: type[S], verb: str, values: Mapping[str, Any]) -> S:
    """The settings in `values`; InputError names the key that is unknown, missing or wrong."""
    for key in values:
        if key not in settings.model_fields:
            raise unknown(f"setting of `{verb}`", shown(key), settings.model_fields)
        if any("\0" in str(value) for value in _listed(values[key])):  # no name of a file, and nothing else either
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


def _listed(value: Any) -> list[Any]:
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


def settings_in(document: Mapping[str, Any], verb: str, path: Path) -> dict[str, Any]:
    """The settings for `verb` in a document read from `path`, whose key `verb`, if there is one, must agree."""
    meant = document.get("verb", verb)
    if meant != verb:
        raise InputError(f"{path} configures `randsmooth {shown(meant)}`, not `randsmooth {verb}`")
    values = {key: value for key, value in document.items() if key != "verb"}
    settings = {str(key).replace("-", "_"): value for key, value in values.items()}
    if len(settings) < len(values):
        raise InputError(f"{path} gives a setting twice, with - and with _: which of them is meant?")
    return settings


def read_config(path: Path, verb: str) -> dict[str, Any]:
    """The settings for `verb` in a YAML file."""
    return settings_in(read_document(path), verb, path)


def write_config(settings: Settings, verb: str, path: Path) -> None:
    """Write `settings` so that `randsmooth VERB --config PATH` runs them again."""
    if path.exists():
        raise InputError(f"{path} exists; --save-config writes a new file")
    values = {"verb": verb, **settings.model_dump(mode="json", exclude_none=True, exclude={"resume", "overwrite"})}
    write_atomically(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())
