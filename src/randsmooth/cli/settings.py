"""The settings of a verb: a pydantic model whose fields come from the command line or from YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args

import yaml
from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from randsmooth.atomic import write_atomically
from randsmooth.documents import parse_yaml, read_file, shown
from randsmooth.errors import (
    BadValue,
    MissingValue,
    OutputExists,
    Problem,
    Setting,
    WrongFile,
    check_known,
)
from randsmooth.frozen_record import FrozenRecord, problem_in
from randsmooth.urls import is_url, place_of

LONGEST = (
    2**16
)  # bytes of a configuration; room for a thousand files, and read in seconds whatever it holds
S = TypeVar("S", bound="Settings")
T = TypeVar("T")


class Given(NamedTuple):
    """How the command line gives a setting, where that is not --NAME with a value of the field's type.

    Attributes:
        place: it is an argument, given by its place.
        kind: its type on the command line.
        metavar: the word that stands for its value in help.
        flag: its name, as --FLAG or --FLAG/--NO-FLAG.
    """

    place: bool = False
    kind: Any = None
    metavar: str | None = None
    flag: str | None = None

    @classmethod
    def of(cls, field: FieldInfo) -> Given:
        """What the annotations of a field say together."""
        said = [mark for mark in field.metadata if isinstance(mark, Given)]
        together: Any = (
            next(filter(None, each), None) for each in zip(cls(), *said, strict=True)
        )
        return cls(*together)


Argument = Annotated[T, Given(place=True)]
KEY_VALUE = Given(kind=list[str], metavar="KEY=VALUE")


class Settings(FrozenRecord):
    """What a verb runs on. Unknown keys are errors. The section Attributes of a class's docstring is the help."""

    in_files: ClassVar[bool] = (
        True  # whether --save-config keeps the settings in a YAML file, and --config reads it
    )
    goes_on: ClassVar[str] = (
        ""  # how an interrupted run goes on, in words; empty where it does not
    )

    @field_validator("*", mode="before")
    @classmethod
    def _as_place(cls, value: Any, info: ValidationInfo) -> Any:
        """URLs are kept as typed: a path s3://bucket would lose a slash."""
        taken = kinds_in(cls.model_fields[str(info.field_name)].annotation)
        if Path not in taken or not isinstance(value, str | list):
            return value
        values = value if isinstance(value, list) else [value]
        if str not in taken and (url := next(filter(is_url, values), None)) is not None:
            raise BadValue(f"{url} is a URL; expected a path on this machine")
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


def option(help: str, default: Any = None) -> Any:
    """A field whose help is shared with other verbs, or made of other texts; `...` is the default of a required one."""
    return Field(default, description=help)


def validate(settings: type[S], verb: str, values: Mapping[str, Any]) -> S:
    """The settings in `values`; Problem names the key that is unknown, missing or wrong."""
    check_known(f"setting of `{verb}`", settings.model_fields, *values)
    for key, value in values.items():
        if any(
            "\0" in str(each)
            for each in (value if isinstance(value, list) else [value])
        ):
            raise BadValue(
                f"{as_given(key, settings)} must not hold the character \\0"
            )  # no name of a file does
    try:
        return settings.model_validate(values)
    except ValidationError as error:
        problem = problem_in(error, settings)
        key = str(*error.errors()[0]["loc"][:1])
        if isinstance(problem, MissingValue) and problem.field == key:
            raise MissingValue(
                (f"{verb} needs ", Setting(key)),
                field=key,
                fix=f"see `randsmooth {verb} --help`",
            ) from None
        if key and (problem.message or problem.field != key):
            raise BadValue((Setting(key), f": {problem}"), field=key) from None
        raise problem from None


def as_given(key: str, settings: type[Settings]) -> str:
    """A setting as the command line spells it: --label-aware, or MODEL for one given by its place."""
    field = settings.model_fields.get(key)
    given = Given() if field is None else Given.of(field)
    return key.upper() if given.place else "--" + (given.flag or key).replace("_", "-")


def read_document(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file. Raises Problem where it holds anything else."""
    values = parse_yaml(read_file(path, LONGEST), path)
    if not isinstance(values, dict):
        raise WrongFile(
            f"{path} must hold `key: value` lines, the settings of a verb of randsmooth",
            file=path,
        )
    return values


def read_config(path: Path, verb: str) -> dict[str, Any]:
    """The settings for `verb` in a YAML file, whose key `verb`, if there is one, must agree."""
    values = read_document(path)
    meant = values.pop("verb", verb)
    if meant != verb:
        raise WrongFile(
            f"{path} configures `randsmooth {shown(meant)}`, not `randsmooth {verb}`",
            file=path,
        )
    settings = {str(key).replace("-", "_"): value for key, value in values.items()}
    if len(settings) < len(values):
        raise WrongFile(
            f"{path} gives a setting twice, with - and with _: which of them is meant?",
            file=path,
        )
    return settings


def write_config(settings: Settings, verb: str, path: Path) -> None:
    """Write `settings` so that `randsmooth VERB --config PATH` runs them again."""
    if path.exists():
        raise OutputExists(f"{path} exists; --save-config writes a new file", file=path)
    values = {
        "verb": verb,
        **settings.model_dump(
            mode="json", exclude_none=True, exclude={"resume", "overwrite"}
        ),
    }
    write_atomically(
        path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode()
    )


def pairs(values: Any) -> Any:
    """`--set key=value` strings as a dictionary; a dictionary, from YAML, is returned as it is.

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
    """`text` as the YAML value that it spells, or `text` itself where it is not YAML, as @abc and [1 are not.

    A folder may have such a name; a setting that expects something else refuses it by its own check. 1e-3 is a
    number here, although YAML 1.1 reads it as a word.

    Example:
        >>> scalar("true"), scalar("1e-3"), scalar("@abc")
        (True, 0.001, '@abc')
    """
    try:
        value = parse_yaml(text, "the value")
        return (
            float(value) if value == text.strip() else value
        )  # not what is quoted, which is meant as text
    except Problem:
        return text
    except ValueError:
        return value


def words(values: Any) -> Any:
    """`md,latex`, or `0,0.5,1`, as a list of words; a list, from YAML, is returned as it is.

    Example:
        >>> words("md,latex")
        ['md', 'latex']
    """
    return values.replace(",", " ").split() if isinstance(values, str) else values


Pairs = Annotated[dict[str, Any], BeforeValidator(pairs), KEY_VALUE]
Listed = BeforeValidator(
    lambda given: [given] if isinstance(given, str) else given
)  # YAML may have one word
