"""`randsmooth evaluate`: the metrics of certificate files as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from randsmooth import report
from randsmooth.atomic import write_atomically
from randsmooth.cli.certificate_files import Compared
from randsmooth.cli.output import note, writing
from randsmooth.escape import say


class Evaluate(Compared):
    """Settings of `randsmooth evaluate`.

    Attributes:
        format: Of the table.
        out: File to write instead of printing.
        overwrite: Replace a file that exists.
    """

    format: Literal["text", "md", "latex", "csv", "json"] = "text"
    out: Path | None = None
    overwrite: bool = False


def run(settings: Evaluate) -> None:
    """Print the metrics of certificate files, one row a file.

    Several files are checked first. Then the command answers which certifies more at one
    radius. The metrics below this answer are ACR, certified accuracies and the share of
    abstentions. Every figure has the number of images and a 95% interval
    (Clopper-Pearson for shares, Gaffke for ACR).

    Example: randsmooth evaluate gaussian.parquet amplify.parquet --radii 0,0.5,1
    --format md
    """
    if settings.out is None:
        # The text ends with a line break of its own.
        say(_text(settings), end="")
        return
    # The tables are read only once it is known that the file may be written.
    with writing([settings.out], overwrite=settings.overwrite):
        write_atomically(settings.out, _text(settings).encode())
    say(settings.out)


def _text(settings: Evaluate) -> str:
    """Return the table in its format; remarks that a paper has no room for are noted."""
    tables = settings.read_tables()
    if settings.format == "latex":
        for remark in report.remarks(tables):
            note(remark)
    return settings.rendered(tables, settings.format)
