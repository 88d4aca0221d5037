"""The files that a verb writes: not over others without --overwrite, and by one run at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from randsmooth.atomic import claimed, sweep
from randsmooth.errors import InputError


@contextmanager
def writing(paths: Sequence[Path], *, overwrite: bool) -> Iterator[None]:
    """Be the one run that writes `paths`, of which the first stands for all of them.

    Raises:
        InputError: another run is writing them, or without `overwrite` one of them exists.
    """
    if not overwrite:
        refuse_existing(paths)
    with claimed(paths[0]):
        if not overwrite:  # another run may have ended since
            refuse_existing(paths)
        for path in paths:
            sweep(path)
        yield


def refuse_existing(paths: Sequence[Path]) -> None:
    """Raise InputError when one of `paths` exists."""
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists; use --overwrite or another --out")
