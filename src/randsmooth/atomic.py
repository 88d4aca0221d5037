"""Files that are either whole or not there, and outputs that one process holds at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from randsmooth.errors import InputError


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a crash leaves either the old file or the new one, never a part.

    On return file and name are on the disk: a power failure takes neither, as far as the disk keeps its word.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk: a file that was synced is lost if its name is not."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that has no such call (some of those over a network)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold `path`, a file or a folder, against other processes; a kill lets go of it.

    Raises:
        InputError: another run holds it.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another run is writing {path}; wait for it or use another --out") from None
        yield
    finally:
        os.close(descriptor)


def is_scrap(path: Path) -> bool:
    """Whether `path` is what a kill left of an unfinished `write_atomically`."""
    return path.name.startswith(".") and path.name.endswith(".tmp")
