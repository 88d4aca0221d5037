"""What certified accuracy says of every method against the baseline, in words that the numbers alone decide."""

from __future__ import annotations

from collections.abc import Sequence

from randsmooth.metrics import CROSSES, NO_DIFFERENCE, Comparison, Scope
from randsmooth.report.sheet.against_baseline import Versus
from randsmooth.report.sheet.content import Sheet


def sentence(sheet: Sheet, compared: Sequence[Versus]) -> str:
    """`By certified accuracy, against gaussian: a and b show no difference; c crosses at r = 0.37 (...), ...`"""
    if sheet.baseline is None or not compared:
        return ""
    said: dict[str, list[str]] = {}
    for one in compared:
        said.setdefault(words(one.comparison), []).append(sheet.tables[one.row].name)
    clauses = [f"{joined(names)} {_predicate(what, len(names))}" for what, names in said.items()]
    return f"By certified accuracy, against {sheet.tables[sheet.baseline].name}: {'; '.join(clauses)}."


def words(one: Comparison) -> str:
    """The verdict as every report prints it, and what it does not reach."""
    if one.verdict is None:
        return f"not compared: {one.limit}"
    return f"{one.verdict} [{one.limit}]" if one.limit else str(one.verdict)


def together(scope: Scope) -> str:
    """What was corrected over what."""
    methods = "the method" if scope.pairs == 1 else f"all {scope.pairs} methods"
    return (
        f"All radii and the ACR of {methods} are judged together, {scope.figures:,} differences whose intervals hold "
        "all at once with 95% confidence: many methods and many radii make no difference appear by chance."
    )


def joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _predicate(what: str, names: int) -> str:
    if what.startswith(NO_DIFFERENCE):
        return f"show{'s' if names == 1 else ''} no difference{what.removeprefix(NO_DIFFERENCE)}"
    if what.startswith(CROSSES):
        return what if names == 1 else what.replace(CROSSES, "cross", 1)
    return f"{'is' if names == 1 else 'are'} {what}"
