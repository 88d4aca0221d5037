"""A disk that is full, or may only be read, from each write on."""

from __future__ import annotations

import builtins
import errno
import io
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import safetensors.torch

from drills.bench import Bench

# What takes room, and with it what gives room back, which a full disk allows and one that may only be read does not.
TAKES = (
    "mkdir",
    "replace",
    "rename",
    "link",
    "symlink",
    "truncate",
    "ftruncate",
    "fsync",
)
GIVES = ("unlink", "rmdir")


class Disk:
    """Counts the calls that write below `root`, and refuses the one at `fails_at` (from 1) and all after it.

    `counted` gets the number of calls.
    """

    def __init__(
        self, root: Path, fails_at: int, number: int, counted: Path | None = None
    ) -> None:
        self.root, self.fails_at, self.number, self.counted = (
            root.absolute(),
            fails_at,
            number,
            counted,
        )
        self.calls, self.lock = 0, threading.Lock()

    def holds(self, path: Any) -> bool:
        """Whether `path`, a name or a descriptor, lies below the root."""
        name = (
            Path(f"/proc/self/fd/{path}").readlink()
            if isinstance(path, int)
            else Path(os.fsdecode(path)).absolute()
        )
        return name.is_relative_to(self.root)

    def step(self, path: Any = None) -> None:
        """One call; OSError, which names `path` as the system's own would, if it is refused."""
        with self.lock:
            self.calls += 1
            if self.counted is not None:
                Path.write_bytes(self.counted, b"%d" % self.calls)
            refused = self.calls >= self.fails_at
        if refused:
            named = [] if path is None or isinstance(path, int) else [os.fsdecode(path)]
            raise OSError(self.number, os.strerror(self.number), *named)


class Written:
    """An open file whose writes are counted. Of one that is refused, half is written: so does a disk that fills up."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def write(self, data: Any) -> Any:
        try:
            self._disk.step()
        except OSError:
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            raise
        return self._file.write(data)

    def __enter__(self) -> Written:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def install(
    root: Path, fails_at: int, number: int, counted: Path | None = None
) -> None:
    """Put a failing `Disk` under this process: its Python code, and the Rust code that writes safetensors."""
    disk, opened_low, opened = Disk(root, fails_at, number, counted), os.open, io.open
    serialize = safetensors.torch.serialize_file

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any, *more: Any, **options: Any) -> Any:
            if disk.holds(path):
                disk.step(path)
            return call(path, *more, **options)

        return wrapped

    def open_low(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR) and disk.holds(path):
            disk.step(path)
        return opened_low(path, flags, *more, **options)

    def open_high(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+") or not disk.holds(file):
            return opened(file, mode, *more, **options)
        if not isinstance(file, int):
            disk.step(file)
        return Written(opened(file, mode, *more, **options), disk)

    def serialized(tensors: Any, filename: Any, *more: Any, **options: Any) -> None:
        try:
            if disk.holds(filename):
                disk.step(filename)
        except OSError as error:  # as Rust tells of it
            told = f"Error while serializing: I/O error: {error.strerror} (os error {error.errno})"
            raise safetensors.SafetensorError(told) from None
        serialize(tensors, filename, *more, **options)

    for name in (*TAKES, *(GIVES if number in (errno.EROFS, errno.EACCES) else ())):
        setattr(os, name, counting(getattr(os, name)))
    os.open, safetensors.torch.serialize_file = open_low, serialized
    io.open = builtins.open = open_high


def disk_full(bench: Bench) -> None:
    """ENOSPC from every write on, one run each; fewer than 20 times, from every so many-th."""
    _from_each_write_on(bench, errno.ENOSPC, lambda calls: bench.step)


def read_only(bench: Bench) -> None:
    """EROFS from the start and from `times` other writes on: a disk that the system no longer trusts becomes so."""
    _from_each_write_on(bench, errno.EROFS, lambda calls: max(1, calls // bench.times))


def _from_each_write_on(bench: Bench, number: int, every: Callable[[int], int]) -> None:
    """Refuse all writes from one on: the first, and each `every`-th after, as many as the undisturbed run has."""
    bench.clear()
    counted = bench.root / "counted"
    code, said = bench.run(
        bench.command(), partial(install, bench.folder, 2**62, errno.ENOSPC, counted)
    )
    if code != 0:
        raise RuntimeError(f"the counted run ended with {code}: {said}")
    calls = int(counted.read_bytes())
    for at in range(1, calls + 1, every(calls)):
        bench.clear()
        bench.tally.tried += 1
        code, said = bench.run(
            bench.command(), partial(install, bench.folder, at, number)
        )
        bench.tally.end(code, said)
        bench.tally.note(bench.torn())
        # who finished on a disk that may only be read since, could not remove its lock; the next run does
        stuck = number == errno.EROFS
        wrong = bench.difference(bench.whole, locked=stuck) if code == 0 else ""
        bench.tally.judge(wrong or (bench.settle() if code != 0 or stuck else ""))
