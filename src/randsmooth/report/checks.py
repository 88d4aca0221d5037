"""What no comparison can be made of: tables without images, images twice, radii that their budget cannot reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

ROUNDED = 0.005  # a log prints three significant digits, perhaps rounded up
NAMED = 5  # rows listed of those at fault


def require_sound(tables: Sequence[Certificates]) -> None:
    """Raise InputError, naming table and rows, unless every table can be reported on."""
    for table in tables:
        if len(table) == 0:
            raise InputError(
                f"{table.name} holds no image, so there is nothing to report; certify some, or leave it out"
            )
        _require_once(table)
        _require_reachable(table)


def _require_once(table: Certificates) -> None:
    images, times = np.unique(table.idx, return_counts=True)
    twice = images[times > 1]
    if len(twice):
        raise InputError(f"{table.name} has more than one row for {_listed(twice)}; keep one row an image")


def _require_reachable(table: Certificates) -> None:
    """A log's radii fit the sigma, n and alpha that were given for it. Those of counts are derived from them."""
    header = table.header
    if table.counts is not None or header.sigma is None or header.n is None or header.alpha is None:
        return
    farthest = bounds.largest_radius(header.n, header.alpha, header.sigma)
    beyond = table.idx[table.radius > farthest * (1.0 + ROUNDED)]
    if len(beyond):
        raise InputError(
            f"{table.name}: the radius of {_listed(beyond)} is above {bounds.round_down(farthest, 3)}, the most that "
            f"n={header.n} samples at alpha={header.alpha:g} certify at sigma={header.sigma:g}; give the sigma, n and "
            "alpha that the log was made with"
        )


def _listed(idx: NDArray[np.int64]) -> str:
    """`image 3`, or `images 3, 17 and 40 more`."""
    shown, more = ", ".join(map(str, idx[:NAMED])), len(idx) - NAMED
    return f"image{'s' if len(idx) > 1 else ''} {shown}{f' and {more:,} more' if more > 0 else ''}"
