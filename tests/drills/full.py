"""A disk that is full, or may only be read, from each write on; and a small one that really fills up."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from drills import faults
from drills.bench import Bench

PAGE = os.sysconf("SC_PAGE_SIZE")
ROOM = 256 * 1024 * 1024  # bytes: enough for any subject


def disk_full(bench: Bench) -> None:
    """ENOSPC from every write on, one run each; fewer than 20 times, from every so many-th."""
    _from_each_write_on(bench, errno.ENOSPC, every=bench.step)


def read_only(bench: Bench) -> None:
    """EROFS from the start and from `times` other writes on: a disk that the system no longer trusts becomes so."""
    calls = _calls(bench)
    _from_each_write_on(bench, errno.EROFS, every=max(1, calls // bench.times))


def _from_each_write_on(bench: Bench, number: int, every: int) -> None:
    """Refuse all writes from one on: the first, and each `every`-th after, as many as the undisturbed run has."""
    for at in range(1, _calls(bench) + 1, every):
        bench.clear()
        _run_out(bench, partial(faults.install, bench.folder, at, number))


def _calls(bench: Bench) -> int:
    """How many writes an undisturbed run has."""
    bench.clear()
    counted = bench.root / "counted"
    code, said = bench.run(bench.command(), partial(faults.install, bench.folder, 2**62, errno.ENOSPC, counted))
    if code != 0:
        raise RuntimeError(f"the counted run ended with {code}: {said}")
    return int(counted.read_bytes())


def _run_out(bench: Bench, before: Callable[[], None] | None = None, restore: Callable[[], None] | None = None) -> bool:
    """Run on a disk that fails, then on one that does not; whether the first got through."""
    bench.tally.tried += 1
    code, said = bench.run(bench.command(), before)
    bench.tally.end(code, said)
    bench.tally.note(bench.torn())
    if restore is not None:
        restore()
    bench.tally.judge(bench.settle() if code != 0 else bench.difference(bench.whole))
    return code == 0


def small_disk(bench: Bench) -> None:
    """A tmpfs of every size, page by page, until a run gets through; of more than 3 x times sizes, so many."""
    with mounted(bench) as mount:
        most = _used(bench, mount)
        first = _filled(bench, mount)
        sizes = range(first, most + 1, max(1, (most - first) // (3 * bench.times)))
        for pages in [*sizes, most]:
            mount(ROOM // PAGE)
            bench.clear()
            mount(pages)
            if _run_out(bench, restore=partial(mount, ROOM // PAGE)):
                return


@contextmanager
def mounted(bench: Bench) -> Iterator[Callable[[int], None]]:
    """The bench's folder on a tmpfs of its own; gives a function that sets its pages."""
    above = bench.root / "small"
    above.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "none", str(above)], check=True)
    before, bench.folder = bench.folder, above / "work"
    try:
        yield lambda pages: _remount(above, f"size={pages * PAGE}")
    finally:
        bench.folder = before
        subprocess.run(["umount", "--lazy", str(above)], check=True)


def _remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def _filled(bench: Bench, mount: Callable[[int], None]) -> int:
    """Pages that are taken before the run begins, and at least one: a tmpfs of size 0 has no limit."""
    mount(ROOM // PAGE)
    bench.clear()
    return max(1, _taken(bench.folder))


def _used(bench: Bench, mount: Callable[[int], None]) -> int:
    """Pages with which a run surely gets through: what it leaves, and as much again for what it writes beside."""
    _filled(bench, mount)
    bench.finish(bench.command())
    return 2 * _taken(bench.folder) + 16


def _taken(folder: Path) -> int:
    state = os.statvfs(folder)
    return (state.f_blocks - state.f_bfree) * state.f_frsize // PAGE


def may_mount() -> bool:
    """Whether this process may mount a tmpfs."""
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True)
        if tried.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return tried.returncode == 0
