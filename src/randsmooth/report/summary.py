"""The first lines of the page: who leads where, and what ACR hides about the pair that matters."""

from __future__ import annotations

from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.report.sentence import what_acr_hides
from randsmooth.report.sheet import Column, Sheet


def sentences(sheet: Sheet) -> list[str]:
    """One table: its figures. More: who leads in ACR and at how many radii, then `what_acr_hides`."""
    if len(sheet.tables) == 1:
        return [_alone(sheet)]
    said = [_leaders(sheet)]
    first, second = _pair(sheet)
    try:
        hidden = what_acr_hides(first, second)
    except InputError as reason:
        return [*said, f"What ACR hides cannot be said here: {reason}."]
    return [*said, hidden]


def _alone(sheet: Sheet) -> str:
    low, high = sheet.acr.ends(0)
    clean = [f"{c.figure(0)}% at radius {c.title}" for c in sheet.accuracy[:1]]
    return (
        f"{sheet.tables[0].name}: {', '.join([*clean, f'ACR {sheet.acr.figure(0)} ({low} to {high})'])}, "
        f"measured on {len(sheet.tables[0]):,} images."
    )


def _leaders(sheet: Sheet) -> str:
    names = [table.name for table in sheet.tables]
    best = " and ".join(name for name, mark in zip(names, sheet.acr.marks, strict=True) if mark.best)
    have = "have" if sum(mark.best for mark in sheet.acr.marks) > 1 else "has"
    figure = sheet.acr.figure(_top(sheet.acr)[0])
    return f"Of {len(names)} tables, {best} {have} the highest ACR ({figure}){_radii_led(sheet, names)}."


def _radii_led(sheet: Sheet, names: list[str]) -> str:
    led = [sum(column.marks[row].best for column in sheet.accuracy) for row in range(len(names))]
    order = sorted((row for row in range(len(names)) if led[row]), key=lambda row: -led[row])
    if not order:
        return ""
    total = len(sheet.accuracy)
    ties = ", ties counted for each" if sum(led) > total else ""
    shares = ", ".join(f"{names[row]} at {led[row]}" for row in order)
    return f"; certified accuracy is highest under {shares} of {total} radii{ties}"


def _top(column: Column) -> list[int]:
    """Rows from the highest value down."""
    return sorted(range(len(column.estimates)), key=lambda row: -column.estimates[row].value)


def _pair(sheet: Sheet) -> tuple[Certificates, Certificates]:
    """The highest ACR but the baseline's, and the baseline; the two highest where there is no baseline."""
    order = _top(sheet.acr)
    if sheet.baseline is not None:
        order = [row for row in order if row != sheet.baseline] + [sheet.baseline]
        return sheet.tables[order[0]], sheet.tables[order[-1]]
    return sheet.tables[order[0]], sheet.tables[order[1]]
