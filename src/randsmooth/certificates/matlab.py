"""MATLAB files of MACER's certification: what they say, and why no table can be made of them."""

from __future__ import annotations

import math
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import numpy as np

from randsmooth.documents import read_file, shown
from randsmooth.errors import InputError

MAGIC = "MATLAB 5.0 MAT-file"
MOST_BYTES = 2**20  # of the file, which may be packed a thousandfold: both radii of 50,000 images take 0.8 MB
NUMBERS = {"double", "single", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
DAMAGED = (  # what SciPy's reader raises on files that are
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, NotImplementedError, OSError, EOFError),
    *(MemoryError, RuntimeError, zlib.error, struct.error),
)
KINDS = ("hard", "soft")  # Cohen et al.'s certificate, and MACER's of the soft classifier


def refuse(path: Path) -> NoReturn:
    """Raise InputError that says what the file holds: radii, -1 where the prediction was wrong, and nothing else."""
    radii = _radii(path)
    if not radii:
        raise InputError(f"{path} is a MATLAB file without certificates: MACER's hold 'hard' or 'soft' radii")
    told = ", ".join(f"{kind} ACR {_acr(values):.3f} of {len(values):,} images" for kind, values in radii.items())
    raise InputError(
        f"{path} is a MATLAB file of MACER's certification ({told}). It holds radii, -1 where the prediction was wrong "
        "or none, but neither images nor classes, so that no table can be made of it without inventing them; its radii "
        f"are scipy.io.loadmat(FILE)[{next(iter(radii))!r}]"
    )


def _radii(path: Path) -> dict[str, np.ndarray]:
    from scipy import io

    content = BytesIO(read_file(path, MOST_BYTES))
    try:
        there = [name for name, shape, kind in io.whosmat(content) if name in KINDS and _is_list(shape, kind)]
        return {name: io.loadmat(content, variable_names=[name])[name].astype(np.float64).ravel() for name in there}
    except (*DAMAGED, io.matlab.MatReadError) as error:
        raise InputError(f"{path} is not a readable MATLAB file: {shown(error)}") from None


def _is_list(shape: tuple[int, ...], kind: str) -> bool:
    return kind in NUMBERS and math.prod(shape) <= MOST_BYTES


def _acr(radii: np.ndarray) -> float:
    return float(np.maximum(radii, 0.0).mean()) if len(radii) else 0.0
