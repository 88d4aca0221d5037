"""The table of a comparison, in the format asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from randsmooth import errors
from randsmooth.certificates import Certificates
from randsmooth.report.formats import latex, markdown, records, text
from randsmooth.report.sheet import content as sheet

FORMATS: dict[str, Callable[[sheet.Sheet], str]] = {
    "text": text.render,
    "md": markdown.render,
    "latex": latex.render,
    "csv": records.to_csv,
    "json": records.to_json,
}


def render(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    format: str = "text",
    baseline: str | None = None,
) -> str:
    """One row a table: images, ACR, certified accuracy at `radii`, abstention, all with 95% intervals.

    Args:
        radii: L2 radii in units of pixels in [0, 1]; None for 0, 0.25, ... as far as any table certifies.
        format: text, md, latex, csv or json.
        baseline: name of the table to grey the others against; None looks for the Gaussian one.

    Raises:
        InputError: an unknown format or baseline, no table, a table without images, a negative radius.
    """
    if format not in FORMATS:
        raise errors.unknown("format", format, FORMATS)
    return FORMATS[format](sheet.build(tables, radii, baseline))
