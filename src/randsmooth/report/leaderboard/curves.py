"""The curves of a table in a few hundred bytes, so that a page of thousands can draw any of them on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates

STEPS = 60  # of the radius, up to the largest of a right image
LEVELS = np.round(np.append(np.linspace(0.0, 0.975, 40), (0.98, 0.985, 0.99, 0.995, 0.999, 1.0)), 3)  # of p_A
UNIT = 1000  # a share is kept in tenths of a percent


@dataclass(frozen=True)
class Curves:
    """What a page draws of a table: certified accuracy by radius, and the share of images by p_A.

    Attributes:
        end: the largest radius of a right image.
        accuracy: (STEPS + 1,) certified accuracy at radii from 0 to `end`, in 1/UNIT; empty without labels.
        p_a: shares of images with p_A >= the last so many of LEVELS, in 1/UNIT: of a log from 1/2 on, or none at all.
    """

    end: float
    accuracy: list[int]
    p_a: list[int]


def curves_of(table: Certificates) -> Curves:
    """The curves of a table, as far as it determines them.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> curves = curves_of(from_radii([0.0, 0.3, 0.8, 1.2]))
        >>> curves.end, curves.accuracy[0], curves.accuracy[-1], curves.p_a
        (1.2, 750, 250, [])
    """
    end = float(np.max(table.radius * table.correct, initial=0.0))
    radii = np.minimum(np.linspace(0.0, 1.0, STEPS + 1) * end, end)
    accuracy = metrics.certified_shares(table, radii) if table.labelled else np.zeros(0)
    p_a = metrics.p_a_curve(table, LEVELS) if metrics.knows_p_a(table) else np.zeros(0)
    return Curves(end, _kept(accuracy), _kept(p_a[~np.isnan(p_a)]))


def _kept(shares: NDArray[np.float64]) -> list[int]:
    return [int(share) for share in np.rint(shares * UNIT)]
