"""What was checked of the tables, before anything is said of them."""

from collections.abc import Sequence

from randsmooth.metrics.check_values import FAILED, PASSED, UNKNOWN
from randsmooth.report.checks import MARKS, CheckLine
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView | None:
    """Return the failed checks and what follows, and the others, which are folded."""
    block = content.sheet.check_block
    if not block.is_shown:
        return None
    lines = block.lines
    others = [line for line in lines if line.state != FAILED]
    unseen, *consequences = map(in_print, block.notes)
    return PanelView(
        {
            "failures": [line for line in lines if line.state == FAILED],
            "consequences": consequences,
            "others": others,
            "counts": _counts(others),
            "unseen": unseen,
        }
    )


def _counts(lines: Sequence[CheckLine]) -> str:
    """Return how many checks passed, and how many could not be told, in words."""
    passed = sum(line.state == PASSED for line in lines)
    unknown = len(lines) - passed
    words = []
    if passed:
        words.append(f"{MARKS[PASSED]} {passed} passed")
    if unknown:
        words.append(f"{MARKS[UNKNOWN]} {unknown} cannot be told")
    return ", ".join(words)
