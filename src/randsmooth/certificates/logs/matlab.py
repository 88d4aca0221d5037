"""MATLAB files of MACER's certification, as SciPy writes them, which hold radii and nothing else.

They are read without SciPy, whose reader ends the process on damaged files; little of the format is needed.
"""

from __future__ import annotations

import struct
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
HEAD, ORDER = 128, b"IM"  # bytes before the first element, of which the last two say that low bytes come first
MATRIX, PACKED = 14, 15  # kinds of elements
REALS = {7: "<f4", 9: "<f8"}  # and of data


def read_matlab(path: Path, kind: str | None = None) -> Certificates:
    """The certificates of one `kind` in a MATLAB file of MACER's certification; by default the first that it holds.

    The file holds the radius of each right image and -1 for every other. It says neither which images these are nor
    their classes: rows are numbered -1, -2, ... in their order, class 0 stands for the right one, and whatever is not
    right is an abstention.

    Raises:
        InputError: no MATLAB file, a damaged or packed one, or one without radii.
    """
    radii = _radii(path)
    if not radii:
        raise ForeignFile(f"{path} is a MATLAB file without certificates: MACER's hold 'hard' or 'soft' radii")
    kind = kind or next(iter(radii))
    values = radii[kind]
    wrong = np.flatnonzero(~((values >= 0.0) & (values <= LARGEST)) & (values != WRONG))
    if len(wrong):
        raise InputError(
            f"{path}: {kind} radius {wrong[0] + 1} is {values[wrong[0]]:g}; expected 0 to {LARGEST:g}, or -1 where the "
            "prediction was wrong"
        )
    return Certificates(
        Header(bound=SOFT, notes=(NOTE, SOFT_NOTE)) if kind == "soft" else Header(notes=(NOTE,)),
        idx=-1 - np.arange(len(values)),
        label=np.zeros(len(values), np.int64),
        predict=np.where(values >= 0.0, 0, ABSTAIN),
        radius=np.maximum(values, 0.0),
        seconds=np.zeros(len(values)),
        name=f"{path.stem} (soft)" if kind == "soft" else path.stem,
    )


def kinds_in(path: Path) -> list[str]:
    """Which of KINDS a MATLAB file holds; errors as `read_matlab`."""
    return list(_radii(path))


def _radii(path: Path) -> dict[str, Floats]:
    """The plain matrices of KINDS, flat."""
    content, found = read_file(path, MOST_BYTES), dict[str, Floats]()
    try:
        if content[HEAD - 2 : HEAD] != ORDER:
            raise ValueError("its low bytes do not come first")
        for kind, data in _elements(content[HEAD:]):
            if kind == PACKED:
                raise ValueError("it is packed: save it with do_compression=False")
            parts = list(_elements(data)) if kind == MATRIX else []  # flags, shape, name and numbers
            name = parts[2][1].decode("ascii", errors="replace") if len(parts) > 3 else ""
            if name in KINDS and parts[3][0] in REALS:  # no cells or structures, which have elements there
                with np.errstate(invalid="ignore"):  # a NaN that signals
                    found[name] = np.frombuffer(parts[3][1], REALS[parts[3][0]]).astype(np.float64)
    except (ValueError, struct.error) as error:
        raise InputError(f"{path} is not a readable MATLAB file: {shown(error)}") from None
    return {name: found[name] for name in KINDS if name in found}


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(kind, data) of the elements in a row: 8 bytes of kind and size, or 4 where up to 4 bytes of data follow."""
    at = 0
    while at < len(content):
        kind, size = struct.unpack_from("<II", content, at)
        short = kind >> 16
        start = at + (4 if short else 8)
        kind, size = (kind & 0xFFFF, short) if short else (kind, size)
        if start + size > len(content) or short > 4:
            raise ValueError(f"an element of {size:,} bytes is cut short")
        yield kind, content[start : start + size]
        at = at + 8 if short else start + size + -size % 8
