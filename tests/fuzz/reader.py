"""What the harness needs to know of a reader, and what a file read by it means, in a form that can be compared."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fuzz.draw import Draw

Files = dict[str, bytes]  # by their names below a folder


class Reader(ABC):
    """One door of the library through which files come in.

    Attributes:
        name: for the table of results.
        signed: its files carry a digest, so that what is damaged must be refused or mean what it meant. What is read
            of others cannot be told from another file: only `fault` is looked for.
        target: the beginning of the names of the files to damage; the others stay as they are.
    """

    name: ClassVar[str]
    signed: ClassVar[bool] = True
    target: ClassVar[str] = ""

    @abstractmethod
    def valid(self) -> list[Files]:
        """At least two sets of valid files, of one layout."""

    @abstractmethod
    def read(self, folder: Path) -> Any:
        """What the library makes of the files in `folder`, as plain values, arrays and tensors."""

    def same(self, meant: Any, read: Any) -> str:
        """In what `read` departs from what was `meant`; empty where it does not."""
        return difference(meant, read)

    def tells(self, meant: Any, read: Any) -> bool:
        """Whether what was read of a damaged file says by itself that it is another."""
        return False

    def fault(self, read: Any) -> str:
        """What no file may mean, whoever made it; empty where nothing is wrong."""
        return ""

    def bombs(self) -> list[Files]:
        """Small files that ask for a lot: the first inputs of a run."""
        return []

    def bent(self, files: Files, draw: Draw) -> Files | None:
        """The files with another content in a valid container, and digests as they were."""
        return None

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """The same as whoever has this library could make them: with digests of that content, or without any."""
        return None


def difference(meant: Any, read: Any) -> str:
    """The first place where two meanings differ, to the last bit; empty where they are one."""
    one, other = leaves(meant), leaves(read)
    for place in [*one, *other]:
        if one.get(place) != other.get(place):
            return f"{place or 'all'}: {one.get(place, 'nothing')} became {other.get(place, 'nothing')}"[:300]
    return ""


def leaves(value: Any, place: str = "") -> dict[str, str]:
    """Place -> what is there, for everything in a nest of plain values, arrays and tensors."""
    if isinstance(value, Mapping):
        inner = {f"{place}.{key!r}"[:200]: each for key, each in value.items()}
    elif isinstance(value, list | tuple):
        inner = {f"{place}[{index}]": each for index, each in enumerate(value)}
    else:
        return {place: _leaf(value)}
    found = {place: f"{type(value).__name__} of {len(value)}"}
    for name, each in inner.items():
        found |= leaves(each, name)
    return found


def _leaf(value: Any) -> str:
    if isinstance(value, float):
        return value.hex()
    if hasattr(value, "detach"):
        return _tensor(value)
    if isinstance(value, np.ndarray):
        told = f"{value.dtype}{value.shape}"
        return f"{told} {value.tolist()}" if value.size <= 8 else f"{told} {_digest(value.tobytes())}"
    if isinstance(value, bytes):
        return f"bytes {_digest(value)}"
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) < 200 else f"{text[:100]}... {_digest(text.encode(errors='surrogatepass'))}"


def _tensor(value: Any) -> str:
    import torch  # is loaded where there is a tensor, and only there

    told = f"{value.dtype}{tuple(value.shape)}"
    if value.numel() <= 8:
        return f"{told} {value.tolist()}"
    return f"{told} {_digest(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())}"


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:16]
