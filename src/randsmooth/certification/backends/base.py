"""What runs the base classifier: one call from noisy images to logits."""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from randsmooth.certificates import ARITHMETICS, Precision
from randsmooth.certification.backends.processors import processor, torch_instructions
from randsmooth.documents import shown
from randsmooth.errors import ModelFailed, Problem, WrongModel
from randsmooth.models import ForeignModel, check_logits, foreign_parts

# What copying a model may raise: its own classes decide.
NOT_COPIED = (TypeError, ValueError, RuntimeError, RecursionError, NotImplementedError)


class Backend(ABC):
    """Runs the base classifier on batches of one fixed shape.

    The rounding of an answer so never depends on how full a batch is. A backend that is
    not `padded` is instead asked only about what is to be counted, in batches of any
    number up to `size`.

    Another package adds a backend by an entry point of the group `randsmooth.backends`:
    a subclass whose `name` is that of the entry point.

    Attributes:
        name: the name that users call it by.
        runs: words for the error about a model that the backend does not accept: which
            models it runs, and what to do.
        parallel: whether several threads may ask at once.
        precision: "32", "bf16" or "fp16": the arithmetic of the layers, and so a part
            of the base classifier.
        device: where the noisy images are made and the logits end up.
        tried_on: kinds of device, such as "cpu", on which `auto` tries the backend.
        packages: modules that the backend needs. The logits depend on their versions,
            as they do on torch's.
        workers: how many answers are computed at once. The engine sets it before the
            first answer, above 1 only where `parallel`.
        spare: how many threads more than `workers` ask: they draw noise while the
            others wait for their answers.
        padded: whether batches are filled up to one size, with images whose answers are
            thrown away.
        size: samples of a full batch. The engine sets it before the first answer.
        one_by_one: whether it turned out that the model takes one image at a time.
        answered: whether the model has answered, so that it takes batches.

    Example:
        >>> class Double(Backend):
        ...     name = "double"
        ...     def __init__(self, model, device, precision):
        ...         self.model = own_copy(model).double()
        ...         self.device = device
        ...         self.precision = precision
        ...     def answer(self, noisy):
        ...         return self.model(noisy.double())
        >>> backend = Double(nn.Flatten(), torch.device("cpu"), "32")
        >>> backend.logits(torch.zeros(2, 1, 2, 2)).dtype
        torch.float64
    """

    name: ClassVar[str]
    runs: ClassVar[str] = "runs torch models, not ONNX files; use onnx or openvino"
    parallel: ClassVar[bool] = False
    tried_on: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    workers: int = 1
    spare: ClassVar[int] = 0
    padded: bool = True
    size: int = 0
    one_by_one: bool = False
    answered: bool = False
    precision: Precision
    device: torch.device

    @abstractmethod
    def __init__(self, model: Any, device: torch.device, precision: Precision) -> None:
        """Make ready to run `model`, which the class accepts.

        Raises:
            Problem: it cannot.
        """

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        """Return whether the backend runs models of this kind.

        By default it runs torch modules without parts of other kinds.
        """
        return isinstance(model, nn.Module) and not foreign_parts(model)

    @classmethod
    def installed(cls) -> bool:
        """Return whether the packages that the backend needs are installed."""
        return all(find_spec(package) is not None for package in cls.packages)

    @property
    def votes(self) -> bool:
        """Whether the logits are votes: 1 for the label, and 0 elsewhere.

        That is known once the model has answered.
        """
        # A backend of another package need not have such an attribute.
        model = getattr(self, "model", None)
        return isinstance(model, ForeignModel) and model.labels

    @property
    def arithmetic(self) -> str:
        """The number format of the layers, in words."""
        return ARITHMETICS[self.precision]

    @property
    def processor(self) -> str:
        """The kind and the model of the processor that computes.

        On another processor the last bits of logits may differ, and on a GPU the noise.
        """
        if self.device.type == "cuda":
            return torch.cuda.get_device_name(self.device)
        return f"cpu, {processor()}"

    @property
    def instructions(self) -> str:
        """The instructions that the backend's runtime chooses to compute with."""
        return torch_instructions(self.device)

    def logits(self, noisy: Tensor) -> Tensor:
        """Return (B, K) float32 or float64 logits of noisy images (B, C, H, W) float32.

        Raises:
            Problem: the classifier refuses the shape, or answers with something else
                than logits.
        """
        return check_logits(self.asked(noisy), len(noisy))

    def asked(self, noisy: Tensor) -> Any:
        """Return what the base classifier answers to `noisy` (B, ...), unchecked.

        A model that takes no batch of several is asked image by image. It shows in the
        first batch, and only where batches are `padded`.
        """
        if self.one_by_one:
            return torch.cat([self.answer(image).clone() for image in noisy.split(1)])
        try:
            answer = self.answer(noisy)
        except ModelFailed:
            if not self._takes_only_one(noisy):
                raise
            self.one_by_one = True
            return self.asked(noisy)
        self.answered = True
        return answer

    def _takes_only_one(self, noisy: Tensor) -> bool:
        """Return whether a model that failed on `noisy` takes its first image alone."""
        # A backend whose batches are not padded is asked nothing that is not counted.
        if self.answered or not self.padded or len(noisy) == 1:
            return False
        try:
            check_logits(self.answer(noisy[:1]), 1)
        # It fails on one image, too: then the batch is not the reason.
        except Problem:
            return False
        return True

    @abstractmethod
    def answer(self, noisy: Tensor) -> Any:
        """Return what the base classifier answers to `noisy` (B, ...), unchecked."""


