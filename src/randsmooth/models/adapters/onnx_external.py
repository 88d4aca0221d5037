"""The files beside an ONNX file that hold its weights, read from its protobuf, which has only their names."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from randsmooth.documents import shown
from randsmooth.errors import InputError

DEEPEST = 100  # nested messages; three nested loops take 16
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5  # protobuf's wire types
# The messages that may hold a tensor: message -> number of a field -> message, as in onnx.proto.
INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
ENTRY, PLACE, EXTERNAL = 13, 14, 1  # of a tensor: the fields `external_data` and `data_location`, and its value
Field = tuple[int, int | memoryview]


def external_files(path: Path) -> list[str]:
    """Names of the files, relative to the folder of the ONNX file `path`, that hold some of its tensors; sorted.

    Raises:
        InputError: `path` is no ONNX file, or one of them is missing, no plain file or outside of its folder.
    """
    try:
        with path.open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        found = sorted(set(_locations(whole, "model", 0)))
    except ValueError as error:  # raised below, or for text that is no UTF-8, or for an empty file
        raise InputError(f"{path} is no ONNX file that can be run ({shown(error)})") from None
    for name in found:
        _check_place(path, name)
    return found


def _check_place(path: Path, name: str) -> None:
    folders = {path.parent.resolve(), path.resolve().parent}  # both may be links to one folder elsewhere
    there = path.parent / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not _within(there, folders):
        raise InputError(
            f"{path} keeps weights in {shown(repr(name))}, which is not in its own folder and so is not opened: save "
            "the model with its weights beside it"
        )
    if not there.is_file():
        raise InputError(
            f"{path} keeps weights in {shown(repr(name))}, which is missing: it belongs in the same folder"
        )


def _within(there: Path, folders: set[Path]) -> bool:
    try:
        return any(there.resolve().is_relative_to(folder) for folder in folders)
    except (OSError, RuntimeError, ValueError):  # links in a circle, or no name of a file
        return False


def _locations(message: memoryview, kind: str, depth: int) -> Iterator[str]:
    """The locations in a `message` of this `kind`."""
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} messages")
    if kind == "tensor":
        yield from _location(message)
        return
    for number, value in _fields(message):
        if number in INSIDE[kind] and isinstance(value, memoryview):
            yield from _locations(value, INSIDE[kind][number], depth + 1)


def _location(tensor: memoryview) -> Iterator[str]:
    """The file that holds a tensor, if it is another file."""
    location, outside = "", False
    for number, value in _fields(tensor):
        if number == ENTRY and isinstance(value, memoryview):
            pair = dict(_fields(value))
            key, said = (bytes(each) if isinstance(each := pair.get(i, b""), memoryview) else b"" for i in (1, 2))
            location = said.decode() if key == b"location" else location
        outside = value == EXTERNAL if number == PLACE else outside
    if outside:
        yield location


def _fields(message: memoryview) -> Iterator[Field]:
    """Number and value, an integer or bytes, of each field; fields of fixed width are left out."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield number, value
        elif wire == BYTES:
            size, at = _varint(message, at)
            if size > end - at:
                raise ValueError("the file is cut short, or no protobuf")
            yield number, message[at : at + size]
            at += size
        elif wire in (EIGHT, FOUR):
            at += 8 if wire == EIGHT else 4
        else:
            raise ValueError("no protobuf")
    if at > end:
        raise ValueError("the file is cut short, or no protobuf")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at byte `at`, and the byte after it."""
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("the file is cut short, or no protobuf")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
