"""What a base classifier is, and how anything that can be certified becomes one."""

from pathlib import Path
from typing import Any, TypeAlias

from torch import nn

from randsmooth.documents import shown
from randsmooth.errors import WrongModel, article
from randsmooth.models.adapters.estimator_model import EstimatorModel
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.adapters.function_model import FunctionModel
from randsmooth.models.adapters.torch_program import Program, is_program
from randsmooth.models.around import ForeignPart
from randsmooth.models.sources import open_source

BaseClassifier: TypeAlias = nn.Module | ForeignModel


def adapt(model: object, *, num_classes: int | None = None) -> BaseClassifier:
    """Return the base classifier that `model` is, or that is made of it.

    Args:
        model: a torch module (TorchScript and quantised ones too), a `torch.export`
            program, a scikit-learn estimator, a function from inputs, such as images
            (B, C, H, W) or features (B, d), to logits (B, K) or labels (B,), or what
            this function returned.
        num_classes: K, for a function that answers with labels.

    Raises:
        WrongModel: it is none of these, or one that cannot be certified.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> adapt(LogisticRegression().fit([[0.0], [1.0]], [3, 7])).num_classes
        8
        >>> adapt(3)
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model is an int, 3; expected a ...
    """
    base = _adapted(model)
    # The logits of a torch module tell K.
    if num_classes is None or isinstance(base, nn.Module):
        return base
    return base.with_num_classes(num_classes)


def _adapted(model: Any) -> BaseClassifier:
    """Return the base classifier that `model` is, or the adapter around it.

    Raises:
        WrongModel: no adapter takes it.
    """
    if isinstance(model, nn.Module | ForeignModel):
        return model
    if is_program(model):
        return Program(model)
    if EstimatorModel.takes(model):
        return EstimatorModel(model)
    # A class can be called too, but its user most likely meant an instance of it.
    if callable(model) and not isinstance(model, type):
        return FunctionModel(model)
    raise WrongModel(
        f"the model is {article(type(model).__name__)}, {shown(repr(model))}; expected "
        "a torch.nn.Module, a torch.export program, a scikit-learn estimator, or a "
        "function from arrays (B, ...) to logits or labels"
    )


def is_model(value: object) -> bool:
    """Return whether `value` is certainly a model.

    A function does not count: it may classify images, or make a model.
    """
    if isinstance(value, nn.Module | ForeignModel):
        return True
    return is_program(value) or EstimatorModel.takes(value)


def as_module(model: object, num_classes: int | None = None) -> nn.Module:
    """Return a model as a torch module, so that it can be a part of another module.

    Args:
        model: a model that `adapt` takes, or its name as `open_source` takes it.
        num_classes: K, for a function that answers with labels.

    Raises:
        Problem: the model cannot be opened, or cannot be certified.
    """
    opened = open_source(model) if isinstance(model, str | Path) else model
    base = adapt(opened, num_classes=num_classes)
    return base if isinstance(base, nn.Module) else ForeignPart(base)
