"""`randsmooth plan`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, PositiveInt

from randsmooth.cli.certification import WhatToCertify
from randsmooth.cli.planning import show_plan
from randsmooth.cli.settings import option, words


class Plan(WhatToCertify):
    """Settings of `randsmooth plan`."""

    workers: Annotated[list[PositiveInt] | None, BeforeValidator(words)] = option(
        "Also say how long so many workers take, each like this process: 8, or 8,16,50.",
        json_schema_extra={"cli": str, "metavar": "K,K,..."},
    )
    seconds: float = option("Begin no image of the pilot later.", 30.0, gt=0.0, allow_inf_nan=False)
    pilot_seed: int = option("Seed of the choice of the pilot's images.", 0, ge=0)
    format: Literal["text", "json"] = option("Of the answer.", "text")


def plan(settings: Plan) -> None:
    """Say what a certification will take: samples, time here and on workers, memory, disk, and what other rules cost.

    A few images, chosen by chance, are certified to know; nothing is written. The limits of the number of samples hold
    with probability 95%; those of the time suppose that the machine stays as busy as it is.

    Example: randsmooth plan runs/gaussian --rule grid --n 1e5 --workers 8
    """
    workers = settings.workers or []
    show_plan(settings, settings.format, workers=workers, seconds=settings.seconds, seed=settings.pilot_seed)
