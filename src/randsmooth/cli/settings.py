"""The settings of a verb: a pydantic model whose fields come from words or YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    TypeVar,
    get_args,
    get_origin,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from randsmooth.documents import parse_yaml, shown
from randsmooth.errors import (
    BadValue,
    MissingValue,
    Problem,
    Setting,
    check_known,
)
from randsmooth.frozen_record import FrozenRecord, problem_in
from randsmooth.urls import is_url, place_of

S = TypeVar("S", bound="Settings")
T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """How the command line gives a setting, where its name and its type do not say.

    Attributes:
        by_place: Whether the setting is an argument, given by its place.
        by_commas: Whether several values stand in one word, with commas between them.
            Otherwise the option is repeated, once for each value.
        metavar: The word that stands for the value in help; None for the type's.
        option: The name of the option; None for that of the field.
    """

    by_place: bool = False
    by_commas: bool = False
    metavar: str | None = None
    option: str | None = None

    @classmethod
    def of(cls, field: FieldInfo) -> Given:
        """Return how a field is given: as its annotation says, or as an option."""
        for mark in field.metadata:
            if isinstance(mark, Given):
                return mark
        return cls()


Argument = Annotated[T, Given(by_place=True)]


class Settings(FrozenRecord):
    """What a verb runs on. Unknown keys are errors.

    The section Attributes of a class's docstring is the help of its options.

    Attributes of the class:
        in_files: Whether --save-config writes a YAML file, and --config reads one.
        way_on: How an interrupted run goes on, in words; empty where it does not.
    """

    # A verb is asked for its help more often than it runs, and help needs no
    # validators, which take longer to build than all the rest.
    model_config = ConfigDict(defer_build=True)

    in_files: ClassVar[bool] = True
    way_on: ClassVar[str] = ""

    # A type checker shall see the fields as the arguments.
    if not TYPE_CHECKING:

        def __init__(self, /, **fields: Any) -> None:
            """Validate the fields, and raise pydantic's own error.

            `FrozenRecord` makes a Problem of it, without the field, which `validate`
            needs.
            """
            BaseModel.__init__(self, **fields)

    @field_validator("*", mode="before")
    @classmethod
    def _as_place(cls, value: Any, info: ValidationInfo) -> Any:
        """Keep URLs as they were typed: a path s3://bucket would lose a slash."""
        types = kinds_in(cls.model_fields[str(info.field_name)].annotation)
        if Path not in types or not isinstance(value, str | list):
            return value
        # A field for paths and URLs is a `Place`, which is a path or a text.
        local = str not in types
        if isinstance(value, str):
            return _place(value, local=local)
        return [_place(part, local=local) for part in value]

    @classmethod
    def epilog(cls) -> str:
        """Return what `--help` says below the options, in paragraphs."""
        return ""


class Unsaved(Settings):
    """Settings of a listing or a report, which nobody repeats from a file."""

    in_files = False


def _place(value: Any, *, local: bool) -> Any:
    """Return a text as a path, or as a URL; anything else as it is.

    Args:
        value: the value of a setting.
        local: whether only a path on this machine will do.

    Raises:
        BadValue: it is a URL, and `local`.
    """
    if not isinstance(value, str):
        return value
    if local and is_url(value):
        raise BadValue(f"{value} is a URL; expected a path on this machine")
    return place_of(value)


def kinds_in(annotation: Any) -> set[Any]:
    """Return an annotation, and all types within it.

    Example:
        >>> kinds_in(list[Path]) == {list[Path], Path}
        True
    """
    types = {annotation}
    for part in get_args(annotation):
        types |= kinds_in(part)
    return types


def holds_several(field: FieldInfo) -> bool:
    """Return whether a field can be a list or a dictionary of values."""
    types = kinds_in(field.annotation)
    return any(get_origin(type_) in (list, dict) for type_ in types)


def option(help: str, default: Any = None) -> Any:
    """Return a field with its own `help`, for settings that several verbs share.

    A field whose default is `...` must be given.
    """
    return Field(default, description=help)


