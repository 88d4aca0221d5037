"""The panels of the comparison page: what each is given and gives back.

A panel is a module with its template beside it. Another package adds one by an entry
point of the group `randsmooth.panels` that names its module; see `Panel` for what the
module holds. Those of other packages come after ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from randsmooth.notes import Note
from randsmooth.report.baseline import AgainstBaseline
from randsmooth.report.charts import Axes, Look
from randsmooth.report.sheet import Sheet


class Pictures(Protocol):
    """A function that finds images at the given positions of their split.

    It returns pixels (H, W, 1 or 3) in 0 to 255.

    Example:
        >>> pictures: Pictures = lambda idx: [
        ...     np.full((8, 8, 1), 10 * i, np.uint8) for i in idx
        ... ]
        >>> [int(pixels.max()) for pixels in pictures([0, 7])]
        [0, 70]
    """

    def __call__(self, idx: Sequence[int], /) -> Sequence[NDArray[np.uint8]]: ...


@dataclass(frozen=True)
class PageContent:
    """The measurements, computed once for all panels; `page_content` makes them.

    Attributes:
        sheet: the tables and their metrics.
        against: the comparison of each table with the baseline; empty where there is
            no baseline.
        looks: the colour and dashes of each table.
        radius_chart: certified accuracy by radius.
        p_a_chart: the share of images by p_A; None where no table knows it.
        pictures: finds the images themselves; None where they cannot be had.
        command: the command that makes the page; None where it is not known.
        summary: the findings in sentences.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> from randsmooth.report import page_content
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> content = page_content([table.renamed("gaussian"), table.renamed("other")])
        >>> content.sheet.baseline, [one.row for one in content.against]
        (0, [1])
    """

    sheet: Sheet
    against: list[AgainstBaseline]
    looks: list[Look]
    radius_chart: Axes
    p_a_chart: Axes | None
    pictures: Pictures | None = None
    command: str | None = None
    summary: Sequence[str | Note] = ()


@dataclass(frozen=True)
class PanelView:
    """The content of one panel.

    Attributes:
        content: the variables of its template by name, beside `sheet` and `looks`.
        charts: the charts, by the id of the template's element that each is drawn in.
        data: the values that the panel's script reads as `report.data.panels.NAME`:
            anything that JSON can hold.
        title: the heading that the panel is unfolded at; without one it is the name of
            the panel, and its template may have a heading of its own.

    Example:
        >>> PanelView({"share": "90.0%"}).charts
        {}
    """

    content: Mapping[str, Any] = field(default_factory=dict)
    charts: Mapping[str, Axes] = field(default_factory=dict)
    data: Any = None
    title: str = ""


class Panel(Protocol):
    """A module with a function `view`.

    Beside it lie its template, called as the module with the ending .html.j2, and, where
    it needs one, its script with the ending .js.
    """

    __name__: str

    def view(self, content: PageContent) -> PanelView | None:
        """Return the panel's view of `content`.

        The answer is None where it has nothing to show, and is left out.
        """
        ...
