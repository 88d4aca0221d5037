"""Files that are written whole or not at all, outputs that one process writes at a time, and the cache folder."""

import glob
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import SoftFileLease, Timeout
from platformdirs import user_cache_dir

from randsmooth.errors import OUT, BadValue, Busy

CACHE = "RANDSMOOTH_CACHE"  # environment variable: the cache folder, instead of the user's own
BEAT, LEASE = (
    5.0,
    60.0,
)  # seconds between two signs of life; and without one, after which an owner counts as dead


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
            with opened_anew(temporary) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):  # the first error is the one to report
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def opened_anew(path: Path) -> BinaryIO:
    """A new file at `path`, to be written, in place of what is there: a link is removed, and not followed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with opened_anew(Path(folder) / "a.txt") as file:
        ...         file.write(b"whole")
        5
    """
    path.unlink(missing_ok=True)
    return path.open("xb")


def make_folder(folder: Path) -> None:
    """Make `folder`, and those above it, unless they are there. Problem, with the reason, where it cannot be made.

    Example:
        >>> make_folder(Path(__file__) / "runs")
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: the folder .../atomic.py/runs cannot be made (...): choose another place
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue(
            f"the folder {folder} cannot be made ({error.strerror}): choose another place"
        ) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError name `path`: a failed write names no file, and a temporary file's name would help nobody."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # the system's own
            error.filename = str(path)
            del error.filename2  # None would be told as "-> None"
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk: without its name even a synced file is lost."""
    with suppress(
        OSError
    ):  # Windows opens no folders, and some file systems over a network have no such call
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def claimed(
    out: Path, *, output: Path | str | None = None, kind: str = "lock"
) -> Iterator[Callable[[], None]]:
    """Lock `out`, a file or folder to be written, whether it exists or not, and remove what a killed run left of it.

    The lock is the file `.NAME.KIND` beside `out`, on whatever file system that is. It ends with this process, which
    other processes of this machine see at once. To those of other machines its owner gives signs of life, and one who
    gave none for LEASE seconds has lost it. What is given raises Problem if that happened to this process.

    Args:
        out: what is to be written.
        output: what an error names; default: `out`.
        kind: of the lock; those of several kinds do not exclude each other.

    Raises:
        Busy: another run is writing it.
        Problem: the folder that it is to lie in cannot be made.
        OSError: no lock can be made beside it.
    """
    path, named = out.absolute(), output or out
    lock = SoftFileLease(
        path.with_name(f".{path.name}.{kind}"),
        lease_duration=LEASE,
        heartbeat_interval=BEAT,
    )
    make_folder(out.parent)
    with naming(out):
        _acquire(lock, named)

    def check() -> None:
        if lock.compromise is not None:
            raise Busy(
                f"the lock of {named} was lost, since this run gave no sign of life for {LEASE:g} s: what is finished "
                "is kept; run the same command again once no other does"
            )

    try:
        sweep(path)
        yield check
    finally:
        lock.release()


def _acquire(lock: SoftFileLease, named: Path | str) -> None:
    """Take the lock of whoever is dead. Busy where its owner lives on this machine, or gives a sign of life."""
    seen, begun = _state(lock.lock_file), time.monotonic()

    def is_alive() -> (
        bool
    ):  # asked after an attempt failed, as it does not where the owner is dead on this machine
        if (
            (now := _state(lock.lock_file)) == seen
            and not seen[1]
            and time.monotonic() - begun > BEAT
        ):
            lock.break_lock()  # of one who was killed after making the file and before writing into it who it is
        return now != seen or (
            (owner := lock.owner) is not None and owner.hostname == socket.gethostname()
        )

    try:
        lock.acquire(timeout=2 * LEASE, poll_interval=BEAT / 5, cancel_check=is_alive)
    except Timeout:
        raise Busy(
            f"another run is writing {named}",
            fix=("wait for it or give another ", OUT),
            file=named,
        ) from None


def _state(file: str) -> tuple[float, int]:
    """When the file was written, by the clock of the machine that stores it, and its bytes; zeros for none."""
    with suppress(OSError):
        return (found := Path(file).stat()).st_mtime, found.st_size
    return 0.0, 0


def sweep(path: Path) -> None:
    """Remove the temporary files that killed writes and locks of `path` left. For the process that has locked it."""
    for ending in (
        ".tmp",
        ".break.*",
    ):  # the second is of filelock, where it took over a lock
        for scrap in path.parent.glob(f".{glob.escape(path.name)}.*{ending}"):
            scrap.unlink(missing_ok=True)


def is_scrap(path: Path) -> bool:
    """Whether `path` is a temporary file that a killed `write_atomically` left."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def cache_folder(name: str) -> Path:
    """Where randsmooth keeps what it can fetch again, or must still send elsewhere; it may not be there yet.

    Example:
        >>> cache_folder("copies").name
        'copies'
    """
    return Path(os.environ.get(CACHE) or user_cache_dir("randsmooth")) / name
