"""Base classifiers that are no torch modules: what they take and give, and are known by."""

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from randsmooth.data.dataset_spec import Categories
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, Setting, WrongModel

# What torch says where something is differentiated, and nothing recorded how it was computed.
GRADIENT = re.compile(r"does not require grad|inference (tensor|mode)", re.IGNORECASE)


class ForeignModel(ABC):
    """A base classifier that is no torch module; a backend runs it.

    Attributes:
        kind: what a certificate calls it, such as "ONNX file".
        shape: that of the inputs that it takes, such as (C, H, W) or (d,); None where it
            does not say.
        num_classes: K; None where it does not say.
        labels: whether it answers with labels alone. They count as votes: logits of 1 and
            0.
        notes: what it does to a noisy image that the reader of a certificate should know.
        called: the name that its user gave it.
        unreadable: why it cannot be known by what it holds, so that its user has to name
            it; empty where it can.

    Example:
        >>> class Server(ForeignModel):
        ...     kind = "server"
        ...     def weights_hash(self):
        ...         return "sha256:none"
        >>> Server().kind, Server().shape
        ('server', None)
    """

    kind: str
    shape: tuple[int, ...] | None = None
    num_classes: int | None = None
    labels: bool = False
    notes: tuple[str, ...] = ()
    called: str | None = None
    unreadable: str = ""

    @abstractmethod
    def weights_hash(self) -> str:
        """Return a hash of what decides its answers, as far as it can be read.

        It is "sha256:" and 64 hexadecimal digits.
        """

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return it, or a copy, as it takes features with these names in this order.

        Args:
            columns: the names.
            held: those of the columns that hold codes of categories, which it is to see as
                their values.

        Raises:
            WrongModel: it knows other names, or cannot take categories.
        """
        if held:
            raise WrongModel(
                f"the model ({self.kind}) takes numbers alone: {no_table(held)}"
            )
        return self

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return it, or a copy, as it answers for these `classes` in their order.

        Raises:
            WrongModel: it knows classes that are not among them, or how many there are,
                and it is another number.
        """
        return self.with_num_classes(len(classes))

    def with_num_classes(self, num_classes: int) -> Self:
        """Return it where it says how many classes there are, else a copy that knows.

        Raises:
            WrongModel: it says another number.
        """
        if self.num_classes is None:
            changed = copy.copy(self)
            changed.num_classes = num_classes
            return changed
        if self.num_classes != num_classes:
            raise WrongModel(
                f"the model ({self.kind}) has {self.num_classes} classes, not {num_classes}"
            )
        return self


class PythonModel(ForeignModel):
    """A base classifier that is called in Python, with as many images at once as one likes.

    Attributes:
        padded: whether it is to be called with batches of one size only, filled up with
            images whose answers are thrown away, so that an answer's last bits never depend
            on how full a batch is; False where every answer costs.

    Example:
        >>> import torch
        >>> class Brightness(PythonModel):
        ...     kind = "brightness"
        ...     num_classes = 2
        ...     def weights_hash(self):
        ...         return "sha256:none"
        ...     def answer(self, noisy):
        ...         bright = noisy.mean(dim=(1, 2, 3))
        ...         return torch.stack([1 - bright, bright], dim=1)
        >>> Brightness().answer(torch.ones(2, 1, 8, 8)).argmax(dim=1)
        tensor([1, 1])
    """

    padded: bool = True

    @abstractmethod
    def answer(self, noisy: Tensor) -> Tensor:
        """Return (B, K) logits or votes of noisy inputs (B, ...) float32, on any device.

        Raises:
            Problem: it refuses them, or its answer is neither logits nor labels.
        """


def votes(labels: Tensor, num_classes: int | None, called: str = "model") -> Tensor:
    """Return (B, K) float32: 1 for the label (B,) of each image, 0 elsewhere.

    Raises:
        MissingValue: nobody said how many classes the model (`called`) knows.
        WrongModel: a label is not one of 0 to num_classes - 1.

    Example:
        >>> votes(torch.tensor([1, 0]), 3)
        tensor([[0., 1., 0.],
                [1., 0., 0.]])
    """
    if num_classes is None:
        raise MissingValue(
            f"the {called} answers with labels, of how many classes",
            field="num_classes",
            fix=("give ", Setting("num_classes")),
        )
    is_wrong = (labels < 0) | (labels >= num_classes)
    if bool(is_wrong.any()):
        raise WrongModel(
            f"the model answers with the label {int(labels[is_wrong][0])}; expected 0 to "
            f"{num_classes - 1}: is num_classes right?"
        )
    return F.one_hot(labels.long(), num_classes).to(torch.float32)


def no_table(held: Sequence[Categories]) -> str:
    """Return what to do about columns of categories that a model does not take."""
    names = shown(", ".join(column.name for column in held))
    return (
        f"encode or drop {names}, or give a scikit-learn pipeline that encodes them, "
        "fitted with a DataFrame"
    )
