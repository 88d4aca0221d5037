"""Answers about single images, printed as lines, CSV or JSON."""

from __future__ import annotations

from typing import Any

from randsmooth.errors import unknown
from randsmooth.escape import LONG, printable, say, shortened, to_csv, to_json
from randsmooth.noise import round_down

FORMATS = ("text", "csv", "json")
Answers = list[dict[str, Any]]


def check_format(format: str) -> None:
    """Raise InputError for a format that is not one of FORMATS."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)


def show(answers: Answers, format: str) -> None:
    """Print one answer a line; an abstention has no label and radius 0."""
    if format == "json":
        say(to_json(answers, indent=1))
    elif format == "csv":
        say(to_csv([list(answers[0]), *(list(answer.values()) for answer in answers)]), end="")
    else:
        for answer in answers:
            radius = round_down(answer["radius"], 4)
            image, label = (answer[key] and shortened(printable(answer[key]), LONG) for key in ("image", "label"))
            say(f"{image}  abstains" if label is None else f"{image}  {label}  radius {radius}")
