"""The contract of a panel of the comparison page: its input and its output.

A panel is a module with its template beside it. Another package adds a panel by an entry
point of the group `randsmooth.panels` that names its module; see `Panel` for what the
module holds. Panels of other packages come after ours.
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
    """The measurements that all panels share; `page_content` makes them.

    Attributes:
        sheet: the tables and their metrics.
        against: the comparison with the baseline of each table that can be compared;
            empty without a baseline.
        looks: the colour and dashes of each table.
        radius_chart: certified accuracy by radius.
        p_a_chart: the share of images by p_A; None where it is known for no table.
        pictures: the function that finds the images; None where they cannot be had.
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
        content: name of a variable in the template -> its value. The template also has
            `sheet` and `looks`.
        charts: id of an element in the template -> the chart that is drawn in it.
        data: the values that the panel's script reads as `report.data.panels.NAME`:
            anything that JSON can hold.
        title: the heading at which a reader unfolds the panel; by default the name of
            the panel.

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

    Beside the module MODULE.py lie its template MODULE.html.j2 and, where it needs a
    script, MODULE.js.
    """

    __name__: str

    def view(self, content: PageContent) -> PanelView | None:
        """Return what the panel shows; None leaves the panel out of the page."""
        ...
