"""`randsmooth plan`: what a certification will take."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, PositiveInt

from randsmooth.cli.forecasts import Planned
from randsmooth.cli.settings import Given, words


class Plan(Planned):
    """Settings of `randsmooth plan`.

    Attributes:
        workers: Also say how long so many workers take, each like this process: 8, or
            8,16,50.
        seconds: Begin no image of the pilot later.
        pilot_seed: Seed of the choice of the pilot's images.
    """

    workers: Annotated[
        list[PositiveInt] | None,
        BeforeValidator(words),
        Given(by_commas=True, metavar="K,K,..."),
    ] = None
    seconds: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 30.0
    pilot_seed: Annotated[int, Field(ge=0)] = 0


def run(settings: Plan) -> None:
    """Say what a certification will take: samples, time, memory and disk.

    The command also estimates the cost with workers and under other rules. It certifies
    a few random images, and writes nothing. The limits of the number of samples hold
    with probability 95%. Those of the time assume that the machine stays as busy as it
    is.

    Example: randsmooth plan runs/gaussian --rule grid --n 1e5 --workers 8
    """
    settings.answer_plan(
        workers=settings.workers or [],
        seconds=settings.seconds,
        seed=settings.pilot_seed,
    )
