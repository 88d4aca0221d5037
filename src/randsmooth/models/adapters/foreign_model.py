"""What every base classifier that is no torch module has: inputs, answers, an identity."""

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from randsmooth.data.dataset_spec import Categories
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, Setting, WrongModel
from randsmooth.word_codes import read

# Messages of torch where a gradient is asked for, but torch was told to record nothing.
GRADIENT = re.compile(r"does not require grad|inference (tensor|mode)", re.IGNORECASE)


# The label of an answer by which a model declined.
DECLINED = -1


class ForeignModel(ABC):
    """A base classifier that is no torch module. A backend of the certification runs it.

    Attributes:
        kind: what the model is, in the words of a certificate, such as "ONNX file".
        shape: the shape of an input, such as (C, H, W) or (d,); None where the model
            does not say.
        num_classes: K; None where the model does not say.
        labels: whether it answers with labels alone. A label counts as a vote: a logit of
            1, where the other classes have 0.
        refusal_name: the name of the class that stands for declined answers; None where
            the model may not decline. `declining` sets it.
        refusal: the number of that class; None where it is not known, or the model may
            not decline.
        notes: steps on a noisy image of which the reader of a certificate should know.
        called: the name that its user gave the model; None: no name.
        unreadable: why the content of the model cannot be hashed, so that its user has to
            name it; empty where it can be hashed.

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
    refusal_name: str | None = None
    refusal: int | None = None
    notes: tuple[str, ...] = ()
    called: str | None = None
    unreadable: str = ""

    @abstractmethod
    def weights_hash(self) -> str:
        """Return a hash of what decides the answers, as far as that can be read.

        Returns:
            "sha256:" and 64 hexadecimal digits.
        """

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return the model, or a changed copy, that takes features called `columns`.

        Args:
            columns: the names of the features, in the order in which they come.
            held: those of the columns that hold codes of categories. The model shall see
                the categories themselves.

        Raises:
            WrongModel: the model knows other names, or cannot take categories.
        """
        # A model of this class knows no names; a subclass may.
        if held:
            raise WrongModel(
                f"the model ({self.kind}) takes numbers alone: {advice_on_categories(held)}"
            )
        return self

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return the model, or a changed copy, that answers for `classes` in their order.

        Raises:
            WrongModel: the model knows other classes, or another number of them.
        """
        # A model of this class knows no names; a subclass may.
        changed = self._counting(len(classes))
        return changed.with_refusal_among(classes)

    def with_num_classes(self, num_classes: int) -> Self:
        """Return the model, or a changed copy, that knows how many classes there are.

        Args:
            num_classes: K. Where declined answers are added to the classes of a model, K
                does not count them.

        Raises:
            WrongModel: the model has another number of classes.
        """
        if self.refusal_name is None or not self.adds_refusal:
            return self._counting(num_classes)
        changed = copy.copy(self._counting(num_classes + 1))
        if changed.refusal is None:
            changed.refusal = num_classes
        return changed

    def _counting(self, num_classes: int) -> Self:
        """Return the model, or a changed copy, of which all classes are `num_classes`.

        Raises:
            WrongModel: the model has another number of classes.
        """
        if self.num_classes is None:
            changed = copy.copy(self)
            changed.num_classes = num_classes
            return changed
        if self.num_classes != num_classes:
            raise WrongModel(
                f"the model ({self.kind}) has {self.num_classes} classes, "
                f"not {num_classes}"
            )
        return self

    def declining(self, name: str) -> Self:
        """Return the model, or a copy, that may decline by a class called `name`.

        Of a model whose answers are logits, the class is one of those that it has. To the
        classes of a model that answers with labels it is added as the last one, unless the
        name is the number of a class.
        """
        if self.refusal_name == name:
            return self
        changed = copy.copy(self)
        changed.refusal_name = name
        # How many classes there are is not known yet.
        if self.num_classes is None:
            return changed
        if name.isdecimal() and int(name) < self.num_classes:
            changed.refusal = int(name)
        elif self.adds_refusal:
            changed.refusal = self.num_classes
            changed.num_classes = self.num_classes + 1
        return changed

    @property
    def adds_refusal(self) -> bool:
        """Whether declined answers are no class of the model by itself, but added."""
        return self.labels

    def with_refusal_among(self, classes: Sequence[str]) -> Self:
        """Return the model, which finds the class of its declined answers in `classes`."""
        if self.refusal_name is None:
            return self
        changed = copy.copy(self)
        changed.refusal = list(classes).index(self.refusal_name)
        return changed


class PythonModel(ForeignModel):
    """A base classifier that is called in Python, with any number of images at once.

    Attributes:
        padded: whether all batches are filled up to the same size with images whose answers
            are thrown away. Then the last bits of an answer do not depend on how full a
            batch is. It is False for a model whose every answer costs time or money.
        mask: what stands for a hidden word in the texts that the model gets; empty where
            such words are left out; None: its inputs are numbers.
        reads_texts: whether it can be given texts in place of numbers.

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
    mask: str | None = None
    reads_texts: ClassVar[bool] = False

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Steps on a noisy input of which the reader of a certificate should know."""
        return () if self.mask is None else (hiding(self.mask),)

    def on_texts(self, mask: str) -> Self:
        """Return a copy that is given texts, with `mask` for each hidden word.

        Raises:
            WrongModel: it takes numbers alone.
        """
        if not self.reads_texts:
            raise WrongModel(f"the model ({self.kind}) takes no texts")
        changed = copy.copy(self)
        changed.mask = mask
        return changed

    def texts(self, noisy: Tensor) -> list[str]:
        """Return the texts that copies (B, H, L) show, see `word_codes.read`."""
        return read(noisy.cpu().numpy(), self.mask or "")

    @abstractmethod
    def answer(self, noisy: Tensor) -> Tensor:
        """Return (B, K) logits or votes of noisy inputs (B, ...) float32, on any device.

        Raises:
            Problem: the model refuses the inputs, or answers with neither logits nor
                labels.
        """


def hiding(mask: str) -> str:
    """Return in words what becomes of a hidden word.

    Example:
        >>> hiding("[MASK]"), hiding("")
        ("a hidden word is '[MASK]'", 'hidden words are left out')
    """
    return (
        f"a hidden word is {shown(repr(mask))}" if mask else "hidden words are left out"
    )


def votes(
    labels: Tensor,
    num_classes: int | None,
    kind: str = "model",
    refusal: int | None = None,
) -> Tensor:
    """Return votes (B, K) float32: 1 for the label of each image, 0 elsewhere.

    Args:
        labels: (B,), from 0 on; DECLINED (-1) where the model declined.
        num_classes: K; None: nobody has said it, which is refused.
        kind: what the model is, for the error.
        refusal: the class that a declined answer votes for; None: no answer may decline.

    Raises:
        MissingValue: `num_classes` is None.
        WrongModel: a label is not one of 0 to num_classes - 1, or the model declined.

    Example:
        >>> votes(torch.tensor([1, 0]), 3)
        tensor([[0., 1., 0.],
                [1., 0., 0.]])
        >>> votes(torch.tensor([0, -1]), 3, refusal=2)
        tensor([[1., 0., 0.],
                [0., 0., 1.]])
    """
    if num_classes is None:
        raise MissingValue(
            f"the {kind} answers with labels, which do not tell how many classes it knows",
            field="num_classes",
            fix=("give ", Setting("num_classes")),
        )
    declined = labels == DECLINED
    if bool(declined.any()):
        if refusal is None:
            raise declines(kind)
        labels = labels.masked_fill(declined, refusal)
    is_wrong = (labels < 0) | (labels >= num_classes)
    if bool(is_wrong.any()):
        raise WrongModel(
            f"the model answers with the label {int(labels[is_wrong][0])}; "
            f"expected 0 to {num_classes - 1}",
            fix=("check ", Setting("num_classes")),
        )
    return F.one_hot(labels.long(), num_classes).to(torch.float32)


def declines(kind: str) -> WrongModel:
    """Return the error for a model that declined an answer, and was not expected to.

    Args:
        kind: what the model is.

    Example:
        >>> declines("function guard").field
        'refusal'
    """
    return WrongModel(
        f"the {kind} declines some noisy copies (-1, None or NaN in place of a label)",
        field="refusal",
        fix=(
            "give ",
            Setting("refusal", "class"),
            " to count declined answers as a class of their own. Leaving them out of the "
            "vote would break the certificates (docs/guarantee.md)",
        ),
    )


def advice_on_categories(held: Sequence[Categories]) -> str:
    """Return the advice for columns of categories, where a model takes only numbers."""
    names = shown(", ".join(column.name for column in held))
    return (
        f"encode or drop {names}, or give a scikit-learn pipeline that encodes them, "
        "fitted with a DataFrame"
    )
