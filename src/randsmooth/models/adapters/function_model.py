"""A function from arrays to logits or labels as a base classifier."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import BadValue, ModelFailed, Problem, WrongModel
from randsmooth.models.adapters.foreign_model import GRADIENT, PythonModel, votes
from randsmooth.models.answers import described

# The kinds of arrays that a function is called with: the first that it takes.
KINDS_OF_ARRAYS: tuple[str, ...] = ("numpy", "torch")


class FunctionModel(PythonModel):
    """A function as a base classifier.

    By itself, it is asked about no more images than are counted.

    Args:
        function: takes inputs float32, images (B, C, H, W) in [0, 1] before noise was
            added, or features (B, d), and gives logits (B, K), or labels (B,): whole
            numbers from 0. It is called with NumPy's arrays, or with torch's tensors if it
            cannot take those, and may answer with either, or with a list.
        num_classes: K, needed for labels unless the data set says it.
        identity: a name, given to no other model of yours: code cannot be compared.

    Example:
        >>> def is_bright(images):
        ...     return (images.mean(axis=(1, 2, 3)) > 0.5).astype(int)
        >>> FunctionModel(is_bright, num_classes=2).answer(torch.ones(2, 1, 8, 8))
        tensor([[0., 1.],
                [0., 1.]])
    """

    padded = False

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        num_classes: int | None = None,
        identity: str | None = None,
    ) -> None:
        if num_classes is not None and (
            type(num_classes) is not int or num_classes < 2
        ):
            raise BadValue(
                field="num_classes",
                value=num_classes,
                expected="must be a whole number, at least 2",
            )
        self.function = function
        self.called = identity
        self.num_classes = num_classes
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.unreadable = (
            f"the model is the function {self.name}, whose code cannot be compared"
        )
        # The kinds of arrays that it may take: one, once it was called.
        self.takes = KINDS_OF_ARRAYS
        # Whether it takes gradients without torch.enable_grad().
        self.gradients = False

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether it gives logits or labels is known once it was called."""
        kind = f"Python function {self.name}"
        if self.labels:
            kind += ", labels only"
        return kind

    def weights_hash(self) -> str:
        """Return that of the name given to it, since its code cannot be read."""
        digest = hashlib.sha256(f"function {self.called}".encode()).hexdigest()
        return f"sha256:{digest}"

    def answer(self, noisy: Tensor) -> Tensor:
        return self._logits(self._ask(noisy), len(noisy)).to(noisy.device)

    def _ask(self, noisy: Tensor) -> Any:
        """Return what the function answers, in whatever form.

        It is given a copy of `noisy`, so that it may write into it.
        """
        faults: list[Exception] = []
        for kind_of_arrays in self.takes:
            try:
                answer = self._call(noisy, kind_of_arrays)
                self.takes = (kind_of_arrays,)
                return answer
            except Problem:
                raise
            except Exception as error:
                # A user's function may raise anything.
                faults.append(error)
                if not isinstance(error, TypeError | AttributeError):
                    # Code that is for other arrays raises one of these two.
                    break
        reason = f"{type(faults[0]).__name__}: {shown(faults[0])}"
        raise ModelFailed(
            f"the function {self.name} failed on images, {self.takes[0]} arrays "
            f"{tuple(noisy.shape)} in float32 ({reason})"
        ) from faults[0]

    def _call(self, noisy: Tensor, kind_of_arrays: str) -> Any:
        """Return what the function answers to a copy of `noisy`.

        torch records nothing that the function does not ask to be recorded. One that takes
        a gradient without asking for that is called as a script would call it, from now on.
        """
        copy = (
            noisy.clone() if kind_of_arrays == "torch" else noisy.cpu().numpy().copy()
        )
        with torch.inference_mode(False), torch.set_grad_enabled(self.gradients):
            try:
                return self.function(copy)
            except RuntimeError as error:
                if self.gradients or not GRADIENT.search(str(error)):
                    raise
        self.gradients = True
        return self._call(noisy, kind_of_arrays)

    def _logits(self, answer: Any, images: int) -> Tensor:
        """Return (images, K) of what the function answered: logits or votes.

        Raises:
            WrongModel: it is neither.
        """
        numbers = answer.detach() if isinstance(answer, Tensor) else _tensor_of(answer)
        if numbers is not None:
            if numbers.shape == (images,) and not numbers.is_floating_point():
                self.labels = True
                return votes(numbers, self.num_classes, f"function {self.name}")
            if _are_logits(numbers, images):
                return numbers if numbers.dtype == torch.float64 else numbers.float()
        raise WrongModel(
            f"the function {self.name} answers {images} images with {described(answer)}; "
            f"expected logits ({images}, K), K >= 2, or labels ({images},), whole numbers"
            f"{_way_to_logits(answer, images)}"
        )


def _are_logits(numbers: Tensor, images: int) -> bool:
    """Return whether an answer has two columns or more, and a row for each image."""
    if numbers.dim() != 2 or numbers.is_complex():
        return False
    rows, columns = numbers.shape
    return rows == images and columns >= 2


def _tensor_of(answer: Any) -> Tensor | None:
    """Return the numbers of an answer; None for what is no array of them."""
    try:
        array = np.array(answer)
    except ValueError:
        # As of lists of different lengths.
        return None
    if array.dtype.kind not in "biuf":
        return None
    return torch.from_numpy(array)


def _way_to_logits(answer: Any, images: int) -> str:
    """Return what a function may give in place of this answer.

    The answer is empty where that is not known.
    """
    if isinstance(answer, Mapping | tuple) or hasattr(answer, "logits"):
        return ": let it return the logits alone"
    shape = tuple(getattr(answer, "shape", ()))
    if shape not in ((images,), (images, 1)):
        return ""
    return (
        ": for two classes let it return two columns, of a probability p "
        "np.stack([1 - p, p], 1), of a logit z np.stack([0 * z, z], 1), p and z of shape "
        f"({images},); for labels .astype(int)"
    )
