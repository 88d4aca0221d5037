"""Files that are written whole or not at all, and outputs that one process writes at a time."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from randsmooth.errors import InputError
from randsmooth.leases import is_shared, leased, owner_of


class InUse(InputError):
    """Another process holds what this one would write."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a crash leaves either the old file or the new one, never a part.

    The file and its name are synced before this returns, so that they survive a power failure if the disk keeps what
    it reports as synced. Missing folders are made.

    Raises:
        OSError: the file could not be written; the error names `path`, the old file is unchanged, and no temporary
            file is left.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "new" / "a.txt", b"whole")
        ...     (Path(folder) / "new" / "a.txt").read_bytes()
        b'whole'
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
            with suppress(OSError):  # the first error is the one to report
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError name `path`: a failed write names no file, and a temporary file's name would help nobody."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # the system's own
            error.filename, error.filename2 = str(path), None
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk: without its name even a synced file is lost."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that has no such call (some of those over a network)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


# What says that a file system has no locks: some of those over a network.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@contextmanager
def held(path: Path, *, make: bool = False, output: Path | str | None = None) -> Iterator[Callable[[], None]]:
    """Lock `path`, a file or a folder, against other processes of randsmooth; the lock ends with this process.

    On a file system that other machines may share, they are kept out by signs of life (see `leases`). Then the lock can
    be lost, to a run that found this process silent; what is given raises InputError if it was.

    Args:
        path: what is locked.
        make: create an empty file at `path` where there is none.
        output: the path that an error names; default: `path`.

    Raises:
        InputError: another run holds the lock.
        OSError: `path` does not exist, or cannot be created.
    """
    flags = os.O_RDONLY | (os.O_CREAT if make else 0)
    descriptor, locked = _locked(path, flags, output or path)
    while not _is_at(descriptor, path):  # another run removed the file and ended meanwhile: lock the new one
        os.close(descriptor)
        descriptor, locked = _locked(path, flags, output or path)
    try:
        if locked and not is_shared(path):
            yield lambda: None
        else:
            with leased(path, output or path, alone_here=locked) as lease:
                yield lease.check
    finally:
        os.close(descriptor)


@contextmanager
def claimed(out: Path, *, output: Path | str | None = None, kind: str = "lock") -> Iterator[None]:
    """Lock `out`, a file to be written, whether it exists or not, and remove what a killed run left unfinished.

    Args:
        out: the file.
        output: what an error names; default: `out`.
        kind: of the lock; those of several kinds do not exclude each other.

    Raises:
        InputError: another run is writing it.
    """
    lock = out.with_name(f".{out.name}.{kind}")
    with naming(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with held(lock, make=True, output=output or out):
        try:
            sweep(out)
            yield
        finally:
            lock.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove the temporary files that killed writes of `path` left. For the process that has locked it."""
    for scrap in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        scrap.unlink(missing_ok=True)


def _locked(path: Path, flags: int, output: Path | str) -> tuple[int, bool]:
    """A descriptor of `path`, and whether it holds its lock: a file system may have none.

    Raises InputError where another process has the lock.
    """
    descriptor = os.open(path, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return descriptor, False
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            owner = owner_of(path)
            by = f" ({owner})" if owner else ""
            raise InUse(f"another run is writing {output}{by}; wait for it or use another --out") from None
        raise
    return descriptor, True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that `path` names now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def is_scrap(path: Path) -> bool:
    """Whether `path` is a temporary file that a killed `write_atomically` left."""
    return path.name.startswith(".") and path.name.endswith(".tmp")
