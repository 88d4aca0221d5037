"""`randsmooth evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from randsmooth.atomic import write_atomically
from randsmooth.cli.messages import writing
from randsmooth.cli.options import FILES, Compared
from randsmooth.cli.settings import argument, option
from randsmooth.escape import say
from randsmooth.urls import Place


class Evaluate(Compared):
    """Settings of `randsmooth evaluate`."""

    files: list[Place] = argument(FILES)
    format: Literal["text", "md", "latex", "csv", "json"] = option("Of the table.", "text")
    out: Path | None = option("File to write instead of printing.")
    overwrite: bool = option("Replace a file that exists.", False)


def evaluate(settings: Evaluate) -> None:
    """Print the metrics of certificate files, one row a file: ACR, certified accuracies, abstention.

    Every figure comes with the number of images and a 95% interval (Wilson for shares, Gaffke for ACR).

    Example: randsmooth evaluate gaussian.parquet amplify.parquet --radii 0,0.5,1 --format md
    """
    if settings.out is not None:
        with writing([settings.out], overwrite=settings.overwrite):
            write_atomically(settings.out, rendered(settings).encode())
        say(settings.out)
        return
    say(rendered(settings), end="")


def rendered(settings: Evaluate) -> str:
    """The figures as they are printed."""
    from randsmooth.cli import reading

    loaded = reading.load(settings.files, sigma=settings.sigma, n=settings.n, alpha=settings.alpha)
    from randsmooth.report import render  # once there is something to report

    return render(loaded, radii=settings.radii, format=settings.format, baseline=settings.baseline)
