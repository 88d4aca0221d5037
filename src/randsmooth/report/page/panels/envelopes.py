"""Each kind of noise, or method, at the width that is best at each radius.

The panel is shown where some have tables at several widths.
"""

from dataclasses import replace

from randsmooth.errors import Problem
from randsmooth.metrics import NO_ONE_CLASSIFIER
from randsmooth.number_text import half_up
from randsmooth.report.charts import looks
from randsmooth.report.curves import envelope_axes, group_by_method, page_axes
from randsmooth.report.page.panel import PageContent, PanelView


def view(content: PageContent) -> PanelView | None:
    """Return the curve of each group, and for the legend its look, name and size.

    The answer is None where no group has several noises, or where the tables of a group
    are about different images.
    """
    labelled = [table for table in content.sheet.tables if table.labelled]
    groups = group_by_method(labelled)
    try:
        panels = envelope_axes(groups)
    except Problem:
        # Tables of one group that are about different images have no envelope.
        return None
    if not panels:
        return None
    # The second panel, which sigma is best at each radius, is left out of the page.
    shares = panels[0]
    lines = []
    names = []
    for line, look in zip(shares.lines, looks(list(groups)), strict=True):
        figures = [half_up(float(share), decimals=1) for share in line.y]
        lines.append(replace(line, look=look, hover="%{text}%", figures=figures))
        names.append((look, line.name, len(groups[line.name])))
    return PanelView(
        {"names": names, "warning": NO_ONE_CLASSIFIER},
        {"envelopes": page_axes(shares.x, shares.y, lines)},
        title="The best at each radius",
    )
