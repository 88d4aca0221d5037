"""The findings in sentences: who leads in ACR, what ACR hides, and where curves cross."""

from randsmooth.notes import Note
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView | None:
    """Return the sentences; None where there is nothing to say."""
    if not content.summary:
        return None
    sentences = [
        in_print(sentence) if isinstance(sentence, Note) else sentence
        for sentence in content.summary
    ]
    return PanelView({"sentences": sentences}, title="Findings")
