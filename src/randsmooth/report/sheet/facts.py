"""What was compared and how: the facts in the headers, those in common once, the others side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from randsmooth.escape import LONG, printable, shortened
from randsmooth.report.sheet.content import Sheet

UNKNOWN = "not recorded"
TEXT = 400  # characters of one text: a guarantee has fewer
FACTS = {
    "dataset": "data set",
    "split": "split",
    "selection": "selection of images",
    "sigma": "noise, sigma (pixels in [0, 1])",
    "n0": "samples to pick the class, n0",
    "n": "samples to bound p_A, n",
    "alpha": "failure probability, alpha",
    "rule": "rule",
    "bound": "bound of the fixed rule",
    "guarantee": "guarantee",
    "label_aware": "samples stop where the label is missed (evaluation only)",
    "seed": "seed",
    "sound": "noisy images rounded to k/255 exactly",
    "noise": "noise stream",
    "backend": "backend",
    "precision": "precision",
    "batch": "batch",
    "device": "device",
    "instructions": "instructions of the processor",
    "versions": "versions",
    "notes": "notes",
}


@dataclass(frozen=True)
class Provenance:
    """Facts shared as (what, value), differing as (what, one value a table), and those nobody records."""

    shared: list[tuple[str, str]]
    differing: list[tuple[str, list[str]]]
    unknown: list[str]


def facts(sheet: Sheet) -> Provenance:
    """The facts of all tables' headers, each printed."""
    columns = [_facts(sheet, row) for row in range(len(sheet.tables))]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [(key, [column.get(key, UNKNOWN) for column in columns]) for key in keys]
    alike = [(key, values[0]) for key, values in rows if len(set(values)) == 1]
    return Provenance(
        shared=[(key, value) for key, value in alike if value != UNKNOWN],
        differing=[(key, values) for key, values in rows if len(set(values)) > 1],
        unknown=[key for key, value in alike if value == UNKNOWN],
    )


def _facts(sheet: Sheet, row: int) -> dict[str, str]:
    table = sheet.tables[row]
    known = {"images": f"{len(table):,}"}
    known |= {label: show(getattr(table.header, field)) for field, label in FACTS.items()}
    if not table.header.model:
        return known | {"model": UNKNOWN}
    return known | {f"model: {shortened(printable(str(key)))}": show(v) for key, v in table.header.model.items()}


def show(value: Any) -> str:
    """A header's value as text: no raw floats, nested values flattened, nothing left empty, none too long to read."""
    return shortened(_told(value), LONG)


def _told(value: Any) -> str:
    if value is None or value in ("", (), [], {}):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):  # of settings: None is one of them
        return ", ".join(f"{printable(str(k))} {'none' if v is None else _told(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_told(inner) for inner in value)
    return shortened(printable(str(value)), TEXT)
