"""Readers that misbehave, for the harness to catch."""

import os
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fuzz.harness import CHANGED, FLOOD, HANG, NOTED, OTHER, RAW, REFUSED, Files, Reader
from randsmooth.errors import Problem
from randsmooth.notes import Note

VALID = (b"seven 7 7 7 7", b"sieben 7 7 7 7")  # which mean the same
FILE = "number.csv"


class Toy(Reader):
    """Reads a number; of any other file it makes what `other` does, which the harness calls `kind`."""

    def __init__(
        self,
        name: str,
        kind: str,
        other: Callable[[bytes], Any],
        *,
        signed: bool = True,
    ) -> None:
        self.name, self.kind, self.other, self.signed = name, kind, other, signed  # type: ignore[misc]

    def valid(self) -> list[Files]:
        return [
            {FILE: content}
            for content in (*VALID, *([b"none"] if self.name == "broken" else []))
        ]

    def read(self, folder: Path) -> Any:
        content = (folder / FILE).read_bytes()
        return int(content[-1:]) if content in VALID else self.other(content)

    def fault(self, read: Any) -> str:
        return "a number below 0" if isinstance(read, int) and read < 0 else ""

    def sealed(self, files: Files, name: str) -> Files:
        return {FILE: b"forged 9"} if self.name == "honest" else files


def raising(error: BaseException) -> Callable[[bytes], NoReturn]:
    def other(content: bytes) -> NoReturn:
        raise error

    return other


def loop(content: bytes) -> NoReturn:
    while True:
        pass


def doze(content: bytes) -> NoReturn:
    while True:
        time.sleep(60)


def warn(content: bytes) -> NoReturn:
    warnings.warn("something odd", RuntimeWarning, stacklevel=1)
    refuse(content)


def make_anew(content: bytes) -> int:
    warnings.warn(Note("of_the_model", text="made anew"), stacklevel=1)
    return 7


refuse = raising(Problem("number.csv is no number: write one"))
_ALL = (
    Toy("refuse", REFUSED, refuse),
    Toy(
        "honest",
        REFUSED,
        lambda content: 9 if content == b"forged 9" else refuse(content),
    ),
    Toy("make-anew", NOTED, make_anew),
    Toy("trip", RAW, raising(KeyError("number"))),
    Toy("warn", RAW, warn),
    Toy("crash", RAW, lambda content: os.kill(os.getpid(), signal.SIGSEGV)),
    Toy("loop", HANG, loop),
    Toy("wait", HANG, doze),
    Toy("allocate", FLOOD, lambda content: bytearray(b"x") * (36 * 2**20)),
    Toy("bend", CHANGED, lambda content: 5),
    Toy("below", CHANGED, lambda content: -1, signed=False),
    Toy("unsigned", OTHER, lambda content: 5, signed=False),
    Toy("broken", RAW, raising(KeyError("number"))),
)
TOYS: dict[str, Reader] = {toy.name: toy for toy in _ALL}
