"""`randsmooth evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from randsmooth.cli import reading
from randsmooth.cli.verb import Settings, argument, numbers, option
from randsmooth.escape import say

RADII = "Radii of the certified accuracies, such as 0,0.5,1. [every 0.25]"
BASELINE = "Name of the row that others are compared with. [the Gaussian one]"


class Evaluate(Settings):
    """Settings of `randsmooth evaluate`."""

    files: list[Path] = argument(reading.FILES)
    radii: Annotated[list[float] | None, BeforeValidator(numbers)] = option(
        RADII, json_schema_extra={"cli": str, "metavar": "R,R,..."}
    )
    format: str = option("text, md, latex, csv or json.", "text")
    baseline: str | None = option(BASELINE)
    sigma: float | None = option(reading.SIGMA)
    n: int | None = option(reading.N)
    alpha: float | None = option(reading.ALPHA)


def evaluate(settings: Evaluate) -> None:
    """Print the metrics of certificate files, one row a file: ACR, certified accuracies, abstention.

    Every figure comes with the number of images and a 95% interval (Wilson for shares, bootstrap for ACR).

    Example: randsmooth evaluate gaussian.parquet amplify.parquet --radii 0,0.5,1 --format md
    """
    from randsmooth.report import render

    loaded = reading.load(settings.files, sigma=settings.sigma, n=settings.n, alpha=settings.alpha)
    say(render(loaded, radii=settings.radii, format=settings.format, baseline=settings.baseline), end="")
