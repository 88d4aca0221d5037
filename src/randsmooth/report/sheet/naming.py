"""What tables are called side by side: printable, of a length to read, and never two the same."""

from __future__ import annotations

from collections.abc import Sequence

from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.escape import printable, shortened


def class_name(tables: Sequence[Certificates], label: int) -> str:
    """The name that a header gives to `label`; `class 3` without one, or where it is empty or a mere number."""
    named = [t.header.classes for t in tables if t.header.classes and label < len(t.header.classes)]
    name = shortened(printable(named[0][label])) if named and named[0] else str(label)
    if not name.strip():
        return f"class {label}"
    return f"class {name}" if name.isdigit() else name


def distinct(tables: Sequence[Certificates]) -> list[Certificates]:
    """The tables under printable names; the second of a name becomes `name (2)`, an empty one `table 3`.

    Raises:
        InputError: there is no table.
    """
    if not tables:
        raise InputError("there is no certificate table to report on; give at least one file")
    taken: set[str] = set()
    named = []
    for place, table in enumerate(tables, start=1):
        name = _free(shortened(printable(table.name).strip()) or f"table {place}", taken)
        taken.add(name)
        named.append(table.renamed(name))
    return named


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
