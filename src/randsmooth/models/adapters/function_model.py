"""A function from arrays to logits or labels as a base classifier."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import BadValue, ModelFailed, Problem, WrongModel
from randsmooth.models.adapters.declined_labels import labels_of
from randsmooth.models.adapters.foreign_model import (
    GRADIENT,
    PythonModel,
    declines,
    votes,
)
from randsmooth.models.answers import described

# The kinds of arrays that a function is tried with, in this order.
KINDS_OF_ARRAYS: tuple[str, ...] = ("numpy", "torch")


class FunctionModel(PythonModel):
    """A function as a base classifier.

    It is never asked about more images than are counted, since every answer may cost.

    Args:
        function: takes inputs float32, and gives logits (B, K), or labels (B,), which are
            whole numbers from 0. Inputs are images (B, C, H, W), which were in [0, 1]
            before noise was added, or features (B, d). It is called with NumPy's arrays, or
            with torch's tensors if it cannot take those, and may answer with either, or
            with a list. A function that may decline (see `declining`) answers with -1,
            None or NaN in place of a label, or with logits of one class more. Of texts
            (see `on_texts`) it is called with a list of B strings.
        num_classes: K, which labels need unless the data set says it.
        identity: a name that you give to no other model. Code cannot be compared, so this
            name tells models apart.

    Example:
        >>> def is_bright(images):
        ...     return (images.mean(axis=(1, 2, 3)) > 0.5).astype(int)
        >>> FunctionModel(is_bright, num_classes=2).answer(torch.ones(2, 1, 8, 8))
        tensor([[0., 1.],
                [0., 1.]])
    """

    padded = False
    reads_texts = True
    # Whether a function answers with labels is known only after its first answer.
    adds_refusal = True

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        num_classes: int | None = None,
        identity: str | None = None,
    ) -> None:
        # A bool is an int too, but no number of classes.
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
        # The kinds of arrays that it may take. After its first answer it is one kind.
        self.takes = KINDS_OF_ARRAYS
        # Whether it computes gradients inside, without torch.enable_grad().
        self.gradients = False

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What the model is, in the words of a certificate.

        Whether it answers with labels is known only after its first answer.
        """
        kind = f"Python function {self.name}"
        if self.labels:
            kind += ", labels only"
        return kind

    def weights_hash(self) -> str:
        """Return the hash of the name that its user gave it, since code cannot be compared."""
        digest = hashlib.sha256(f"function {self.called}".encode()).hexdigest()
        return f"sha256:{digest}"

    def answer(self, noisy: Tensor) -> Tensor:
        return self._logits(self._ask(noisy), len(noisy)).to(noisy.device)

    def _ask(self, noisy: Tensor) -> Any:
        """Return what the function answers, in whatever form.

        Raises:
            ModelFailed: it fails with all kinds of arrays that it may take.
        """
        faults: list[Exception] = []
        for kind_of_arrays in self.takes:
            try:
                answer = self._call(noisy, kind_of_arrays)
                self.takes = (kind_of_arrays,)
                return answer
            except Problem:
                raise
            # A user's function may raise anything.
            except Exception as error:
                faults.append(error)
                # Code that is for the other kind of arrays raises one of these two. Any
                # other error is about something else.
                if not isinstance(error, TypeError | AttributeError):
                    break
        # The user most likely wrote the function for the first kind.
        reason = f"{type(faults[0]).__name__}: {shown(faults[0])}"
        raise ModelFailed(
            f"the function {self.name} failed on {self._described(noisy)} ({reason})"
        ) from faults[0]

    def _described(self, noisy: Tensor) -> str:
        """Return in words what the function is called with."""
        if self.mask is not None:
            return f"a list of {len(noisy)} texts"
        return f"images, {self.takes[0]} arrays {tuple(noisy.shape)} in float32"

    def _call(self, noisy: Tensor, kind_of_arrays: str) -> Any:
        """Return what the function answers to a copy of `noisy`, into which it may write.

        torch first records nothing for gradients, unless the function calls
        torch.enable_grad(). A function that computes a gradient without that fails; then it
        is called again, now and later, with recording, as in a script of its user.
        """
        copy: Any = noisy
        if self.mask is not None:
            copy = self.texts(noisy)
        elif kind_of_arrays == "torch":
            copy = noisy.clone()
        else:
            copy = noisy.cpu().numpy().copy()
        with torch.inference_mode(False), torch.set_grad_enabled(self.gradients):
            try:
                return self.function(copy)
            except RuntimeError as error:
                if self.gradients or not GRADIENT.search(str(error)):
                    raise
        self.gradients = True
        return self._call(noisy, kind_of_arrays)

    def _logits(self, answer: Any, images: int) -> Tensor:
        """Return logits (B, K) made of the function's answer, or votes made of labels.

        Args:
            answer: what the function returned.
            images: B, the number of images that it was given.

        Raises:
            WrongModel: the answer is neither logits nor labels.
        """
        kind = f"function {self.name}"
        numbers = answer.detach() if isinstance(answer, Tensor) else _tensor_of(answer)
        if numbers is not None and _are_logits(numbers, images):
            return numbers if numbers.dtype == torch.float64 else numbers.float()

        # Floats are labels only of a function that declines, as NaN: of another one they
        # may be probabilities.
        labels = labels_of(answer, images, floats=self.refusal_name is not None)
        if labels is not None:
            self.labels = True
            return votes(labels, self.num_classes, kind, self.refusal)
        if labels_of(answer, images, floats=True) is not None and _has_nan(numbers):
            raise declines(kind)
        raise WrongModel(
            f"the {kind} answers {images} images with {described(answer)}; "
            f"expected logits ({images}, K), K >= 2, or labels ({images},), whole numbers"
            f"{_way_to_logits(answer, images)}"
        )


def _has_nan(numbers: Tensor | None) -> bool:
    """Return whether some of the numbers, if there are any, are NaN."""
    return numbers is not None and bool(numbers.isnan().any())


def _are_logits(numbers: Tensor, images: int) -> bool:
    """Return whether an answer is real numbers (images, K), K >= 2."""
    if numbers.dim() != 2 or numbers.is_complex():
        return False
    rows, columns = numbers.shape
    return rows == images and columns >= 2


def _tensor_of(answer: Any) -> Tensor | None:
    """Return the numbers of an answer that is no tensor; None where it is no array of them."""
    try:
        array = np.array(answer)
    # It is raised for lists of different lengths.
    except ValueError:
        return None
    # Truth values, whole numbers with and without sign, and floats.
    if array.dtype.kind not in "biuf":
        return None
    return torch.from_numpy(array)


def _way_to_logits(answer: Any, images: int) -> str:
    """Return the end of an error, which tells what the function can return instead.

    It is empty where that is not known.

    Args:
        answer: what the function returned.
        images: the number of images that it was given.
    """
    if isinstance(answer, Mapping | tuple) or hasattr(answer, "logits"):
        return ": let it return the logits alone"
    shape = tuple(getattr(answer, "shape", ()))
    if shape not in ((images,), (images, 1)):
        return ""
    return (
        ": for two classes let it return two columns, np.stack([1 - p, p], 1) for a "
        "probability p or np.stack([0 * z, z], 1) for a logit z, where p and z have the "
        f"shape ({images},); for labels let it return .astype(int)"
    )
