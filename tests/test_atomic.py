"""Files that are whole or not there, what is left when they cannot be written, and outputs of one process at a time."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import values
from randsmooth import atomic
from randsmooth.atomic import claimed, write_atomically
from randsmooth.errors import OUT, BadValue, Busy, Problem

# A process that holds the lock of a path until its stdin ends; on another machine if it is given a name.
HOLDER = """
import socket, sys
from pathlib import Path
from randsmooth import atomic
if sys.argv[2]: socket.gethostname = lambda: sys.argv[2]
atomic.BEAT_SECONDS, atomic.LEASE_SECONDS = 0.1, 1.0
with atomic.claimed(Path(sys.argv[1])) as check:
    print("held", flush=True)
    sys.stdin.readline()
    check()
"""


def holder(path: Path, host: str = "") -> subprocess.Popen[str]:
    words = [sys.executable, "-c", HOLDER, str(path), host]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life ten times a second, and an owner that counts as dead after one without."""
    monkeypatch.setattr(atomic, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(atomic, "LEASE_SECONDS", 1.0)


def test_a_write_that_fails_leaves_the_old_file_alone_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch, pytest.raises(OSError) as refused:
            patch.setattr(os, call, full)
            write_atomically(tmp_path / "a.txt", b"new")
        assert (refused.value.errno, refused.value.filename) == (
            errno.ENOSPC,
            str(tmp_path / "a.txt"),
        ), call
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"], call
        assert (tmp_path / "a.txt").read_text() == "old", call


def test_a_claimed_output_has_one_writer_and_none_of_the_scrap_of_a_killed_one(
    tmp_path: Path,
) -> None:
    out = tmp_path / "new" / "page[1].html"
    with claimed(out) as check:
        check()
        scrap = [out.with_name(f".{name}.77.tmp") for name in (out.name, "page1.html")]
        for path in scrap:
            path.touch()
        begun = time.monotonic()
        with pytest.raises(Busy) as refused, claimed(out):
            pass
        assert "page[1].html" in str(
            refused.value
        ) and refused.value.settings_in_fix == (OUT,)
        assert (
            time.monotonic() - begun < 1.0
        )  # the owner lives on this machine: no sign of life is waited for
        with claimed(out, kind="other"):
            pass
    with claimed(out):
        assert [path.exists() for path in scrap] == [
            False,
            True,
        ]  # the other file's may be in the making
    assert [path.name for path in out.parent.iterdir()] == [".page1.html.77.tmp"]


@pytest.mark.usefixtures("soon")
def test_a_lock_ends_with_its_process_and_on_other_machines_with_its_signs_of_life(
    tmp_path: Path,
) -> None:
    for host, least in (("", 0.0), ("node7", 0.9)):
        process = holder(tmp_path / "a", host)
        with pytest.raises(Busy), claimed(tmp_path / "a"):
            pass
        process.kill()
        process.communicate()
        begun = time.monotonic()
        with claimed(tmp_path / "a"):
            assert least <= time.monotonic() - begun < least + 0.8, host
        assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("soon")
def test_a_lock_of_a_process_that_was_killed_before_it_wrote_its_name_is_nobodys(
    tmp_path: Path,
) -> None:
    (tmp_path / ".a.lock").touch()
    with claimed(tmp_path / "a") as check:
        check()
        with pytest.raises(Busy), claimed(tmp_path / "a"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_system_names_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError) as refused:
        write_atomically(tmp_path / "a", b"whole")
    assert str(refused.value).endswith(f"'{tmp_path / 'a'}'")


@pytest.mark.usefixtures("soon")
@pytest.mark.skipif(
    os.name != "posix", reason="this system cannot stop a process for a while"
)
def test_a_run_that_was_silent_for_too_long_learns_that_its_lock_is_gone(
    tmp_path: Path,
) -> None:
    process = holder(tmp_path / "a", "node7")
    process.send_signal(signal.SIGSTOP)
    with claimed(tmp_path / "a") as check:
        process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        said = process.communicate("end\n", timeout=60)[1]
        assert (
            process.returncode == 1
            and "randsmooth.errors.Busy" in said
            and str(tmp_path / "a") in said
        )
        check()
        assert (tmp_path / ".a.lock").exists()  # who has it now keeps it


def test_an_output_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        values.refused(BadValue),
        claimed(tmp_path / "file" / "a"),
    ):
        pass
    (tmp_path / ".a.lock").mkdir()
    with pytest.raises(OSError) as refused, claimed(tmp_path / "a"):
        pass
    assert refused.value.filename == str(tmp_path / "a") and not isinstance(
        refused.value, Problem
    )
