"""Methods that break the contract are refused, in words that say what is wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from randsmooth import methods, testing
from randsmooth.methods import Loss, LossInputs, Method, Schedule

Gaussian: Any = methods.METHODS["gaussian"]


class NoDataclass(Method):
    """A method."""

    source: ClassVar[str] = "nowhere"

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NoDocstring(Gaussian):  # type: ignore[misc]
    source: ClassVar[str] = "nowhere"


@dataclass(frozen=True, kw_only=True)
class NoSource(Method):
    """A method."""

    m: int = 1

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NeedsAValue(Gaussian):  # type: ignore[misc]
    """A method."""

    strength: float


@dataclass(frozen=True, kw_only=True)
class AnyType(Gaussian):  # type: ignore[misc]
    """A method."""

    strength: float = 1.0

    def __post_init__(self) -> None:
        """Nothing is checked."""


class Changed(Gaussian):  # type: ignore[misc]
    """What is done to Gaussian training in the cases below."""

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        loss: Loss = super().loss(model, x, y, noise, inputs)
        return self.change(loss, model, x, inputs)

    def change(self, loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
        raise NotImplementedError


def changed(name: str, change: Any) -> Any:
    """A method whose loss is that of Gaussian training after `change(loss, model, x, inputs)`."""
    members = {"__doc__": "A method.", "change": lambda self, *given: change(*given)}
    return dataclass(frozen=True, kw_only=True)(type(name, (Changed,), members))


def in_eval_mode(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    model.eval()
    return loss


def with_gradients(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    loss.total.backward(retain_graph=True)
    return loss


def of_darker_images(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    x.mul_(0.5)
    return loss


def times(factor: Tensor | float, loss: Loss) -> Loss:
    terms = {"all": (loss.total * factor).detach()}
    return Loss(loss.total * factor, terms, {})


def forgetful(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    return times(inputs.u.mean(), loss)  # type: ignore[union-attr]


class Shared(Schedule):
    """One schedule for all runs."""


class Losing(Schedule):
    """Counts epochs, and begins again after an interruption."""

    epochs = 0

    def advance(self, epoch: int, total: int, probe: Any) -> dict[str, float]:
        self.epochs += 1
        return {}

    def state(self) -> dict[str, Any]:
        return {"epochs": self.epochs}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        pass


def scheduled(schedule: Any) -> Any:
    members = {"__doc__": "A method.", "schedule": lambda self: schedule(self)}
    return dataclass(frozen=True, kw_only=True)(type("Scheduled", (Gaussian,), members))


ONE = Shared(Gaussian())

METHODS = [
    (dict, "is no subclass of randsmooth.methods.Method"),
    (NoDataclass, "is no dataclass"),
    (NoDocstring, "has no docstring"),
    (NoSource, "has no `source`"),
    (NeedsAValue, "cannot be made .*strength"),
    (AnyType, r"accepts (m|strength)=object\(\)"),
    (changed("A", lambda loss, *_: loss.total), "returns a Tensor, expected randsmooth.methods.Loss"),
    (changed("B", lambda loss, *_: times(torch.nan, loss)), "has the loss nan"),
    (changed("C", lambda loss, *_: loss._replace(total=loss.total.detach())), "is cut off from the model's weights"),
    (changed("D", lambda loss, *_: loss._replace(total=2 * loss.total)), "has terms that add up to"),
    (changed("E", lambda loss, *_: loss._replace(terms={})), "has no terms"),
    (changed("F", lambda loss, *_: loss._replace(terms={"all": loss.total})), r"terms\['all'\].*without gradient"),
    (changed("G", lambda loss, *_: loss._replace(figures={"x": 1.0})), r"figures\['x'\] = 1.0"),
    (changed("H", lambda loss, *_: times(torch.rand(()), loss)), "draws from a global random generator"),
    (changed("I", lambda loss, *_: times(random.random(), loss)), "draws from a global random generator"),
    (changed("J", lambda loss, *_: times(np.random.rand(), loss)), "draws from a global"),  # noqa: NPY002
    (changed("K", in_eval_mode), "leaves the model in eval mode"),
    (changed("L", with_gradients), "leaves gradients behind"),
    (changed("M", of_darker_images), "changes the images"),
    (changed("N", lambda loss, *_: times(np.random.default_rng().random(), loss)), "gives .*, then .* on the same"),
    (changed("O", forgetful), "raises .* without inputs.u"),
    (scheduled(lambda method: ONE), "gives two runs one schedule"),
    (scheduled(lambda method: None), r"has a schedule\(\) that returns no"),
    (scheduled(Losing), r"state\(\) differs after restore\(\)"),
]


def test_methods() -> None:
    for method, message in METHODS:
        with pytest.raises(AssertionError, match=f"method '.*' .*{message}"):
            testing.check_method(method)


def test_a_method_of_given_hyperparameters() -> None:
    testing.check_method(NeedsAValue, strength=1.0)
