"""Files that are written whole or not at all, and outputs that one process writes at a time.

And the cache folder.
"""

import glob
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from filelock import SoftFileLease, Timeout
from platformdirs import user_cache_dir

from randsmooth.errors import OUT, BadValue, Busy

# The environment variable that names the cache folder, instead of the user's own.
CACHE = "RANDSMOOTH_CACHE"

# The seconds between two signs of life of a lock's owner, and those without one after which
# it counts as dead.
BEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a crash leaves the old file or the new one.

    The file and its name are synced before this returns, so that they survive a power
    failure if the disk keeps what it reports as synced. Missing folders are made.

    Raises:
        OSError: the file could not be written; the error names `path`, the old file is
            unchanged, and no temporary file is left.

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
            # The first error is the one to report.
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def opened_anew(path: Path) -> BinaryIO:
    """Return a new file at `path`, to be written, in place of what is there.

    A link is removed, and not followed.

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
    """Make `folder`, and those above it, unless they are there.

    Raises:
        BadValue: it cannot be made; the message gives the reason.

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
            f"the folder {folder} cannot be made ({error.strerror}): choose another "
            "place"
        ) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError name `path`.

    A failed write names no file, and a temporary file's name would help nobody.
    """
    try:
        yield
    except OSError as error:
        is_of_the_system = error.errno is not None
        if is_of_the_system:
            error.filename = str(path)
            # None would be told as "-> None".
            del error.filename2
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk.

    Without its name even a synced file is lost.
    """
    # Windows opens no folders, and some file systems over a network have no such call.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def claimed(
    out: Path, *, output: Path | str | None = None, kind: str = "lock"
) -> Iterator[Callable[[], None]]:
    """Lock `out`, a file or folder to be written, whether it exists or not.

    What a killed run left of it is removed. The lock is the file `.NAME.KIND` beside `out`,
    on whatever file system that is. It ends with this process, which other processes of
    this machine see at once. To those of other machines its owner gives signs of life, and
    one who gave none for LEASE_SECONDS has lost it. The function that is given raises Busy
    if that happened to this process.

    Args:
        out: what is to be written.
        output: what an error names; default: `out`.
        kind: of the lock; those of several kinds do not exclude each other.

    Raises:
        Busy: another run is writing it.
        BadValue: the folder that it is to lie in cannot be made.
        OSError: no lock can be made beside it.
    """
    path = out.absolute()
    name = output or out
    lock = SoftFileLease(
        path.with_name(f".{path.name}.{kind}"),
        lease_duration=LEASE_SECONDS,
        heartbeat_interval=BEAT_SECONDS,
    )
    make_folder(out.parent)
    with naming(out):
        _acquire(lock, name)

    def check() -> None:
        if lock.compromise is not None:
            raise Busy(
                f"this run lost its lock of {name}: it gave no sign of life for "
                f"{LEASE_SECONDS:g} s. Finished work is kept. Run the same command "
                "again once no other run writes there"
            )

    try:
        sweep(path)
        yield check
    finally:
        lock.release()


def _acquire(lock: SoftFileLease, name: Path | str) -> None:
    """Take the lock, also from an owner who is dead.

    Raises:
        Busy: its owner lives on this machine, or gives a sign of life.
    """
    state_at_first = _state(lock.lock_file)
    start = time.monotonic()

    # It is asked after an attempt failed, which does not fail where the owner is dead on
    # this machine.
    def is_alive() -> bool:
        state = _state(lock.lock_file)
        if state != state_at_first:
            return True
        if state.size == 0 and time.monotonic() - start > BEAT_SECONDS:
            # Its owner was killed after making the file and before writing into it who it
            # is.
            lock.break_lock()
        owner = lock.owner
        return owner is not None and owner.hostname == socket.gethostname()

    try:
        lock.acquire(
            timeout=2 * LEASE_SECONDS,
            poll_interval=BEAT_SECONDS / 5,
            cancel_check=is_alive,
        )
    except Timeout:
        raise Busy(
            f"another run is writing {name}",
            fix=("wait for it or give another ", OUT),
            file=name,
        ) from None


class _State(NamedTuple):
    """What the file of a lock looks like.

    Attributes:
        modified: when it was written, by the clock of the machine that stores it.
        size: in bytes; zero for none.
    """

    modified: float
    size: int


def _state(file: str) -> _State:
    """Return what the file of a lock looks like."""
    try:
        facts = Path(file).stat()
    except OSError:
        return _State(0.0, 0)
    return _State(facts.st_mtime, facts.st_size)


def sweep(path: Path) -> None:
    """Remove the temporary files that killed writes and locks of `path` left.

    It is for the process that has locked it.
    """
    # The second is of filelock, where it took over a lock.
    for ending in (".tmp", ".break.*"):
        for scrap in path.parent.glob(f".{glob.escape(path.name)}.*{ending}"):
            scrap.unlink(missing_ok=True)


def is_scrap(path: Path) -> bool:
    """Return whether `path` is a temporary file that a killed `write_atomically` left."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def cache_folder(name: str) -> Path:
    """Return the folder for what can be fetched again, or must still be sent elsewhere.

    It may not be there yet.

    Example:
        >>> cache_folder("copies").name
        'copies'
    """
    return Path(os.environ.get(CACHE) or user_cache_dir("randsmooth")) / name
