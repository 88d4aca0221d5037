"""Locks that other machines respect: a dead owner is recognised, a living one left alone, and no clock matters."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from randsmooth import atomic, leases
from randsmooth.atomic import held
from randsmooth.errors import InputError
from randsmooth.leases import Owner, is_shared, owner_of

# A process as it would run on another machine: this one's locks do not reach it, nor does it know this one's processes.
ELSEWHERE = """
import fcntl, socket, sys, time
from pathlib import Path
from randsmooth import leases
from randsmooth.atomic import held
fcntl.flock = lambda *args: None
leases.this_system, socket.gethostname = lambda: "another kernel", lambda: "node7"
leases.BEAT, leases.LEASE = 0.1, 1.0
behind = float(sys.argv[2])
clock = time.time
time.time = lambda: clock() - behind
with held(Path(sys.argv[1]), make=True) as check:
    print("held", flush=True)
    sys.stdin.readline()
    check()
"""


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file system counts as one that several machines share, and leases are short."""
    monkeypatch.setenv(leases.ALWAYS, "lease")
    monkeypatch.setattr(leases, "BEAT", 0.1)
    monkeypatch.setattr(leases, "LEASE", 1.0)
    warnings.simplefilter("ignore")


@contextmanager
def elsewhere(path: Path, behind: float = 0.0) -> Iterator[subprocess.Popen[str]]:
    """A process on another machine that holds the lock; its clock is `behind` seconds late."""
    words = [sys.executable, "-c", ELSEWHERE, str(path), str(behind)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def written(path: Path, owner: Owner) -> None:
    path.with_name(f".{path.name}.owner").write_bytes(owner.to_bytes())


def other(system: str = "another kernel", pid: int = 77, started: str = "123") -> Owner:
    return Owner("node7", system, pid, started, "token")


def test_the_lock_names_its_owner_and_leaves_nothing(tmp_path: Path) -> None:
    with held(tmp_path / "a", make=True) as check:
        owner = owner_of(tmp_path / "a")
        assert owner is not None and (owner.pid, owner.runs_here) == (os.getpid(), True)
        time.sleep(0.5)
        beaten = owner_of(tmp_path / "a")
        assert beaten is not None and beaten.beat > owner.beat
        check()
        with pytest.raises(InputError, match=rf"another run is writing .*a \(process {os.getpid()} on "):
            held(tmp_path / "a").__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_owner_that_died_on_this_system_is_recognised_at_once(tmp_path: Path) -> None:
    written(tmp_path / "a", other(leases.this_system()))
    begun = time.monotonic()
    with held(tmp_path / "a", make=True):
        assert time.monotonic() - begun < leases.LEASE / 2


@pytest.mark.parametrize("living", [True, False])
def test_without_locks_of_the_system_its_process_numbers_tell(
    living: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*args: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    mine = Owner.this_process()
    written(tmp_path / "a", mine if living else other(mine.system, os.getpid(), "1"))  # its number was used again
    if living:
        with pytest.raises(InputError, match=rf"process {os.getpid()} on .* \(it is running\)"):
            held(tmp_path / "a", make=True).__enter__()
    else:
        with held(tmp_path / "a", make=True):
            pass


def test_an_owner_on_another_machine_that_gives_no_sign_is_dead_after_the_lease(tmp_path: Path) -> None:
    written(tmp_path / "a", other())
    begun = time.monotonic()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with held(tmp_path / "a", make=True):
            assert time.monotonic() - begun >= leases.LEASE
    texts = [str(each.message) for each in said]
    assert "is locked by process 77 on node7, whose last sign of life came 0 s ago" in texts[0]
    assert "process 77 on node7 gave no sign of life for 1 s: taking over" in texts[1]


@pytest.mark.parametrize(
    "content", [b'{"host": "no', b"", b"[" * 4000, b"[1]", other().to_bytes().replace(b"77", b'"a"'), b"\xff" * 9000]
)
def test_a_file_that_names_no_owner_is_watched_as_any_other(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".a.owner").write_bytes(content)
    assert owner_of(tmp_path / "a") is None
    begun = time.monotonic()
    with held(tmp_path / "a", make=True):
        assert time.monotonic() - begun >= leases.LEASE


def test_a_run_that_was_silent_for_too_long_learns_that_its_lock_is_gone(tmp_path: Path) -> None:
    with held(tmp_path / "a", make=True) as check:
        written(tmp_path / "a", other())
        with pytest.raises(InputError, match=r"the lock of .*a was taken by process 77 on node7, since this run"):
            check()
    assert owner_of(tmp_path / "a") == other()  # who has it now keeps it


def test_a_lock_that_another_took_first_is_put_back(tmp_path: Path) -> None:
    file = tmp_path / ".a.owner"
    written(tmp_path / "a", other())
    leases._remove(file, b"what a slower process saw")
    assert file.read_bytes() == other().to_bytes()
    leases._remove(file, other().to_bytes())
    assert list(tmp_path.iterdir()) == []


def test_only_file_systems_of_one_machine_go_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(leases.ALWAYS)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:3 / /home rw - nfs4 server:/home rw\n"
        "3 2 0:4 / /home/fast\\040disk rw - xfs /dev/sdb rw\n4 1 0:5 / /data rw - fuse.sshfs server: rw\n"
    )
    monkeypatch.setattr(leases, "MOUNTS", mounts)
    found = {path: is_shared(Path(path)) for path in ("/tmp/a", "/home/me/a", "/home/fast disk/a", "/data/a", "/homes")}
    assert [*found.values()] == [False, True, False, True, False]
    monkeypatch.setattr(leases, "MOUNTS", tmp_path / "none")
    assert not is_shared(Path("/home/me"))
    assert not is_shared(tmp_path) or mounts != leases.MOUNTS


def test_local_locks_leave_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "is_shared", lambda path: False)
    with held(tmp_path / "a", make=True) as check:
        check()
        assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.slow
@pytest.mark.parametrize("behind", [0.0, 86_400.0, -86_400.0])
def test_a_living_owner_elsewhere_keeps_its_lock_whatever_its_clock_says(behind: float, tmp_path: Path) -> None:
    with elsewhere(tmp_path / "a", behind) as process:
        os.utime(tmp_path / ".a.owner", (1e9, 1e9))
        with pytest.raises(InputError, match=r"another run is writing .*a: process \d+ on node7 \(its last sign"):
            held(tmp_path / "a", make=True).__enter__()
        process.communicate("end\n", timeout=60)
        assert process.returncode == 0
    assert not (tmp_path / ".a.owner").exists()


@pytest.mark.slow
def test_a_lock_of_a_node_that_died_is_taken_over(tmp_path: Path) -> None:
    with elsewhere(tmp_path / "a") as process:
        process.kill()
        process.wait()
        assert (tmp_path / ".a.owner").exists()
        with held(tmp_path / "a", make=True):
            owner = owner_of(tmp_path / "a")
            assert owner is not None and owner.runs_here


@pytest.mark.slow
def test_of_many_that_wait_for_a_dead_owner_one_takes_over(tmp_path: Path) -> None:
    written(tmp_path / "a", other("a third kernel"))
    words = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "a"), "0"]
    waiting = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    time.sleep(leases.LEASE)
    deadline = time.monotonic() + 60
    while sum(process.poll() is None for process in waiting) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    said = [process.communicate("end\n", timeout=60) for process in waiting]
    assert sorted(process.returncode for process in waiting) == [0, 1, 1, 1], said