def own_copy(model: nn.Module) -> nn.Module:
    """Return a copy of the model, which no later change of the model reaches.

    A model without weights that holds something that cannot be copied, such as a
    connection, is returned itself.

    Raises:
        Problem: it cannot be copied, and has weights that may change meanwhile.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> own_copy(model) is model
        False
    """
    try:
        # torch warns of its exported programs and of traces.
        with warnings.catch_warnings(action="ignore"):
            return copy.deepcopy(model)
    except NOT_COPIED as error:
        has_weights = next(iter(model.state_dict()), None) is not None
        if not has_weights:
            return model
        raise WrongModel(
            f"the model cannot be copied ({shown(error)}): keep locks, connections and "
            "such apart from its weights"
        ) from error


def frozen(model: nn.Module) -> nn.Module:
    """Return the model; its parameters ask for no gradients from now on.

    Example:
        >>> linear = frozen(nn.Linear(2, 2))
        >>> any(parameter.requires_grad for parameter in linear.parameters())
        False
    """
    # A module of TorchScript has no `requires_grad_` of its own.
    for parameter in model.parameters():
        # Parameters of a copied TorchScript module are no leaves, and cannot be set.
        if parameter.is_leaf:
            parameter.requires_grad_(False)
    return model


def in_batches(
    answer: Callable[[Tensor], Tensor],
    images: Tensor,
    size: int | None,
    *,
    filled: bool = True,
) -> Tensor:
    """Return the answers of `answer` to `images`, which it gets in batches.

    Args:
        answer: a function of some of the images, which returns a row for each.
        images: (n, ...) images, or other inputs.
        size: how many images a batch has; None: all images are one batch.
        filled: whether the last batch is filled up with zeros.

    Example:
        >>> rows = torch.tensor([[0.0], [2.0], [4.0]])
        >>> in_batches(lambda part: part * len(part), rows, size=2).tolist()
        [[0.0], [4.0], [8.0]]
    """
    if size is None or size == len(images):
        return answer(images)
    padded = images
    if filled:
        missing = -len(images) % size
        # `pad` takes a pair for each axis, the last axis first.
        no_padding = (0, 0) * (images.dim() - 1)
        padded = nn.functional.pad(images, (*no_padding, 0, missing))
    # The next answer may overwrite the memory of this one.
    answers = [answer(part).clone() for part in padded.split(size)]
    return torch.cat(answers)[: len(images)]
