"""Labels as they come: whole numbers, class names, or none at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.data.encoded import MOST_CLASSES, NO_LABEL, check_names
from randsmooth.documents import shown
from randsmooth.errors import InputError

Where = Callable[[int], str]  # what to call image `index` in an error


def no_labels(total: int) -> Tensor:
    """(N,) NO_LABEL for each of `total` images."""
    return torch.full((total,), NO_LABEL, dtype=torch.int64)


def from_numbers(values: Any, where: Where) -> Tensor:
    """Labels (N,) int64 from an array of whole numbers (N,) or (N, 1); all -1 means that there are none.

    Raises:
        InputError: another type or shape, or a number that is no label; the message says which image has it.
    """
    found = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        way = "take argmax(1) of one-hot labels" if found.ndim == 2 else "give one whole number an image"
        raise InputError(f"labels have shape {found.shape}; expected (N,): {way}")
    if found.dtype.kind not in "iu":
        raise InputError(f"labels have type {found.dtype}; expected whole numbers from 0: y.astype(int)")
    return _checked(found, where)


def from_texts(values: Sequence[str], where: Where, source: str) -> tuple[Tensor, tuple[str, ...] | None]:
    """Labels (N,) from texts: numbers as they are; names as places in alphabetical order, with these names.

    Raises:
        InputError: an empty text beside others, a number below 0, or names that cannot name classes.
    """
    cells = [value.strip() for value in values]
    empty = next((row for row, cell in enumerate(cells) if not cell), None)
    if empty is not None:
        if not any(cells):
            return no_labels(len(cells)), None
        raise InputError(f"{where(empty)} has no label, and others have: complete it, or leave all labels out")
    if all(cell.removeprefix("-").isascii() and cell.removeprefix("-").isdigit() for cell in cells):
        too_long = next((row for row, cell in enumerate(cells) if len(cell) > 9), None)
        if too_long is not None:
            raise InputError(f"label {shown(cells[too_long])} of {where(too_long)} is not in 0..{MOST_CLASSES - 1}")
        return _checked(np.array([int(cell) for cell in cells], np.int64), where), None
    if all(map(_is_number, cells)):
        raise InputError(f"the labels of {source}, such as {shown(cells[0])}, must be whole numbers or names")
    names, places = np.unique(np.array(cells, dtype=object), return_inverse=True)
    return torch.from_numpy(places.astype(np.int64)), check_names(names.tolist(), source)


def _checked(found: NDArray[Any], where: Where) -> Tensor:
    if len(found) and (found == NO_LABEL).all():
        return no_labels(len(found))
    wrong = np.flatnonzero((found < 0) | (found >= MOST_CLASSES))
    if len(wrong):
        row = int(wrong[0])
        why = "; -1, for images without a label, must stand for all of them" if found[row] == NO_LABEL else ""
        raise InputError(f"label {found[row]} of {where(row)} is not in 0..{MOST_CLASSES - 1}{why}")
    return torch.from_numpy(found.astype(np.int64))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
