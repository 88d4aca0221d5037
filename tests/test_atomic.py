"""Files that are whole or not there, what is left when they cannot be written, and outputs of one process at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from randsmooth.atomic import claimed, held, write_atomically
from randsmooth.errors import InputError


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_alone_and_names_it(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError) as refused:
        write_atomically(tmp_path / "a.txt", b"new")
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, str(tmp_path / "a.txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_claimed_output_has_one_writer_and_none_of_the_scrap_of_a_killed_one(tmp_path: Path) -> None:
    out = tmp_path / "new" / "page[1].html"
    with claimed(out):
        scrap = [out.with_name(f".{name}.77.tmp") for name in (out.name, "page1.html")]
        for path in scrap:
            path.touch()
        with pytest.raises(InputError, match=r"another run is writing .*page\[1\]\.html"), claimed(out):
            pass
    with claimed(out):
        assert [path.exists() for path in scrap] == [False, True]  # the other file's may be in the making
        (out.parent / f".{out.name}.lock").unlink()  # as if an earlier holder ended late
    assert not (out.parent / f".{out.name}.lock").exists()


def test_a_lock_that_its_holder_removed_meanwhile_is_not_mistaken_for_the_file_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened = tmp_path / "journal", os.open

    def late(name: Path, *args: int) -> int:
        """Another run ends, and removes the file, after it was opened and before it is locked."""
        monkeypatch.setattr(os, "open", opened)
        descriptor = os.open(name, *args)
        path.unlink()
        return descriptor

    monkeypatch.setattr(os, "open", late)
    with held(path, make=True):
        assert path.exists()
        with pytest.raises(InputError, match="another run is writing"), held(path):
            pass
