"""Conditions on certified accuracy, as a YAML file states them."""

from pathlib import Path
from typing import Any

from randsmooth.certificates import read
from randsmooth.documents import parse_yaml, read_file
from randsmooth.errors import MissingValue, WrongFile, check_known
from randsmooth.metrics.requirements import AtLeast, Condition, NoWorse

# The keys of a condition.
KEYS = ("at", "least", "baseline", "margin")


def read_conditions(path: Path | str) -> list[Condition]:
    """Return the conditions that a YAML file lists.

    Each has `at`, a radius, and either `least`, a share of the images, or `baseline`, a
    table of certificates beside the file, and `margin`, a share of the images.

    Raises:
        Problem: there is no such file, it is no list of conditions, a value cannot be, or
            a baseline cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "gate.yaml")
        ...     _ = file.write_text("- {at: 0.25, least: 0.7}\\n- {at: 0.5, least: 0.6}\\n")
        ...     for condition in read_conditions(file):
        ...         print(condition)
        certified accuracy at 0.25 is at least 70%
        certified accuracy at 0.5 is at least 60%
    """
    path = Path(path)
    listed = parse_yaml(read_file(path), path)
    if not isinstance(listed, list) or not listed:
        raise WrongFile(
            f"{path} must be a list of conditions, such as '- {{at: 0.5, least: 0.6}}'",
            file=path,
        )
    return [
        _condition(stated, f"condition {number} of {path}", path)
        for number, stated in enumerate(listed, start=1)
    ]


def _condition(stated: Any, where: str, path: Path) -> Condition:
    """Return the condition that a mapping states."""
    if not isinstance(stated, dict):
        raise WrongFile(f"{where} must be a mapping of {', '.join(KEYS)}", file=path)
    check_known(f"key of {where}", KEYS, *stated)

    if {*stated} == {"at", "least"}:
        return AtLeast(
            at=_number(stated, "at", where, path),
            least=_number(stated, "least", where, path),
        )
    if {*stated} == {"at", "baseline", "margin"}:
        return NoWorse(
            at=_number(stated, "at", where, path),
            margin=_number(stated, "margin", where, path),
            baseline=read(path.parent / str(stated["baseline"])),
        )
    raise MissingValue(
        f"{where} has {', '.join(stated) or 'nothing'}; expected at and least, or at, "
        "baseline and margin",
        file=path,
    )


def _number(stated: dict[str, Any], key: str, where: str, path: Path) -> float:
    value = stated[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongFile(f"{where} has {key}: {value!r}, which is no number", file=path)
    return float(value)
