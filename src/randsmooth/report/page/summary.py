"""The first lines of the page: who leads where, what ACR hides about the pair that matters, who beats the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.metrics import CROSSES, NO_DIFFERENCE
from randsmooth.report.page.acr_sentence import what_acr_hides
from randsmooth.report.sheet.against_baseline import AgainstBaseline
from randsmooth.report.sheet.columns import RankedColumn
from randsmooth.report.sheet.content import Sheet


def sentences(sheet: Sheet, against: Sequence[AgainstBaseline] = ()) -> list[str]:
    """One table: its figures. More: whose budgets differ, who leads in ACR, `what_acr_hides`, then the verdicts."""
    known = [row for row, table in enumerate(sheet.tables) if table.labelled]
    if len(known) < min(2, len(sheet.tables)):
        return [_unlabelled(sheet, row) for row in range(len(sheet.tables)) if row not in known]
    if len(sheet.tables) == 1:
        return [_alone(sheet)]
    verdicts = verdict_sentence(sheet, against)
    return [*budget_remarks(sheet.tables), _leaders(sheet), _hidden(sheet, against), *([verdicts] if verdicts else [])]


def budget_remarks(tables: Sequence[Certificates]) -> list[str]:
    """What to know before ACRs are compared where n or alpha differ: either raises ACR without a better classifier."""
    found = []
    for field, more in (("n", "more samples"), ("alpha", "a larger alpha")):
        values = sorted({value for table in tables if (value := getattr(table.header, field)) is not None})
        if len(values) > 1:
            listed = ", ".join(f"{value:,}" if field == "n" else f"{value:g}" for value in values)
            way = f"; --{field} {values[0]} judges all tables alike" if _rejudgeable(tables) else ""
            found.append(f"The tables differ in {field} ({listed}), and {more} alone can raise ACR{way}.")
    return found


def _rejudgeable(tables: Sequence[Certificates]) -> bool:
    return all(table.header.rule == "fixed" and not table.is_log for table in tables)


def _hidden(sheet: Sheet, against: Sequence[AgainstBaseline]) -> str:
    """Of the highest ACR and the baseline's, as all methods were judged; of the two highest without a baseline."""
    others = [row for row in _top(sheet.acr) if row != sheet.baseline]
    rows = others[0], others[1] if sheet.baseline is None else sheet.baseline
    first, second = (sheet.tables[row] for row in rows)
    judged = next((one.comparison for one in against if one.row == rows[0]), None)
    try:
        return what_acr_hides(*metrics.pair(first, second), judged)
    except InputError as reason:
        return f"What ACR hides cannot be said here: {reason}."


def _alone(sheet: Sheet) -> str:
    low, high = sheet.acr.ends[0]
    clean = [f"{c.figures[0]}% at radius {c.title}" for c in sheet.accuracy[:1]]
    return (
        f"{sheet.tables[0].name}: {', '.join([*clean, f'ACR {sheet.acr.figures[0]} ({low} to {high})'])}, "
        f"measured on {len(sheet.tables[0]):,} images."
    )


def _unlabelled(sheet: Sheet, row: int) -> str:
    abstains = sheet.abstention.figures[row]
    return f"{sheet.tables[row].name}: {len(sheet.tables[row]):,} images without labels; it abstains on {abstains}%."


def _leaders(sheet: Sheet) -> str:
    names = [table.name for table in sheet.tables]
    first = _top(sheet.acr)[0]
    rivals = [row for row in _top(sheet.acr)[1:] if not _ahead(sheet.tables[first], sheet.tables[row])]
    neither, highest = ("neither", "higher") if len(names) == 2 else ("none", "highest")
    if rivals:
        tied = ", ".join(f"{names[row]} {sheet.acr.figures[row]}" for row in (first, *rivals))
        return f"Of {len(names)} tables, {neither} has the {highest} ACR beyond chance ({tied})."
    return f"Of {len(names)} tables, {names[first]} has the {highest} ACR ({sheet.acr.figures[first]})."


def _ahead(first: Certificates, second: Certificates) -> bool:
    """Whether the first's ACR is the higher one beyond chance, on the images that both have."""
    try:
        ours, theirs = metrics.pair(first, second)
    except InputError:
        return False
    return metrics.acr_difference(ours, theirs).low > 0.0


def _top(column: RankedColumn) -> list[int]:
    """Rows from the highest value down; those without one are left out."""
    known = {row: estimate.value for row, estimate in enumerate(column.estimates) if estimate is not None}
    return sorted(known, key=lambda row: -known[row])


def verdict_sentence(sheet: Sheet, against: Sequence[AgainstBaseline]) -> str:
    """`By certified accuracy, against gaussian: a and b show no difference; c crosses at r = 0.37 (...), ...`"""
    if sheet.baseline is None or not against:
        return ""
    names: dict[str, list[str]] = {}
    for one in against:
        names.setdefault(one.verdict, []).append(sheet.tables[one.row].name)
    clauses = [f"{_joined(called)} {_predicate(verdict, len(called))}" for verdict, called in names.items()]
    return f"By certified accuracy, against {sheet.tables[sheet.baseline].name}: {'; '.join(clauses)}."


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _predicate(verdict: str, names: int) -> str:
    if verdict.startswith(NO_DIFFERENCE):
        return f"show{'s' if names == 1 else ''} no difference{verdict.removeprefix(NO_DIFFERENCE)}"
    if verdict.startswith(CROSSES):
        return verdict if names == 1 else verdict.replace(CROSSES, "cross", 1)
    return f"{'is' if names == 1 else 'are'} {verdict}"
