"""The kinds of models that can be certified, and which adapter makes a base classifier of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from torch import nn

from randsmooth.documents import shown
from randsmooth.errors import InputError, article
from randsmooth.models.adapters.estimator import EstimatorModel, is_estimator
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.adapters.function import FunctionModel
from randsmooth.models.adapters.programs import Program, is_program

BaseClassifier: TypeAlias = nn.Module | ForeignModel


class Adapter(NamedTuple):
    """How objects of one kind become base classifiers.

    Attributes:
        what: such objects, in the words of an error.
        recognises: whether an object is one; imports nothing.
        adapt: makes a base classifier of it, or raises InputError.
    """

    what: str
    recognises: Callable[[Any], bool]
    adapt: Callable[[Any], BaseClassifier]


# The first that recognises a model adapts it. Torch modules (TorchScript and quantised ones too) need no adapter.
ADAPTERS = (
    Adapter("a torch.nn.Module", lambda model: isinstance(model, nn.Module), lambda module: module),
    Adapter("a base classifier of another kind", lambda model: isinstance(model, ForeignModel), lambda model: model),
    Adapter("a torch.export program", is_program, Program),
    Adapter("a scikit-learn estimator", is_estimator, EstimatorModel),
    Adapter(
        "a function from arrays (B, C, H, W) to logits or labels",
        lambda model: callable(model) and not isinstance(model, type),  # of a class an instance may be meant
        FunctionModel,
    ),
)


def is_model(value: object) -> bool:
    """Whether `value` is a model already, other than a function, which may be there to make one."""
    return any(adapter.recognises(value) for adapter in ADAPTERS[:-1])


def adapt(model: object, *, num_classes: int | None = None) -> BaseClassifier:
    """The base classifier that `model` is, or that an adapter makes of it.

    Args:
        model: a torch module, TorchScript, a `torch.export` program, a scikit-learn estimator, a function from images
            (B, C, H, W) to logits (B, K) or labels (B,), or what this function returned.
        num_classes: K, for a function that answers with labels.

    Raises:
        InputError: it is none of these, or one that cannot be certified.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> adapt(LogisticRegression().fit([[0.0], [1.0]], [3, 7])).num_classes
        8
        >>> adapt(3)
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the model is an int, 3; expected a torch.nn.Module, ...
    """
    for adapter in ADAPTERS:
        if adapter.recognises(model):
            base = adapter.adapt(model)
            if num_classes is None or not isinstance(base, ForeignModel):
                return base
            return base.with_num_classes(num_classes)
    kinds = ", ".join(adapter.what for adapter in ADAPTERS)
    raise InputError(f"the model is {article(type(model).__name__)}, {shown(repr(model))}; expected {kinds}")
