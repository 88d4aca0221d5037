"""MATLAB files of MACER's certification: what they say, and why no table can be made of them."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np

from randsmooth.errors import InputError

MAGIC = "MATLAB 5.0 MAT-file"
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

    try:
        there = [name for name, _, kind in io.whosmat(path) if name in KINDS and kind != "cell"]
        return {name: io.loadmat(path, variable_names=[name])[name].astype(np.float64).ravel() for name in there}
    except (ValueError, TypeError, NotImplementedError, OSError, io.matlab.MatReadError) as error:
        raise InputError(f"{path} is not a readable MATLAB file: {error}") from error


def _acr(radii: np.ndarray) -> float:
    return float(np.maximum(radii, 0.0).mean()) if len(radii) else 0.0
