"""Labels among which some answers may be declined: -1, None or NaN in their places."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.models.adapters.foreign_model import DECLINED


def are_declined(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (B,) whether each of `labels` (B,) stands for a declined answer.

    Example:
        >>> are_declined(np.array([0.0, np.nan, -1.0])).tolist()
        [False, True, True]
        >>> are_declined(np.array(["cat", None], object)).tolist()
        [False, True]
    """
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels) | (labels == DECLINED))
    if labels.dtype.kind == "O":
        return np.array([_is_declined(label) for label in labels], bool)
    if labels.dtype.kind == "i":
        return np.asarray(labels == DECLINED)
    # Texts, truth values and numbers without a sign have no value for it.
    return np.zeros(labels.shape, bool)


def _is_declined(label: object) -> bool:
    """Return whether a single label of any type stands for a declined answer."""
    if label is None:
        return True
    is_number = isinstance(label, int | float | np.integer | np.floating)
    # NaN alone is not equal to itself.
    return is_number and (label != label or label == DECLINED)


def labels_of(answer: Any, images: int, *, floats: bool) -> Tensor | None:
    """Return (images,) the labels in an answer, DECLINED (-1) where it is declined.

    Args:
        answer: an array, a tensor or a list of whole numbers, None among them or not.
        images: how many images were asked about.
        floats: whether floats are labels too, if all are whole numbers or NaN.

    Returns:
        int64 labels, or integers of the answer's own type; None where the answer is
        something else than labels.

    Example:
        >>> labels_of([3, None], 2, floats=False)
        tensor([ 3, -1])
        >>> labels_of([3.0, float("nan")], 2, floats=True)
        tensor([ 3, -1])
        >>> labels_of([0.3, 0.9], 2, floats=True) is None
        True
    """
    if isinstance(answer, Tensor):
        return _labels_of_tensor(answer, images, floats=floats)
    try:
        array = np.array(answer)
    # It is raised for lists of different lengths.
    except ValueError:
        return None
    if array.shape != (images,):
        return None
    # Truth values, and whole numbers with and without a sign.
    if array.dtype.kind in "biu":
        return torch.from_numpy(array)
    if array.dtype.kind == "O":
        return _whole(array)
    return _whole(array) if array.dtype.kind == "f" and floats else None


def _labels_of_tensor(answer: Tensor, images: int, *, floats: bool) -> Tensor | None:
    """Return (images,) the labels in a tensor, as `labels_of` does."""
    if tuple(answer.shape) != (images,) or answer.is_complex():
        return None
    if not answer.is_floating_point():
        return answer.detach()
    # NumPy has no bfloat16.
    return _whole(answer.detach().cpu().double().numpy()) if floats else None


def _whole(array: NDArray[Any]) -> Tensor | None:
    """Return labels (B,) int64 of numbers (B,); None where one is no whole number."""
    declined = are_declined(array)
    try:
        numbers = np.where(declined, DECLINED, array).astype(np.float64)
    # It is raised for objects that are no numbers.
    except (TypeError, ValueError):
        return None
    are_whole = bool((numbers == np.floor(numbers)).all())
    return torch.from_numpy(numbers.astype(np.int64)) if are_whole else None
