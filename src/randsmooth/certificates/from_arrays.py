"""A table of radii that are at hand as arrays, such as another program's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.header import Header
from randsmooth.certificates.rows import check_predictions
from randsmooth.certificates.table import ABSTAIN, Certificates
from randsmooth.errors import InputError


def from_radii(
    radius: ArrayLike,
    *,
    label: ArrayLike | None = None,
    predict: ArrayLike | None = None,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
    name: str = "",
) -> Certificates:
    """The table of N images whose radii another program certified, as though they were read from its log.

    Args:
        radius: (N,) certified L2 radii in units of pixels in [0, 1], 0 where nothing was certified.
        label: (N,) true classes; class 0 if not given.
        predict: (N,) certified classes, or ABSTAIN (-1); the label where the radius is above 0 if not given.
        sigma, n, alpha: of the certification, as far as they are known.
        name: what to call the table in a comparison.

    Raises:
        InputError: arrays of several lengths, classes that are none, a radius that is negative or not finite, or one
            above 0 where the certification abstained.

    Example:
        >>> table = from_radii([0.0, 0.4, 0.7], label=[0, 0, 1], predict=[-1, 0, 0])
        >>> table.correct.tolist()
        [False, True, False]
    """
    radius = np.atleast_1d(np.asarray(radius, np.float64))
    classes = np.zeros(radius.shape, np.int64) if label is None else _classes("label", label, radius.shape)
    certified = np.where(radius > 0.0, classes, ABSTAIN)
    answers = certified if predict is None else _classes("predict", predict, radius.shape)
    check_predictions(classes, answers, radius)
    header = Header(sigma=sigma, n=n, alpha=alpha)
    return Certificates(header, np.arange(len(radius)), classes, answers, radius, np.zeros(len(radius)), name=name)


def _classes(what: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(values)
    if found.shape != shape or (found.size and found.dtype.kind not in "iu"):
        raise InputError(f"{what} must hold one whole number for each of {shape[0]} radii; got {found.tolist()}")
    return found.astype(np.int64)
