"""The labels of data sets on this machine, against which the labels of logs are checked.

They are read without torch, which takes long to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from randsmooth import data
from randsmooth.certificates import Certificates
from randsmooth.data.registry import folder_of

# Data sets whose images have the same order in logs and in the files that are read here.
IN_THE_ORDER_OF_LOGS = ("cifar10", "mnist")

# The split of a log that names none.
USUAL_SPLIT = "test"

# The column of a Parquet file that holds the labels.
LABEL_COLUMN = "label"


def labels_at_hand(
    tables: Sequence[Certificates],
) -> dict[str, NDArray[np.int64]]:
    """Return the labels (N,) of the data sets of logs, by data set and split.

    The keys are those of `check_tables`, such as "cifar10 test". A data set that is not
    in a folder here, or that takes long to read, is left out; nothing is fetched.
    """
    labels = {}
    for table in tables:
        name = table.header.dataset
        split = table.header.split or USUAL_SPLIT
        key = f"{name} {split}"
        if not table.is_log or name not in IN_THE_ORDER_OF_LOGS or key in labels:
            continue
        file = _file_of(name, split)
        if file is not None:
            labels[key] = _labels_in(file)
    return labels


def _file_of(name: str, split: str) -> Path | None:
    """Return the Parquet file of a split; None unless there is exactly one."""
    if not data.is_at_hand(name):
        return None
    files = list(folder_of(name).rglob(f"{split}*.parquet"))
    return files[0] if len(files) == 1 else None


def _labels_in(file: Path) -> NDArray[np.int64]:
    """Return the column of labels (N,), without the images beside it."""
    # Late, as few tables need it.
    from pyarrow import parquet

    column = parquet.read_table(file, columns=[LABEL_COLUMN])[LABEL_COLUMN]
    return np.asarray(column.to_numpy(), np.int64)
