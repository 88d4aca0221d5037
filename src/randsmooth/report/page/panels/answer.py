"""The answer: one sentence at one radius, and one narrow table."""

from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView:
    """Return the sentence, the cells of the table, and which differences are shown."""
    answer = content.sheet.answer
    return PanelView(
        {
            "heading": answer.heading,
            "sentence": in_print(answer),
            "head": answer.head,
            "rows": list(zip(answer.rows, answer.cells, strict=True)),
            "notes": [answer.legend, *answer.limits],
        }
    )
