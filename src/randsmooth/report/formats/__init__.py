"""The table of a comparison as text, in one of several formats."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from randsmooth import errors, metrics
from randsmooth.certificates import Certificates
from randsmooth.report.formats.latex import to_latex
from randsmooth.report.formats.markdown import to_markdown
from randsmooth.report.formats.programs import to_csv, to_json
from randsmooth.report.formats.terminal import to_short_lines as to_short_lines
from randsmooth.report.formats.terminal import to_text
from randsmooth.report.layouts import thinned
from randsmooth.report.sheet import Sheet, build_sheet

# Radii in a column of a paper, where none are asked for.
MOST_RADII_IN_LATEX = 5

# The function that prints a sheet in each format.
FORMATS: dict[str, Callable[[Sheet], str]] = {
    "text": to_text,
    "md": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
    "json": to_json,
}


def render(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    format: str = "text",
    baseline: str | None = None,
    at: float | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> str:
    """Return three blocks on the tables: checks, answer, evidence.

    The answer is certified accuracy at the radius `at`. The evidence has one row a
    table: images, ACR, certified accuracy at `radii`, abstention. All have their 95%
    intervals.

    Args:
        radii: the radii of the certified accuracies, in the tables' norm; None for 0,
            0.25, ... as far as any table certifies (see `metrics.usual_radii`), of
            which LaTeX has MOST_RADII_IN_LATEX at most.
        format: the format of the result: text, md, latex, csv or json.
        baseline: name of the table that the others are compared with; None looks for
            the Gaussian one.
        at: the radius of the answer; None for one sigma of the baseline.
        labels: true labels of the data sets that are at hand, such as "cifar10 test" ->
            (N,); those of the tables are checked against them.
        anyway: judge tables that failed a check, too.

    Raises:
        Problem: an unknown format or baseline, no table, a table without images, a
            negative radius, different norms.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> text = render([table.renamed("gaussian")], radii=[0.0, 0.25], format="csv")
        >>> print(text.split(",")[0])
        name
    """
    if format not in FORMATS:
        raise errors.unknown("format", format, FORMATS)
    if format == "latex" and radii is None and tables:
        # A column of a paper has room for few.
        usual = thinned(metrics.usual_radii(tables), MOST_RADII_IN_LATEX)
        radii = sorted({*usual, *([] if at is None else [at])})
    sheet = build_sheet(tables, radii, baseline, at=at, labels=labels, anyway=anyway)
    return FORMATS[format](sheet)
