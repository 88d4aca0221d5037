"""The cache of boundaries, which is made anew where it cannot be used."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.draw import Draw
from fuzz.plain import bent, to_json
from fuzz.reader import Files, Reader
from randsmooth.bounds import boundary_cache
from randsmooth.bounds.boundaries import crossing_probability
from randsmooth.bounds.boundary_cache import cached_boundary
from randsmooth.caches import FOLDER

LOOKS = np.array([20, 40, 80, 160])
QUESTIONS = ((0.16, 0.05), (0.3, 0.01))  # q0 and alpha


class Boundaries(Reader):
    """A boundary as sequential rules ask for it: what a damaged file would answer is computed instead.

    Of a file that somebody else signed, it must hold at its level.
    """

    name = "boundary-cache"
    target = "boundaries"

    def valid(self) -> list[Files]:
        return [_cached(question) for question in range(len(QUESTIONS))]

    def read(self, folder: Path) -> Any:
        return _asked(folder, int((folder / "which").read_text()))

    def fault(self, read: Any) -> str:
        level = crossing_probability(read["claim"], LOOKS, read["q0"])
        return "" if level <= read["alpha"] else f"it claims falsely with probability {level}"

    def bent(self, files: Files, draw: Draw) -> Files | None:
        name, digest, body = _parts(files)
        return files | {name: digest + b"\n" + to_json(bent(json.loads(body), draw), draw)}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        name, _, body = _parts(files)
        said = json.loads(body)
        key = draw.pick(["claim", "give_up", *said])
        changed = to_json(said | {key: bent(said[key], draw)}, draw)
        return files | {name: hashlib.sha256(changed).hexdigest().encode() + b"\n" + changed}


@contextmanager
def cache_at(folder: Path) -> Iterator[None]:
    """The cache lies in `folder`, for a while."""
    before = os.environ.get(FOLDER)
    os.environ[FOLDER] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[FOLDER]
        else:
            os.environ[FOLDER] = before


def _asked(folder: Path, question: int) -> dict[str, Any]:
    """What a new process would be told."""
    q0, alpha = QUESTIONS[question]
    boundary_cache._remembered.cache_clear()
    try:
        with cache_at(folder):
            found = cached_boundary(q0, LOOKS, alpha)
    finally:
        boundary_cache._remembered.cache_clear()
    return {"q0": q0, "alpha": alpha, "looks": found.looks, "claim": found.claim, "give_up": found.give_up}


def _cached(question: int) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        _asked(Path(folder), question)
        (path,) = (Path(folder) / "boundaries").iterdir()
        return {f"boundaries/{path.name}": path.read_bytes(), "which": b"%d" % question}


def _parts(files: Files) -> tuple[str, bytes, bytes]:
    """Name, digest and body of the one boundary."""
    name = next(name for name in files if name.startswith("boundaries"))
    digest, _, body = files[name].partition(b"\n")
    return name, digest, body
