"""MATLAB files of MACER's certification: the radius of each image that it got right, -1 for every other.

They are read without SciPy, whose reader ends the process on damaged files; little of the format is needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from randsmooth.certificates.header import Header
from randsmooth.certificates.logs.tsv import LARGEST, UNNUMBERED
from randsmooth.certificates.table import ABSTAIN, Certificates
from randsmooth.documents import read_file, shown
from randsmooth.errors import ForeignFile, InputError

KINDS = ("hard", "soft")  # Cohen et al.'s certificate, and MACER's of the soft classifier: the first that is there
SOFT = "empirical Bernstein, soft"  # the bound of the latter, whose radii do not give p_A
MOST_BYTES = 2**21  # both radii of 50,000 images take 0.8 MB
HEAD = 128  # bytes before the first element, of which the last two say that low bytes come first
MATRIX, REALS = 14, {7: "<f4", 9: "<f8"}  # kinds of elements, and of numbers in one
NOTE = "a MATLAB file says no class: 0 stands for the right one, and what is not right counts as an abstention"


def read_matlab(path: Path) -> Certificates:
    """Read what MACER's code left: the hard radii, or the soft ones where there are no others.

    Raises:
        InputError: no readable MATLAB file, one without radii (`ForeignFile`), or an impossible radius.

    Example:
        >>> import scipy.io
        >>> scipy.io.savemat("440.mat", {"hard": [0.5, -1.0]})
        >>> read_matlab(Path("440.mat")).predict.tolist()
        [0, -1]
    """
    content = read_file(path, MOST_BYTES)
    try:
        if content[HEAD - 2 : HEAD] != b"IM":
            raise ValueError("it begins otherwise than SciPy writes them")
        matrices = [list(_elements(data)) for kind, data in _elements(content[HEAD:]) if kind == MATRIX]
        named = {parts[2][1].decode("latin1"): parts[3] for parts in matrices if len(parts) > 3}
        found = {kind: named[kind] for kind in KINDS if kind in named and named[kind][0] in REALS}
        radii = {kind: np.frombuffer(data, REALS[number]) for kind, (number, data) in found.items()}
    except (ValueError, struct.error) as error:
        raise InputError(f"{path} is not a readable MATLAB file: {shown(error)}") from None
    if not radii:
        raise ForeignFile(f"{path} is a MATLAB file without 'hard' or 'soft' radii, unpacked as MACER leaves them")
    kind = next(iter(radii))
    with np.errstate(invalid="ignore"):  # a NaN that signals
        radius = radii[kind].astype(np.float64)
    right = radius >= 0.0
    wrong = np.flatnonzero(~(right & (radius <= LARGEST)) & (radius != -1.0))
    if len(wrong):
        row = wrong[0]
        raise InputError(f"{path}: {kind} radius {row + 1} is {radius[row]}; expected 0 to {LARGEST:g}, or -1 if wrong")
    header, N = Header(bound=SOFT if kind == "soft" else None, notes=(UNNUMBERED, NOTE)), len(radius)
    answers = np.where(right, 0, ABSTAIN), np.where(right, radius, 0.0)
    return Certificates(header, -1 - np.arange(N), np.zeros(N, np.int64), *answers, np.zeros(N), name=path.stem)


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
