"""Facts or settings that travel together: checked once, when they are made, and unchangeable from then on."""

from __future__ import annotations

import sys
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator, model_validator

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.whole_numbers import is_whole, whole_number


class FrozenRecord(BaseModel):
    """A frozen pydantic model without unknown fields, whose faults are an `InputError` that names field and value.

    `model_validate` raises pydantic's own error instead, for callers that have other names for the fields.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    field_is: ClassVar[str] = "setting"  # what errors call a field

    if not TYPE_CHECKING:  # a type checker shall see the fields as the arguments

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise InputError(_sentence(error, type(self))) from None

        __init__.__pydantic_base_init__ = True  # or `model_validate` would call it, and lose which field was at fault

        def __setattr__(self, name: str, value: Any) -> None:
            kind, given = type(self).__name__, f"{name}={shown(repr(value))}"
            if name not in type(self).model_fields:
                raise unknown(type(self).field_is, name, type(self).model_fields)
            raise InputError(f"{kind} cannot be changed: make another with .having({given})")

    @model_validator(mode="before")
    @classmethod
    def _plain_numbers(cls, fields: Any) -> Any:
        """NumPy's numbers as Python's, which is what a file will hold."""
        if not isinstance(fields, dict):
            return fields
        numpy = sys.modules.get("numpy")  # not imported here: without it no value is of its types
        if numpy is None:
            return fields
        return {name: value.item() if isinstance(value, numpy.generic) else value for name, value in fields.items()}

    @field_validator("*", mode="before")
    @classmethod
    def _one_of_its_choices(cls, value: Any, info: ValidationInfo) -> Any:
        """A field that is typed as a `Literal` holds one of its values; the error names them all.

        A whole number stands for its digits where these are a choice: YAML reads `precision: 32` as a number.
        """
        field = cls.model_fields[str(info.field_name)]
        if typing.get_origin(field.annotation) is not Literal:
            return value
        allowed = typing.get_args(field.annotation)
        if value in allowed:
            return value
        if type(value) is int and str(value) in allowed:
            return str(value)
        raise unknown(str(info.field_name), value, allowed)

    @field_validator("*", mode="before")
    @classmethod
    def _whole_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """A whole number may be written as a float, and as words that mean one, such as "1e5" in YAML."""
        strict = cls.model_config.get("strict")  # as a header is: 200.0 in a file is no 200
        if strict or not is_whole(cls.model_fields[str(info.field_name)].annotation):
            return value
        try:
            return whole_number(value)
        except InputError as error:
            raise InputError(f"{info.field_name}={error}") from None

    def having(self, **fields: Any) -> Self:
        """The same with other `fields`, checked like any."""
        return type(self)(**dict(self) | fields)


T = TypeVar("T", bound=FrozenRecord)


def settings_from(kind: type[T], settings: T | None, fields: Mapping[str, Any]) -> T:
    """What a function that takes either a settings object or keywords was given: `settings` with `fields` changed.

    Args:
        kind: the class of the settings.
        settings: None stands for the defaults.
        fields: settings by name, each in place of the one in `settings`.

    Raises:
        InputError: `settings` is something else, or a field is unknown, of a wrong type or unusable.
    """
    if not isinstance(settings, kind | None):
        raise InputError(
            f"settings={shown(repr(settings))} is a {type(settings).__name__}; expected {kind.__name__}(...), or the "
            "settings as keywords"
        )
    for name in fields:
        if name not in kind.model_fields:
            raise unknown(kind.field_is, name, kind.model_fields)
    return kind(**fields) if settings is None else settings.having(**fields)


def check_not_settings(dataset: object, place: str) -> None:
    """Raise InputError for settings where a data set is expected; `place` is the place of their own argument."""
    if isinstance(dataset, FrozenRecord):
        raise InputError(
            f"dataset is a {type(dataset).__name__}; give the name of a data set or its folder. Settings are the "
            f"{place} argument: settings=..."
        )


def _sentence(error: ValidationError, kind: type[FrozenRecord]) -> str:
    """The first fault in a sentence."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # raised by a check of ours
        return str(first["ctx"]["error"])
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return str(unknown(kind.field_is, name, kind.model_fields))
    if first["type"] == "missing":
        return f"{name} is required: give {name}=..."
    return f"{shown(name)}={shown(repr(first['input']))} is of the wrong type: {first['msg']}"