def as_given(name: str, settings: type[Settings]) -> str:
    """Return how a setting is typed: --label-aware, or MODEL for an argument."""
    field = settings.model_fields.get(name)
    if field is None:
        return option_named(name)
    given = Given.of(field)
    if given.by_place:
        return name.upper()
    return option_named(given.option or name)


def option_named(name: str) -> str:
    """Return the option that sets the field `name`.

    Example:
        >>> option_named("label_aware")
        '--label-aware'
    """
    return "--" + name.replace("_", "-")


def validate(settings: type[S], verb: str, values: Mapping[str, Any]) -> S:
    """Return the settings of a verb that have these `values`.

    Args:
        settings: the class of the settings.
        verb: the name of the verb, for errors.
        values: name of a setting -> its value, as typed or as YAML has it.

    Raises:
        Problem: a setting is unknown, missing or has a value that it cannot have.
    """
    check_known(f"setting of `{verb}`", settings.model_fields, *values)
    for name, value in values.items():
        _check_no_null_character(name, value)
    try:
        return settings(**values)
    except ValidationError as error:
        raise _located(error, settings, verb) from None


def _check_no_null_character(name: str, value: Any) -> None:
    """Raise BadValue for a null character, at which functions of the system fail."""
    parts = value if isinstance(value, list) else [value]
    if any("\0" in str(part) for part in parts):
        raise BadValue((Setting(name), " must not hold the character \\0"), field=name)


def _located(error: ValidationError, settings: type[Settings], verb: str) -> Problem:
    """Return the first problem that pydantic found, with the name of its setting."""
    problem = problem_in(error, settings)
    location = error.errors()[0]["loc"]
    # A check of several settings together has no location, and names them itself.
    if not location:
        return problem

    name = str(location[0])
    names_the_setting = problem.field == name
    if isinstance(problem, MissingValue) and names_the_setting:
        return MissingValue(
            (f"{verb} needs ", Setting(name)),
            field=name,
            fix=f"see `randsmooth {verb} --help`",
        )

    # A problem without a message is worded as "SETTING=VALUE must be ...".
    if names_the_setting and not problem.message:
        return problem
    # A check of a value alone does not know the name of its setting.
    return BadValue((Setting(name), f": {problem}"), field=name)


def pairs(values: Any) -> Any:
    """Return the words of `--set key=value` as a dictionary.

    The YAML of --config gives a dictionary, which is returned as it is.

    Example:
        >>> pairs(["lr=1e-3", "norm=linf"])
        {'lr': 0.001, 'norm': 'linf'}
    """
    if isinstance(values, dict):
        return values
    if not isinstance(values, list):
        raise BadValue(f"{shown(repr(values))} must be `key: value` pairs")

    parsed = {}
    for text in values:
        key, equals, value = str(text).partition("=")
        if not equals:
            raise BadValue(f"{text!r} must read key=value")
        parsed[key.strip()] = scalar(value)
    return parsed


def scalar(text: str) -> Any:
    """Return the YAML value that `text` spells, or `text` where it is not YAML.

    @abc and [1 are not YAML, and a folder may have such a name; a setting that expects
    something else refuses them by its own check. 1e-3 is a number here, although
    YAML 1.1 reads it as a word.

    Example:
        >>> scalar("true"), scalar("1e-3"), scalar("@abc")
        (True, 0.001, '@abc')
    """
    try:
        value = parse_yaml(text, "the value")
    except Problem:
        return text

    # YAML made something else of the word, such as a number, or took off its quotes:
    # a quoted number is meant as text.
    if value != text.strip():
        return value
    # YAML left the word as it is, 1e-3 too.
    try:
        return float(value)
    except ValueError:
        return value


def words(values: Any) -> Any:
    """Return `md,latex` as a list of words.

    The YAML of --config gives a list, which is returned as it is.

    Example:
        >>> words("md,latex")
        ['md', 'latex']
    """
    if isinstance(values, str):
        return values.replace(",", " ").split()
    return values


def _as_list(value: Any) -> Any:
    """Return a single word as a list of one; a list is returned as it is."""
    return [value] if isinstance(value, str) else value


Pairs = Annotated[dict[str, Any], BeforeValidator(pairs), Given(metavar="KEY=VALUE")]

# YAML may have one word in place of a list.
Listed = BeforeValidator(_as_list)
