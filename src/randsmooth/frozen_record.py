"""Facts or settings that travel together: checked once, when they are made, and unchangeable from then on."""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, Problem, unknown

# Whole numbers as people write them: 1000, 100_000, 1e5, 2.5e3, 100k, 1.5M.
WRITTEN = re.compile(
    r"[-+]?(\d{1,20}|\d{1,3}(_\d{3}){1,6})|\d{1,20}(\.\d{1,20})?([eE]\+?\d{1,2}|[kM])",
    re.ASCII,
)

ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class FrozenRecord(BaseModel):
    """A frozen pydantic model without unknown fields.

    A fault in the fields is a `Problem` that names field and value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    field_is: ClassVar[str] = "setting"  # what errors call a field
    # Names that are taken beside those of the fields, whose value they spell.
    spellings: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # a type checker shall see the fields as the arguments

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise problem_in(error, type(self)) from None

        def __setattr__(self, name: str, value: Any) -> None:
            given = f"{name}={shown(repr(value))}"
            raise BadValue(
                f"{type(self).__name__} cannot be changed: make another with .replace({given})"
            )

    @field_validator("*", mode="before")
    @classmethod
    def _as_written(cls, value: Any, info: ValidationInfo) -> Any:
        """NumPy's numbers as Python's, which is what a file will hold, and numbers as people write them.

        A whole number may be a float or words that mean one, such as "1e5" in YAML, and stands for its digits where
        these are a choice: YAML reads `precision: 32` as a number.
        """
        annotation = cls.model_fields[str(info.field_name)].annotation
        numpy = sys.modules.get(
            "numpy"
        )  # not imported here: without it no value is of its types
        value = (
            value.item()
            if numpy is not None and isinstance(value, numpy.generic)
            else value
        )
        if typing.get_origin(annotation) is Literal:
            allowed = typing.get_args(annotation)
            if (str(value) if type(value) is int else value) not in allowed:
                raise unknown(str(info.field_name), value, allowed)
            return str(value) if type(value) is int else value
        elif is_whole(annotation) and not cls.model_config.get(
            "strict"
        ):  # as a header is: 200.0 in a file is no 200
            try:
                return whole_number(value)
            except BadValue as error:
                raise BadValue(
                    field=info.field_name, value=error.value, expected=error.expected
                ) from None
        return value

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Describe the fields in the words that the section Attributes of the docstring has for them."""
        super().__init_subclass__(**kwargs)
        said = (
            inspect.cleandoc(cls.__doc__ or "")
            .partition("Attributes:\n")[2]
            .partition("\n\n")[0]
        )
        for name, text in ENTRY.findall(said):
            if name in inspect.get_annotations(cls):
                setattr(
                    cls,
                    name,
                    Field(
                        cls.__dict__.get(name, ...), description=" ".join(text.split())
                    ),
                )

    def replace(self, **fields: Any) -> Self:
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
        Problem: `settings` is something else, or a field is unknown, of a wrong type or unusable.
    """
    if not isinstance(settings, kind | None):
        raise BadValue(
            field="settings",
            value=settings,
            expected=f"is a {type(settings).__name__}; expected {kind.__name__}(...), or the settings as keywords",
        )
    if settings is None:
        return kind(**fields)
    # Settings were checked when they were made, and cannot be changed.
    return settings.replace(**fields) if fields else settings


def problem_in(error: ValidationError, kind: type[FrozenRecord]) -> Problem:
    """Return the first of the problems that pydantic found in the fields of a `kind`."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # raised by a check of ours
        found = first["ctx"]["error"]
        return found if isinstance(found, Problem) else BadValue(str(found))
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return unknown(kind.field_is, name, [*kind.model_fields, *kind.spellings])
    if first["type"] == "missing":
        return MissingValue(field=name, expected="is required")
    # Greater than or equal to 1, a valid string, ...
    expected = first["msg"].replace("Input should be", "must be", 1)
    return BadValue(field=shown(name), value=first["input"], expected=expected)


def is_whole(annotation: Any) -> bool:
    """Whether a field that is annotated so holds a whole number, or None.

    Example:
        >>> is_whole(int), is_whole(int | None), is_whole(float)
        (True, True, False)
    """
    return annotation is int or {*typing.get_args(annotation)} == {int, types.NoneType}


def whole_number(value: Any) -> Any:
    """The whole number that a word or a float stands for; anything but these and a bool is returned as it is.

    Raises:
        Problem: the word or the float is no whole number.

    Example:
        >>> [whole_number(value) for value in ("1000", "100_000", "1e5", "2.5e3", "100k", "1M", 1e5, None)]
        [1000, 100000, 100000, 2500, 100000, 1000000, 100000, None]
        >>> whole_number("1.5")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: '1.5' must be a whole number, such as 1000, 100_000, 1e5 or 100k
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and WRITTEN.fullmatch(written := value.strip()):
        number = Decimal(written.replace("_", "").replace("k", "e3").replace("M", "e6"))
        if number == number.to_integral_value():
            return int(number)
    if isinstance(value, str | float | bool):
        expected = "must be a whole number, such as 1000, 100_000, 1e5 or 100k"
        raise BadValue(
            f"{shown(repr(value))} {expected}", value=value, expected=expected
        )
    return value
