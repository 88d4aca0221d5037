"""MATLAB files of MACER's certification, which hold radii and nothing else.

They are read without SciPy, whose reader aborts the process on damaged files; little of the format is needed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from randsmooth.certificates.header import Header
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats
from randsmooth.documents import read_file, shown
from randsmooth.errors import ForeignFile, InputError

MAGIC = "MATLAB 5.0 MAT-file"
KINDS = ("hard", "soft")  # Cohen et al.'s certificate, and MACER's of the soft classifier
SOFT = "empirical Bernstein, soft"  # the bound of the latter
WRONG = -1.0
LARGEST = 1000.0  # radius, as of other logs
NOTE = (
    "from a MATLAB file, which says neither which images it is about nor their classes: they are numbered -1, -2, ..., "
    "class 0 stands for the right one, and what is not right counts as an abstention"
)
SOFT_NOTE = "the radii are of the soft smoothed classifier (mean probabilities), not of the vote: they do not give p_A"
MOST_BYTES = 2**21  # both radii of 50,000 images take 0.8 MB
UNPACKED = 2**24  # of an element
HEAD = 128  # bytes before the first element; the last two tell the byte order
ORDERS = {b"IM": "<", b"MI": ">"}
MATRIX, PACKED = 14, 15  # kinds of elements
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}  # and of data


def read_matlab(path: Path, kind: str | None = None) -> Certificates:
    """The certificates of one `kind` in a MATLAB file of MACER's certification; by default the first that it holds.

    The file holds the radius of each right image and -1 for every other. It says neither which images these are nor
    their classes: rows are numbered -1, -2, ... in their order, class 0 stands for the right one, and whatever is not
    right is an abstention.

    Raises:
        InputError: no MATLAB file, a damaged one, or one without radii.
    """
    radii = _radii(path)
    if not radii:
        raise ForeignFile(f"{path} is a MATLAB file without certificates: MACER's hold 'hard' or 'soft' radii")
    kind = kind or next(iter(radii))
    values = radii[kind]
    _check_radii(path, kind, values)
    right = values >= 0.0
    return Certificates(
        Header(bound=SOFT, notes=(NOTE, SOFT_NOTE)) if kind == "soft" else Header(notes=(NOTE,)),
        idx=-1 - np.arange(len(values)),
        label=np.zeros(len(values), np.int64),
        predict=np.where(right, 0, ABSTAIN),
        radius=np.maximum(values, 0.0),
        seconds=np.zeros(len(values)),
        name=f"{path.stem} (soft)" if kind == "soft" else path.stem,
    )


def kinds_in(path: Path) -> list[str]:
    """Which of KINDS a MATLAB file holds; errors as `read_matlab`."""
    return list(_radii(path))


def _check_radii(path: Path, kind: str, values: Floats) -> None:
    wrong = np.flatnonzero(((values < 0.0) & (values != WRONG)) | (values > LARGEST))
    if len(wrong):
        place = int(wrong[0])
        raise InputError(
            f"{path}: {kind} radius {place + 1} is {values[place]:g}; expected 0 to {LARGEST:g}, or -1 where the "
            "prediction was wrong"
        )


def _radii(path: Path) -> dict[str, Floats]:
    content = read_file(path, MOST_BYTES)
    order = ORDERS.get(content[HEAD - 2 : HEAD], "")
    try:
        if not order:
            raise ValueError("it does not tell its byte order")
        found = dict(_matrices(content[HEAD:], order))
    except (ValueError, struct.error, zlib.error) as error:
        raise InputError(f"{path} is not a readable MATLAB file: {shown(error)}") from None
    return {name: found[name] for name in KINDS if name in found}


def _matrices(content: bytes, order: str) -> Iterator[tuple[str, Floats]]:
    """The plain matrices of KINDS among the elements of `content`, by name, flat."""
    for kind, data in _unpacked(content, order):
        if kind == MATRIX:
            parts = list(_elements(data, order))
            name = parts[2][1].decode("ascii", errors="replace") if len(parts) > 3 else ""
            if name in KINDS and parts[3][0] in NUMBERS:  # no cells or structures, which have elements there
                yield name, _numbers(*parts[3], order)


def _unpacked(content: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """The elements of `content`, those that are packed unpacked once."""
    for kind, data in _elements(content, order):
        if kind != PACKED:
            yield kind, data
            continue
        unpacking = zlib.decompressobj()
        whole = unpacking.decompress(data, UNPACKED)
        if not unpacking.eof:
            raise ValueError(f"an element is cut short, or unpacks to more than {UNPACKED:,} bytes")
        yield from _elements(whole, order)


def _elements(content: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """(kind, data) of the elements in a row: 8 bytes of kind and size, or 4 where up to 4 bytes of data follow."""
    at = 0
    while at < len(content):
        kind, size = struct.unpack_from(f"{order}II", content, at)
        short = kind >> 16
        start = at + (4 if short else 8)
        kind, size = (kind & 0xFFFF, short) if short else (kind, size)
        if start + size > len(content) or (short and size > 4):
            raise ValueError(f"an element of {size:,} bytes is cut short")
        yield kind, content[start : start + size]
        end = start + size
        at = at + 8 if short else end if kind == PACKED else end + -end % 8


def _numbers(kind: int, data: bytes, order: str) -> Floats:
    with np.errstate(invalid="ignore"):  # a NaN that signals
        values = np.frombuffer(data, np.dtype(order + NUMBERS[kind])).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it holds radii that are not finite")
    return values
