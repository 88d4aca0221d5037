"""A base classifier that is no torch module."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from randsmooth.errors import InputError


class ForeignModel(ABC):
    """A base classifier that is no torch module: what it takes and gives, and what it is known by. A backend runs it.

    Attributes:
        kind: what a certificate calls it, such as "ONNX file".
        shape: (C, H, W) of the images that it takes; None where it does not say.
        num_classes: K; None where it does not say.
        labels: whether it answers with labels alone. They count as votes: logits of 1 and 0.
        notes: what it does to a noisy image that the reader of a certificate should know.
        called: the name that its user gave it.
        unreadable: why it cannot be known by what it holds, so that its user has to name it; empty where it can.

    Example:
        >>> class Server(ForeignModel):
        ...     kind = "server"
        ...     def weights_hash(self):
        ...         return "sha256:none"
        >>> Server().kind, Server().shape
        ('server', None)
    """

    kind: str
    shape: tuple[int, int, int] | None = None
    num_classes: int | None = None
    labels: bool = False
    notes: tuple[str, ...] = ()
    called: str | None = None
    unreadable: str = ""

    @abstractmethod
    def weights_hash(self) -> str:
        """A hash of what decides its answers, as far as it can be read: "sha256:" and 64 hexadecimal digits."""

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Itself, or a copy, that answers for these `classes` in their order.

        Raises:
            InputError: it knows classes that are not among them, or how many there are, and it is another number.
        """
        return self.with_num_classes(len(classes))

    def with_num_classes(self, num_classes: int) -> Self:
        """Itself where it says how many classes there are, else a copy that was told.

        Raises:
            InputError: it says another number.
        """
        if self.num_classes is not None:
            if self.num_classes != num_classes:
                raise InputError(f"the model ({self.kind}) has {self.num_classes} classes, not {num_classes}")
            return self
        told = copy.copy(self)
        told.num_classes = num_classes
        return told


def votes(labels: Tensor, num_classes: int) -> Tensor:
    """(B, K) float32: 1 for the label (B,) of each image, 0 elsewhere.

    Raises:
        InputError: a label is not one of 0 to num_classes - 1.

    Example:
        >>> votes(torch.tensor([1, 0]), 3)
        tensor([[0., 1., 0.],
                [1., 0., 0.]])
    """
    wrong = (labels < 0) | (labels >= num_classes)
    if bool(wrong.any()):
        raise InputError(
            f"the model answers with the label {int(labels[wrong][0])}; expected 0 to {num_classes - 1}, the "
            f"{num_classes} classes: is num_classes right?"
        )
    return F.one_hot(labels.long(), num_classes).to(torch.float32)


class PythonModel(ForeignModel):
    """A base classifier that is called in Python, with as many images at once as one likes.

    Attributes:
        padded: whether it is to be called with batches of one size only, filled up with images whose answers are thrown
            away, so that an answer's last bits never depend on how full a batch is; False where every answer costs.

    Example:
        >>> import torch
        >>> class Brightness(PythonModel):
        ...     kind, num_classes = "brightness", 2
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
        """(B, K) logits or votes of noisy images (B, C, H, W) float32, on any device.

        Raises:
            InputError: it refuses them, or its answer is neither logits nor labels.
        """
