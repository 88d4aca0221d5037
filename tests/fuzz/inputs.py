"""The inputs: each follows from (seed, reader, number), and says what it may be taken for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzz.damage import damaged
from fuzz.draw import Draw
from fuzz.reader import Files, Reader

WAYS = ("damaged",) * 5 + ("bent",) * 3 + ("forged",) * 2
TRIES = 8  # of a change that changed nothing, or that could not be made


@dataclass(frozen=True)
class Input:
    """Files made from the valid ones at `of`.

    Attributes:
        way: damaged (their bytes), bent (their content, in a valid container with digests as they were), or forged
            (their content, and digests to go with it or none).
    """

    number: int
    files: Files
    of: int
    way: str


def make(reader: Reader, valid: Sequence[Files], bombs: Sequence[Files], seed: int, number: int) -> Input:
    """Input `number` of a run: the bombs first, which nobody's digest vouches for."""
    if number < len(bombs):
        return Input(number, bombs[number], 0, "forged")
    draw = Draw(seed, reader.name, number)
    of = draw.below(len(valid))
    for _ in range(TRIES):
        way = draw.pick(WAYS)
        try:
            files = _made(way, reader, valid, of, draw)
        except (ArithmeticError, LookupError, TypeError, ValueError):  # a change that this value does not allow
            continue
        if files is not None and files not in valid:
            return Input(number, files, of, way)
    return Input(number, _damaged(reader, valid, of, draw), of, "damaged")


def _made(way: str, reader: Reader, valid: Sequence[Files], of: int, draw: Draw) -> Files | None:
    if way == "damaged":
        return _damaged(reader, valid, of, draw)
    return (reader.bent if way == "bent" else reader.forged)(valid[of], draw)


def _damaged(reader: Reader, valid: Sequence[Files], of: int, draw: Draw) -> Files:
    files = dict(valid[of])
    name = draw.pick(_targets(reader, files))
    theirs = draw.pick(valid)
    other = theirs[name if name in theirs else _targets(reader, theirs)[0]]
    return files | {name: damaged(files[name], other, draw)}


def _targets(reader: Reader, files: Files) -> list[str]:
    return [name for name in files if name.startswith(reader.target)]
