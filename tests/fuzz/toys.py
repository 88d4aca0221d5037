"""Readers that misbehave, for the harness to catch."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fuzz.draw import Draw
from fuzz.reader import Files, Reader
from randsmooth.errors import InputError, Note

VALID = (b"seven 7 7 7 7", b"sieben 7 7 7 7")  # which mean the same
FILE = "number.txt"


class Toy(Reader):
    """Reads a number; of any other file it makes what `other` does."""

    def __init__(self, name: str, other: Callable[[bytes], Any], *, signed: bool = True) -> None:
        self.name, self.other, self.signed = name, other, signed  # type: ignore[misc]

    def valid(self) -> list[Files]:
        return [{FILE: content} for content in (*VALID, *([b"none"] if self.name == "broken" else []))]

    def read(self, folder: Path) -> Any:
        content = (folder / FILE).read_bytes()
        return int(content[-1:]) if content in VALID else self.other(content)

    def fault(self, read: Any) -> str:
        return "a number below 0" if isinstance(read, int) and read < 0 else ""

    def forged(self, files: Files, draw: Draw) -> Files | None:
        return {FILE: b"forged 9"} if self.name == "honest" else None


def refuse(content: bytes) -> NoReturn:
    raise InputError("number.txt is no number: write one")


def mumble(content: bytes) -> NoReturn:
    raise InputError(" ")


def talk(content: bytes) -> NoReturn:
    raise InputError("no number: " + 10_000 * "x")


def trip(content: bytes) -> NoReturn:
    raise KeyError("number")


def nest(content: bytes) -> NoReturn:
    nest(content)
    raise AssertionError


def leave(content: bytes) -> NoReturn:
    raise SystemExit(0)


def loop(content: bytes) -> NoReturn:
    while True:
        pass


def wait(content: bytes) -> NoReturn:
    while True:
        time.sleep(60)


def allocate(content: bytes) -> bytearray:
    return bytearray(b"x") * (36 * 2**20)


def demand(content: bytes) -> NoReturn:
    raise MemoryError("no room")


def crash(content: bytes) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def warn(content: bytes) -> NoReturn:
    warnings.warn("something odd", RuntimeWarning, stacklevel=1)
    refuse(content)


def make_anew(content: bytes) -> int:
    warnings.warn("made anew", Note, stacklevel=1)
    return 7


def honest(content: bytes) -> int:
    return 9 if content == b"forged 9" else refuse(content)


TOYS: dict[str, Reader] = {
    toy.name: toy
    for toy in (
        *(Toy("refuse", refuse), Toy("honest", honest), Toy("make-anew", make_anew)),
        *(Toy("mumble", mumble), Toy("talk", talk), Toy("trip", trip), Toy("nest", nest), Toy("leave", leave)),
        *(Toy("broken", trip),),
        *(Toy("crash", crash), Toy("warn", warn), Toy("loop", loop), Toy("wait", wait)),
        *(Toy("allocate", allocate), Toy("demand", demand)),
        *(Toy("bend", lambda content: 5), Toy("unsigned", lambda content: 5, signed=False)),
        *(Toy("below", lambda content: -1, signed=False),),
    )
}
