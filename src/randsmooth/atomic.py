"""Files that are either whole or not there, and outputs that one process holds at a time."""

from __future__ import annotations

import fcntl
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from randsmooth.errors import InputError


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a crash leaves either the old file or the new one, never a part.

    On return file and name are on the disk: a power failure takes neither, as far as the disk keeps its word.

    Raises:
        OSError: it could not be written, and names `path`; the old file is as it was, and nothing else is left.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):  # what went wrong is told, not that it cannot be tidied up either
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an OSError say which file it is about: a write that fails does not, and a temporary name tells nobody."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # the system's own
            error.filename, error.filename2 = str(path), None
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk: a file that was synced is lost if its name is not."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that has no such call (some of those over a network)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def held(path: Path, *, make: bool = False, output: Path | None = None) -> Iterator[None]:
    """Hold `path`, a file or a folder, against other processes; a kill lets go of it.

    Args:
        path: what is locked. make: as an empty file where there is none.
        output: what the user calls it; default: `path`.

    Raises:
        InputError: another run holds it.
        OSError: it is not there, or cannot be made.
    """
    flags = os.O_RDONLY | (os.O_CREAT if make else 0)
    descriptor = _locked(path, flags, output or path)
    while not _is_at(descriptor, path):  # another run removed it and ended between the two calls: take the next one
        os.close(descriptor)
        descriptor = _locked(path, flags, output or path)
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Hold `out`, a file to be written, which may be there or not, and remove what a kill left of an earlier writing.

    Raises:
        InputError: another run is writing it.
    """
    lock = out.with_name(f".{out.name}.lock")
    with naming(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with held(lock, make=True, output=out):
        try:
            sweep(out)
            yield
        finally:
            lock.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove what kills left of unfinished writes of the file `path`. For the process that holds it."""
    for scrap in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        scrap.unlink(missing_ok=True)


def _locked(path: Path, flags: int, output: Path) -> int:
    """A descriptor of `path` that holds it; InputError where another process does."""
    descriptor = os.open(path, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise InputError(f"another run is writing {output}; wait for it or use another --out") from None
        raise
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that `path` names now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def is_scrap(path: Path) -> bool:
    """Whether `path` is what a kill left of an unfinished `write_atomically`."""
    return path.name.startswith(".") and path.name.endswith(".tmp")
