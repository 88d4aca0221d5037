"""`randsmooth plan`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from randsmooth.cli.certification import WhatToCertify
from randsmooth.cli.planning import SECONDS, show_plan
from randsmooth.cli.settings import option
from randsmooth.errors import InputError, unknown
from randsmooth.whole_numbers import whole_number

FORMATS = ("text", "json")


def several(given: Any) -> Any:
    """`4,8` as a list of whole numbers; likewise a number or a list, as YAML has them."""
    if given is None:
        return given
    parts = given.replace(",", " ").split() if isinstance(given, str) else given
    return [whole_number(part) for part in (parts if isinstance(parts, list) else [parts])]


class Plan(WhatToCertify):
    """Settings of `randsmooth plan`."""

    workers: Annotated[list[int] | None, BeforeValidator(several)] = option(
        "Also say how long so many workers take, each like this process: 8, or 8,16,50.",
        json_schema_extra={"cli": str, "metavar": "K,K,..."},
    )
    seconds: float = option("Begin no image of the pilot later.", SECONDS)
    pilot_seed: int = option("Seed of the choice of the pilot's images.", 0)
    format: str = option("text or json.", "text")


def plan(settings: Plan) -> None:
    """Say what a certification will take: samples, time here and on workers, memory, disk, and what other rules cost.

    A few images, chosen by chance, are certified to know; nothing is written. The limits of the number of samples hold
    with probability 95%; those of the time suppose that the machine stays as busy as it is.

    Example: randsmooth plan runs/gaussian --rule grid --n 1e5 --workers 8
    """
    if settings.format not in FORMATS:
        raise unknown("format", settings.format, FORMATS)
    if not 0.0 < settings.seconds < float("inf"):
        raise InputError(f"--seconds {settings.seconds:g} must be a time above 0; {SECONDS:g} is usual")
    if settings.pilot_seed < 0:
        raise InputError(f"--pilot-seed {settings.pilot_seed} must be a whole number from 0")
    for k in settings.workers or []:
        if k < 1:
            raise InputError(f"--workers {k} must be a whole number from 1")
    show_plan(
        settings,
        workers=settings.workers or [],
        seconds=settings.seconds,
        seed=settings.pilot_seed,
        format=settings.format,
    )
