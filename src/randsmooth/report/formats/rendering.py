"""The table of a comparison, in the format asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from randsmooth import errors
from randsmooth.certificates import Certificates
from randsmooth.report.formats import csv_table, json_document, latex, markdown, text
from randsmooth.report.sheet.content import Sheet, build_sheet

FORMATS: dict[str, Callable[[Sheet], str]] = {
    "text": text.render,
    "md": markdown.render,
    "latex": latex.render,
    "csv": csv_table.render,
    "json": json_document.render,
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
        baseline: name of the table that the others are compared with; None looks for the Gaussian one.

    Raises:
        InputError: an unknown format or baseline, no table, a table without images, a negative radius.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> print(render([table.renamed("gaussian")], radii=[0.0, 0.25], format="csv").split(",")[0])
        name
    """
    if format not in FORMATS:
        raise errors.unknown("format", format, FORMATS)
    return FORMATS[format](build_sheet(tables, radii, baseline))
