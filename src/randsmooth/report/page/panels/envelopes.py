"""Each kind of noise, or method, at the width that is best at each radius, where some have tables at several."""

from dataclasses import replace

from randsmooth.errors import Problem
from randsmooth.metrics import NO_ONE_CLASSIFIER
from randsmooth.report.charts import looks
from randsmooth.report.curves import ON_PAGE, envelope_axes, group_by_method
from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView | None:
    """The curves, with what tells them apart; None where no group has several tables, or they have different images."""
    groups = group_by_method(
        [table for table in content.sheet.tables if table.labelled]
    )
    try:
        shares, *_ = envelope_axes(groups)
    except (Problem, ValueError):  # other images; no group
        return None
    own = looks(len(groups), None)
    lines = [
        replace(line, look=look, hover="%{y:.1f}%")
        for line, look in zip(shares.lines, own, strict=True)
    ]
    names = [
        (look, line.name, len(groups[line.name]))
        for look, line in zip(own, lines, strict=True)
    ]
    chart = replace(shares, title="", lines=lines, **ON_PAGE)
    return PanelView(
        {"names": names, "warning": NO_ONE_CLASSIFIER}, {"envelopes": chart}
    )
