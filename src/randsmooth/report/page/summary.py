"""The first lines of the page: who leads where, what ACR hides about the pair that matters, who beats the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.report.page.acr_sentence import what_acr_hides
from randsmooth.report.sheet import verdicts
from randsmooth.report.sheet.against_baseline import Versus
from randsmooth.report.sheet.content import Ranked, Sheet

PLAIN = 6.0  # standard errors: a gap that wide, over MANY images or more, lies beyond any bootstrap interval
MANY = 500


def sentences(sheet: Sheet, compared: Sequence[Versus] = ()) -> list[str]:
    """One table: its figures. More: who leads in ACR, `what_acr_hides`, then the verdicts."""
    if len(sheet.tables) == 1:
        return [_alone(sheet)]
    said = [_leaders(sheet), _hidden(sheet, compared), verdicts.sentence(sheet, compared)]
    return [sentence for sentence in said if sentence]


def _hidden(sheet: Sheet, compared: Sequence[Versus]) -> str:
    """Of the highest ACR and the baseline's, as all methods were judged; of the two highest without a baseline."""
    others = [row for row in _top(sheet.acr) if row != sheet.baseline]
    rows = others[0], others[1] if sheet.baseline is None else sheet.baseline
    first, second = (sheet.tables[row] for row in rows)
    judged = next((one.comparison for one in compared if one.row == rows[0]), None)
    try:
        return what_acr_hides(*metrics.pair(first, second), judged)
    except InputError as reason:
        return f"What ACR hides cannot be said here: {reason}."


def _alone(sheet: Sheet) -> str:
    low, high = sheet.acr.ends(0)
    clean = [f"{c.figure(0)}% at radius {c.title}" for c in sheet.accuracy[:1]]
    return (
        f"{sheet.tables[0].name}: {', '.join([*clean, f'ACR {sheet.acr.figure(0)} ({low} to {high})'])}, "
        f"measured on {len(sheet.tables[0]):,} images."
    )


def _leaders(sheet: Sheet) -> str:
    names = [table.name for table in sheet.tables]
    first = _top(sheet.acr)[0]
    rivals = [row for row in _top(sheet.acr)[1:] if not _ahead(sheet.tables[first], sheet.tables[row])]
    if rivals:
        told = ", ".join(f"{names[row]} {sheet.acr.figure(row)}" for row in (first, *rivals))
        return f"Of {len(names)} tables, none has the highest ACR beyond chance ({told})."
    return f"Of {len(names)} tables, {names[first]} has the highest ACR ({sheet.acr.figure(first)})."


def _ahead(first: Certificates, second: Certificates) -> bool:
    """Whether the first's ACR is the higher one beyond chance, on the images that both have."""
    try:
        ours, theirs = metrics.pair(first, second)
    except InputError:
        return False
    gain = ours.radius * ours.correct - theirs.radius * theirs.correct
    if len(gain) >= MANY and gain.mean() > PLAIN * np.std(gain) / np.sqrt(len(gain)):
        return True
    return metrics.acr_difference(ours, theirs).low > 0.0


def _top(column: Ranked) -> list[int]:
    """Rows from the highest value down."""
    return sorted(range(len(column.estimates)), key=lambda row: -column.estimates[row].value)
