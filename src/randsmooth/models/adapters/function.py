"""Any Python function as a base classifier: arrays in, logits or labels out."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.models.adapters.foreign_model import PythonModel, votes

ARRAYS = ("numpy", "torch")
OTHER_ARRAY = (TypeError, AttributeError)  # what code raises that was written for the other kind of array


class FunctionModel(PythonModel):
    """A function as a base classifier.

    Args:
        function: takes images (B, C, H, W) float32, in [0, 1] before noise was added, and gives logits (B, K), or
            labels (B,): whole numbers from 0, or names of classes. Either may be NumPy's, torch's or a list.
        takes: "numpy" or "torch", what the function is called with. By default NumPy's arrays, and torch's tensors if
            it cannot take those.
        num_classes: K, needed for labels unless the data set says it.
        classes: names of the classes, for a function that answers with names.
        identity: a name, given to no other model of yours: code cannot be compared.
        padded: whether to call it with full batches only. By default no more images are asked about than are counted.

    Example:
        >>> bright = FunctionModel(lambda x: (x.mean(axis=(1, 2, 3)) > 0.5).astype(int), num_classes=2)
        >>> bright.answer(torch.ones(2, 1, 8, 8))
        tensor([[0., 1.],
                [0., 1.]])
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        takes: str | None = None,
        num_classes: int | None = None,
        classes: Sequence[str] | None = None,
        identity: str | None = None,
        padded: bool = False,
    ) -> None:
        if not callable(function):
            raise InputError(f"{shown(repr(function))} cannot be called; expected a function of images")
        if takes is not None and takes not in ARRAYS:
            raise unknown("kind of array (takes)", takes, ARRAYS)
        self.function, self.takes, self.called, self.padded = function, takes, identity, padded
        self.classes = None if classes is None else tuple(classes)
        self.num_classes = num_classes if classes is None else len(classes)
        if self.num_classes is not None and (type(self.num_classes) is not int or self.num_classes < 2):
            raise InputError(f"num_classes={num_classes!r} must be a whole number, at least 2")
        self.name = getattr(function, "__qualname__", type(function).__qualname__)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether it gives logits or labels is known once it was called."""
        return f"Python function {self.name}" + (", labels only" if self.labels else "")

    def weights_hash(self) -> str:
        """That of the name given to it, since its code cannot be read."""
        return f"sha256:{hashlib.sha256(f'function {self.called}'.encode()).hexdigest()}"

    @property
    def unreadable(self) -> str:  # type: ignore[override]
        return f"the model is the function {self.name}, whose code cannot be compared"

    def for_classes(self, classes: Sequence[str]) -> Self:
        told = copy.copy(self.with_num_classes(len(classes)))
        told.classes = self.classes or tuple(classes)
        return told

    def answer(self, noisy: Tensor) -> Tensor:
        return self.logits_of(self._ask(noisy), len(noisy)).to(noisy.device)

    def _ask(self, noisy: Tensor) -> Any:
        """What the function says of a copy of `noisy`, so that it may write into what it is given."""
        first: Exception | None = None
        for takes in (self.takes,) if self.takes else ARRAYS:
            given = noisy.clone() if takes == "torch" else noisy.cpu().numpy().copy()
            try:
                answer = self.function(given)
            except InputError:
                raise
            except Exception as error:  # a user's function may raise anything
                first = first or error
                if not isinstance(error, OTHER_ARRAY):
                    break
            else:
                self.takes = takes
                return answer
        raise InputError(
            f"the function {self.name} failed on images {tuple(noisy.shape)} in float32, called with "
            f"{self.takes or ARRAYS[0]} arrays ({type(first).__name__}: {shown(first)})"
        ) from first

    def logits_of(self, answer: Any, images: int) -> Tensor:
        """(images, K) of what the function said about so many images: logits or votes. InputError if it is neither."""
        found = answer.detach() if isinstance(answer, Tensor) else self._tensor(answer)
        if found is not None and found.shape == (images,) and not found.is_floating_point():
            if self.num_classes is None:
                raise InputError(f"the function {self.name} answers with labels, of how many classes: give num_classes")
            self.labels = True
            return votes(found, self.num_classes)
        if found is None or found.dim() != 2 or len(found) != images or found.shape[1] < 2:
            got = type(answer).__name__ if found is None else f"{found.dtype} {tuple(found.shape)}"
            raise InputError(
                f"the function {self.name} answers {images} images with {got}; expected logits ({images}, K), K >= 2, "
                f"or labels ({images},), which are whole numbers or names of classes"
            )
        return found if found.dtype == torch.float64 else found.float()

    def _tensor(self, answer: Any) -> Tensor | None:
        """Numbers, or names of classes as their places; None for what is no array of either."""
        try:
            array = np.asarray(answer)
        except ValueError:  # lists of different lengths
            return None
        if array.dtype.kind == "U" or (array.size and all(isinstance(name, str) for name in array.flat)):
            if self.classes is None:
                raise InputError(f"the function {self.name} answers with names; say which there are: classes=[...]")
            if wrong := [name for name in array.flat if name not in self.classes]:
                raise unknown(f"class from the function {self.name}", wrong[0], self.classes)
            places = {name: place for place, name in enumerate(self.classes)}
            array = np.array([places[name] for name in array.flat], np.int64).reshape(array.shape)
        return torch.from_numpy(np.array(array)) if array.dtype.kind in "biuf" else None
