"""Which table the others are measured against: the Gaussian-trained one, unless the reader names another."""

from __future__ import annotations

from collections.abc import Sequence

from randsmooth import errors
from randsmooth.certificates import Certificates

METHOD = "gaussian"


def find(tables: Sequence[Certificates], name: str | None = None) -> int | None:
    """Place of the baseline among `tables`; None when no single one offers itself.

    Without a `name`: the one whose header says method gaussian, else the one named gaussian, else the one
    whose name contains it. Two of a kind are none: a guess would grey the wrong cells.

    Raises:
        InputError: no table is called `name`.
    """
    names = [table.name for table in tables]
    if name is not None:
        if name not in names:
            raise errors.unknown("baseline", name, names)
        return names.index(name)
    by_method = [(table.header.model or {}).get("method") == METHOD for table in tables]
    by_name = [given.lower() == METHOD for given in names]
    by_part = [METHOD in given.lower() for given in names]
    for fits in (by_method, by_name, by_part):
        if any(fits):
            return fits.index(True) if sum(fits) == 1 else None
    return None
