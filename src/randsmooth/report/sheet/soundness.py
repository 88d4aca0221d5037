"""What no comparison can be made of: tables without images, images twice, radii that their budget cannot reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from randsmooth.certificates import Certificates, name_images, require_reachable
from randsmooth.errors import InputError


def require_sound(tables: Sequence[Certificates]) -> None:
    """Raise InputError, naming table and rows, unless every table can be reported on."""
    for table in tables:
        if len(table) == 0:
            raise InputError(
                f"{table.name} holds no image, so there is nothing to report; certify some, or leave it out"
            )
        _require_once(table)
        require_reachable(table)


def _require_once(table: Certificates) -> None:
    images, times = np.unique(table.idx, return_counts=True)
    twice = images[times > 1]
    if len(twice):
        raise InputError(f"{table.name} has more than one row for {name_images(twice)}; keep one row an image")
