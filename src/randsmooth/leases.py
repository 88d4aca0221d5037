"""Locks that several machines respect: their owner gives signs of life in a file, since system locks may not reach.

Nobody compares clocks: who wants a lock that another machine has watches, for as long as a lease lasts by its own
monotonic clock, whether the file changes.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

from randsmooth.errors import InputError, Note

BEAT = 5.0  # seconds between two signs of life
LEASE = 60.0  # seconds without one after which an owner on another machine counts as dead
ALWAYS = "RANDSMOOTH_LOCKS"  # environment variable: "lease" where a file system is shared although it does not look so

SHORTEST, MOST_BYTES = 1023, 4096  # bytes of the file of an owner

# File systems of one machine, whose locks all of its processes see.
LOCAL = {
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "reiserfs", "tmpfs", "ramfs", "rootfs"),
    *("overlay", "aufs", "ntfs", "ntfs3", "vfat", "exfat", "fuseblk", "apfs", "hfs"),
}
MOUNTS, BOOT = Path("/proc/self/mountinfo"), Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Owner:
    """Who holds a lock.

    Attributes:
        host: name of the machine, for people.
        system: what is the same for all processes that see each other's numbers, and for no others.
        pid, started: the process and, since numbers are used again, when it began by the system's own count.
        token: of this hold alone.
        beat: signs of life so far.
    """

    host: str
    system: str
    pid: int
    started: str
    token: str
    beat: int = 0

    @classmethod
    def this_process(cls) -> Owner:
        return cls(socket.gethostname(), this_system(), os.getpid(), began(os.getpid()), uuid4().hex)

    @classmethod
    def read(cls, content: bytes) -> Owner | None:
        """The owner that a file names; None where it is cut short or of another kind."""
        try:
            found = cls(**json.loads(content))
        except (ValueError, TypeError, RecursionError):
            return None
        texts = (found.host, found.system, found.started, found.token)
        numbers = (found.pid, found.beat)
        sound = all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
        return found if sound else None

    def to_bytes(self) -> bytes:
        """Always of one length, so that a sign of life never cuts the file short."""
        return json.dumps(asdict(self)).encode().ljust(SHORTEST) + b"\n"

    @property
    def runs_here(self) -> bool:
        """Whether it is a process of this system that is alive."""
        return self.system == this_system() and bool(self.started) and began(self.pid) == self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def this_system() -> str:
    """The running kernel and the process numbers that are seen in it: others after a restart, and in a container."""
    try:
        return f"{BOOT.read_text().strip()} {Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # no Linux
        return socket.gethostname()


def began(pid: int) -> str:
    """When a process of this system began; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def is_shared(path: Path) -> bool:
    """Whether other machines may write below `path`: where its file system is not known to be of one machine alone."""
    if os.environ.get(ALWAYS) == "lease":
        return True
    try:
        lines = MOUNTS.read_text().splitlines()
    except OSError:  # no Linux: nothing is known, and locks of the system are all there is
        return False
    there, kind = path.absolute(), ""
    longest = -1
    for line in lines:
        place, _, after = line.partition(" - ")
        mount = Path(place.split()[4].encode().decode("unicode_escape"))
        if there.is_relative_to(mount) and len(mount.parts) >= longest:
            longest, kind = len(mount.parts), after.split()[0]
    return bool(kind) and kind not in LOCAL


class Lease:
    """A lock that this process holds, and gives signs of life for until it is released."""

    def __init__(self, file: Path, owner: Owner, output: Path | str) -> None:
        self._file, self._owner, self._output = file, owner, output
        self._end = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True, name=f"signs of life for {output}")
        self._beating.start()

    def check(self) -> None:
        """Raise InputError where another run has taken the lock, since this process was silent for too long."""
        found = Owner.read(_content(self._file) or b"")
        if found is None or found.token != self._owner.token:
            by = "removed" if found is None else f"taken by {found}"
            raise InputError(
                f"the lock of {self._output} was {by}, since this run gave no sign of life for {LEASE:g} s: what is "
                "finished is kept; run one of them"
            )

    def release(self) -> None:
        self._end.set()
        self._beating.join()
        with suppress(OSError, InputError):  # who has it now keeps it
            self.check()
            self._file.unlink()

    def _beat(self) -> None:
        while not self._end.wait(BEAT):
            with suppress(OSError, InputError):  # of a disk that is away for a while; a taken lock is found by check()
                self.check()
                self._owner = replace(self._owner, beat=self._owner.beat + 1)
                _write(self._file, self._owner.to_bytes(), os.O_WRONLY)


