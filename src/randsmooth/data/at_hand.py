"""Which named data sets are on this machine: for what should not fetch one unasked."""

from __future__ import annotations

import os
from pathlib import Path

from randsmooth.data.loading import HOME
from randsmooth.data.registry import DATASETS


def is_at_hand(dataset: str) -> bool:
    """Whether `data.load` finds the named `dataset` without a network.

    Example:
        >>> is_at_hand("digits")
        True
    """
    home = os.environ.get(HOME)
    return DATASETS[dataset].read is not None or (home is not None and (Path(home) / dataset).is_dir())
