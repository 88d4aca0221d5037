"""A figure of one or more panels as a file, on paper or for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.report.figures.axes import Axes, looks_by_name
from randsmooth.report.figures.matplotlib_parts import PAPER_FORMATS


def draw(panels: Sequence[Axes], path: Path | str) -> None:
    """Write the panels as PNG, PDF or SVG, or as one HTML page that works offline.

    Raises:
        InputError: no panel, or another suffix.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.report import Line
        >>> line = Line("n = 100", np.array([0.0, 0.5, 1.0]), np.array([90.0, 60.0, 20.0]), "step")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw([Axes("digits", "radius", "certified accuracy (%)", (line,))], Path(folder) / "figure.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['figure.svg']
    """
    from randsmooth.report.figures import multi_panel_html, multi_panel_paper

    path = Path(path)
    suffix = path.suffix.lstrip(".").lower()
    if not panels:
        raise errors.InputError("there is nothing to draw: no panel has a line")
    if suffix == "html":
        write_atomically(path, multi_panel_html.page(panels, path.stem, looks_by_name(panels)).encode())
    elif suffix in PAPER_FORMATS:
        write_atomically(path, multi_panel_paper.picture(panels, suffix, looks_by_name(panels)))
    else:
        raise errors.unknown("figure format", suffix, (*PAPER_FORMATS, "html"))