@contextmanager
def leased(path: Path, output: Path | str, *, alone_here: bool) -> Iterator[Lease]:
    """Hold the lock of `path` against all machines.

    A lock whose owner died is taken over: at once if it ran on this system, else after it has given no sign of life for
    LEASE seconds.

    Args:
        path: what is locked; the file `.NAME.owner` beside it says by whom.
        output: the path that errors name.
        alone_here: whether a lock of the system, which this process holds, keeps all others of this system out.

    Raises:
        InputError: another process holds it.
    """
    file, owner = path.with_name(f".{path.name}.owner"), Owner.this_process()
    while not _created(file, owner):
        _wait_for_its_end(file, output, alone_here=alone_here)
    lease = Lease(file, owner, output)
    try:
        yield lease
    finally:
        lease.release()


def owner_of(path: Path) -> Owner | None:
    """Who holds the lock of `path`, as far as its file says."""
    return Owner.read(_content(path.with_name(f".{path.name}.owner")) or b"")


def _wait_for_its_end(file: Path, output: Path | str, *, alone_here: bool) -> None:
    """Remove the file of an owner that is dead. Raises InputError if it is alive."""
    content = _content(file)
    if content is None:
        return
    owner = Owner.read(content)
    if owner is not None and owner.system == this_system():
        if not alone_here and owner.runs_here:
            raise _taken(output, owner, "it is running")
    elif _changes(file, content, output, owner):
        raise _taken(output, owner, "its last sign of life came just now")
    _remove(file, content)


def _changes(file: Path, content: bytes, output: Path | str, owner: Owner | None) -> bool:
    """Whether the file changes within LEASE seconds."""
    warnings.warn(
        f"{output} is locked by {owner or 'another process'}, whose last sign of life came {_age(file)} ago: waiting "
        f"up to {LEASE:g} s for another",
        Note,
        2,
    )
    deadline = time.monotonic() + LEASE
    while time.monotonic() < deadline:
        time.sleep(BEAT / 5)
        now = _content(file)
        if now != content:
            return now is not None
    warnings.warn(f"{owner or 'the other process'} gave no sign of life for {LEASE:g} s: taking over {output}", Note, 2)
    return False


def _age(file: Path) -> str:
    """How long ago the file was written, by the clock of the machine that stores it, which stamps a new file too."""
    probe = file.with_name(f"{file.name}.{uuid4().hex}")
    try:
        probe.touch()
        seconds = probe.stat().st_mtime - file.stat().st_mtime
    except OSError:
        return "some time"
    finally:
        probe.unlink(missing_ok=True)
    return f"{max(0.0, seconds):.0f} s"


def _taken(output: Path | str, owner: Owner | None, alive: str) -> InputError:
    return InputError(
        f"another run is writing {output}: {owner or 'a process'} ({alive}); wait for it or use another --out"
    )


def _created(file: Path, owner: Owner) -> bool:
    """Whether the file was not there, and now is with `owner` in it."""
    try:
        _write(file, owner.to_bytes(), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    return True


def _write(file: Path, content: bytes, flags: int) -> None:
    """Write to the file where it lies, and close it, upon which other machines see it."""
    descriptor = os.open(file, flags, 0o666)
    try:
        os.write(descriptor, content)
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _content(file: Path) -> bytes | None:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES)
    except FileNotFoundError:
        return None


def _remove(file: Path, content: bytes) -> None:
    """Remove the file of a dead owner, unless another waiting process was faster and it is somebody else's now."""
    aside = file.with_name(f"{file.name}.{uuid4().hex}")
    try:
        file.rename(aside)  # only one process can
    except FileNotFoundError:
        return
    try:
        if _content(aside) != content:
            with suppress(FileExistsError):
                os.link(aside, file)
    finally:
        aside.unlink(missing_ok=True)
