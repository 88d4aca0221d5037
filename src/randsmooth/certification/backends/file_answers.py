"""What the graph in a file answers, as logits, and batches of the size that the file fixes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from randsmooth.errors import InputError
from randsmooth.models import ForeignModel, votes


def in_parts(run: Callable[[np.ndarray], np.ndarray], images: np.ndarray, batch: int | None) -> np.ndarray:
    """The answers of `run` for `images`, asked in full batches of `batch` images, the last filled up with zeros.

    Example:
        >>> in_parts(lambda images: images[:, :1] * 2, np.arange(6.0).reshape(3, 2), 2)
        array([[0.],
               [4.],
               [8.]])
    """
    if batch is None or len(images) == batch:
        return run(images)
    parts = [images[start : start + batch] for start in range(0, len(images), batch)]
    missing = batch - len(parts[-1])
    filled = np.concatenate([parts[-1], np.zeros((missing, *images.shape[1:]), images.dtype)])
    return np.concatenate([run(part) for part in (*parts[:-1], filled)])[: len(images)]


def as_logits(answer: np.ndarray, model: ForeignModel) -> Tensor:
    """Logits as they are; labels (B,) as votes.

    Raises:
        InputError: the model gives labels, and nobody said how many classes there are.
    """
    found = torch.from_numpy(answer)
    if not model.labels:
        return found
    if model.num_classes is None:
        raise InputError(
            f"the {model.kind} answers with labels, which do not say how many classes there are: give "
            "num_classes (--num-classes on the command line)"
        )
    return votes(found, model.num_classes)
