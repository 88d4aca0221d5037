"""A disk that fails: from a given call on, whatever this process writes below a folder is refused."""

from __future__ import annotations

import builtins
import errno
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch

# What takes room, and with it what gives room back, which a full disk allows and one that may only be read does not.
TAKES = ("mkdir", "replace", "rename", "link", "symlink", "truncate", "ftruncate", "fsync")
GIVES = ("unlink", "rmdir")
NO_REMOVAL = (errno.EROFS, errno.EACCES)


class Disk:
    """Counts the calls that write below `root`, and refuses the one at `fails_at` (from 1) and all after it.

    `counted` gets the number of calls when the process ends by itself.
    """

    def __init__(self, root: Path, fails_at: int, number: int, counted: Path | None = None) -> None:
        self.root, self.fails_at, self.number, self.counted = root.absolute(), fails_at, number, counted
        self.calls, self.lock = 0, threading.Lock()

    def holds(self, path: Any) -> bool:
        """Whether `path`, a name or a descriptor, lies below the root."""
        name = Path(f"/proc/self/fd/{path}").readlink() if isinstance(path, int) else Path(os.fsdecode(path)).absolute()
        return name.is_relative_to(self.root)

    def step(self, path: Any = None) -> None:
        """One call; OSError, which names `path` as the system's own would, if it is refused."""
        with self.lock:
            self.calls += 1
            if self.counted is not None:
                Path.write_bytes(self.counted, b"%d" % self.calls)
            refused = self.calls >= self.fails_at
        if refused:
            raise OSError(self.number, os.strerror(self.number), *([] if path is None else [os.fsdecode(path)]))


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


def install(root: Path, fails_at: int, number: int, counted: Path | None = None) -> None:
    """Put a failing `Disk` under this process: its Python code, and the Rust code that writes safetensors."""
    disk = Disk(root, fails_at, number, counted)
    for name in (*TAKES, *(GIVES if number in NO_REMOVAL else ())):
        setattr(os, name, _counted(getattr(os, name), disk))
    os.open = _opened_low(os.open, disk)
    io.open = builtins.open = _opened(io.open, disk)
    safetensors.torch.serialize_file = _serialized(safetensors.torch.serialize_file, disk)


def _counted(call: Callable[..., Any], disk: Disk) -> Callable[..., Any]:
    def wrapped(path: Any, *more: Any, **options: Any) -> Any:
        if disk.holds(path):
            disk.step(None if isinstance(path, int) else path)
        return call(path, *more, **options)

    return wrapped


def _opened_low(call: Callable[..., int], disk: Disk) -> Callable[..., int]:
    def wrapped(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR) and disk.holds(path):
            disk.step(path)
        return call(path, flags, *more, **options)

    return wrapped


def _opened(call: Callable[..., Any], disk: Disk) -> Callable[..., Any]:
    def wrapped(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+") or not disk.holds(file):
            return call(file, mode, *more, **options)
        if not isinstance(file, int):
            disk.step(file)
        return Written(call(file, mode, *more, **options), disk)

    return wrapped


def _serialized(call: Callable[..., None], disk: Disk) -> Callable[..., None]:
    def wrapped(tensors: Any, filename: Any, *more: Any, **options: Any) -> None:
        try:
            if disk.holds(filename):
                disk.step(filename)
        except OSError as error:  # as Rust tells of it
            told = f"Error while serializing: I/O error: {error.strerror} (os error {error.errno})"
            raise safetensors.SafetensorError(told) from None
        call(tensors, filename, *more, **options)

    return wrapped
