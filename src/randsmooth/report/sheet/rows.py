"""The tables as rows of a sheet: under distinct names, fit to be reported on, and one of them the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from randsmooth import errors
from randsmooth.certificates import NO_LABEL, Certificates, name_images, require_reachable
from randsmooth.errors import InputError
from randsmooth.escape import printable, shortened

BASELINE_METHOD = "gaussian"


def with_distinct_names(tables: Sequence[Certificates]) -> list[Certificates]:
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


def require_sound(tables: Sequence[Certificates]) -> None:
    """Check that each table can be reported on.

    Raises:
        InputError: a table has no image, two rows for one image, or radii that its sigma, n and alpha cannot certify.
    """
    for table in tables:
        if len(table) == 0:
            raise InputError(
                f"{table.name} holds no image, so there is nothing to report; certify some, or leave it out"
            )
        _require_one_row_per_image(table)
        require_reachable(table)


def _require_one_row_per_image(table: Certificates) -> None:
    images, rows = np.unique(table.idx, return_counts=True)
    repeated = images[rows > 1]
    if len(repeated):
        raise InputError(f"{table.name} has more than one row for {name_images(repeated)}; keep one row an image")


def find_baseline(tables: Sequence[Certificates], name: str | None = None) -> int | None:
    """The row of the table that the others are compared with; None if it is not clear which one that is.

    Without a `name` it is the only table whose header says that the method is gaussian, else the only one named
    gaussian, else the only one whose name contains the word. Where two tables qualify, neither is taken: a guess
    would mark the wrong figures.

    Raises:
        InputError: no table is called `name`.
    """
    names = [table.name for table in tables]
    if name is not None:
        if name not in names:
            raise errors.unknown("baseline", name, names)
        return names.index(name)
    by_method = [(table.header.model or {}).get("method") == BASELINE_METHOD for table in tables]
    by_name = [given.lower() == BASELINE_METHOD for given in names]
    by_part = [BASELINE_METHOD in given.lower() for given in names]
    for fits in (by_method, by_name, by_part):
        if any(fits):
            return fits.index(True) if sum(fits) == 1 else None
    return None


def class_names(tables: Sequence[Certificates]) -> dict[int, str]:
    """The name of each label that occurs in a table, in ascending order of the labels."""
    labels = np.unique(np.concatenate([table.label for table in tables]))
    return {int(label): _class_name(tables, int(label)) for label in labels if label != NO_LABEL}


def _class_name(tables: Sequence[Certificates], label: int) -> str:
    """What the first header with class names calls it; `class 3` without one, or where that is empty or a number."""
    named = [t.header.classes for t in tables if t.header.classes and label < len(t.header.classes)]
    name = shortened(printable(named[0][label])) if named and named[0] else str(label)
    if not name.strip():
        return f"class {label}"
    return f"class {name}" if name.isdigit() else name
