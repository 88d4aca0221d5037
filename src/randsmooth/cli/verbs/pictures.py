"""Images of the data set that tables were certified on, where it is at hand: nothing is fetched for a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.documents import shown
from randsmooth.errors import InputError

if TYPE_CHECKING:
    from randsmooth.data import Images
    from randsmooth.report import Pictures


def pictures_of(tables: Sequence[Certificates]) -> Pictures:
    """Pixels by position in the split that the first table with a known one was certified on.

    Raises:
        InputError: no table says its data set and split, the data is not on this machine, or its labels are not those
            of the tables.
    """
    known = [table for table in tables if table.header.dataset and table.header.split]
    if not known:
        raise InputError("no table says which data set and split its images are from")
    from randsmooth import data

    header = known[0].header
    dataset, split = str(header.dataset), str(header.split)
    if dataset not in data.DATASETS:  # a folder that a file names is not opened unasked
        raise InputError(f"{shown(dataset)} is not the name of a data set, and pictures are shown of those only")
    if not data.is_at_hand(dataset):
        raise InputError(f"{dataset} is not on this machine; set RANDSMOOTH_DATA to the folder that holds it")
    images = data.load(dataset, split, resize=header.resize, crop=header.crop)
    for table in tables:
        _require_labels(table, images)
    return lambda idx: _pixels(images, idx)


def _require_labels(table: Certificates, images: Images) -> None:
    inside = (table.idx >= 0) & (table.idx < len(images))
    if not inside.all() or not np.array_equal(images.labels.numpy()[table.idx], table.label):
        raise InputError(f"the images at hand are not those of {table.name}: their labels differ")


def _pixels(images: Images, idx: Sequence[int]) -> list[NDArray[np.uint8]]:
    import torch

    x, _ = images.batch(torch.tensor(list(idx)))
    return list((x * 255.0).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy())
