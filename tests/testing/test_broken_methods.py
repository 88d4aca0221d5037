"""Methods that break the contract are refused, in words that say what is wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from models.refusing import each_told, refusal
from randsmooth import methods, testing
from randsmooth.attacks import noisy_logits
from randsmooth.methods import Loss, LossInputs, Method, Schedule

Gaussian: Any = methods.METHODS["gaussian"]


@dataclass(frozen=True, kw_only=True)
class NeedsAValue(Gaussian):  # type: ignore[misc]
    """A method."""

    strength: float
    m: Annotated[int, Field(ge=2)] = 4


def made(base: Any = Gaussian, **members: Any) -> Any:
    """A method with these members."""
    return dataclass(frozen=True, kw_only=True)(
        type("Made", (base,), {"__doc__": "A method.", **members})
    )


def changed(change: Callable[[Loss, nn.Module, Tensor, Any], Any]) -> Any:
    """A method whose loss is that of Gaussian training after `change`."""

    def loss(
        self: Any,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs,
    ) -> Any:
        return change(Gaussian.loss(self, model, x, y, noise, inputs), model, x, inputs)

    return made(loss=loss)


def times(factor: Tensor | float, loss: Loss) -> Loss:
    return Loss(loss.total * factor, {"all": (loss.total * factor).detach()}, {})


def scrambled(
    self: Any, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs
) -> Loss:
    """Gaussian training with the labels of the copies in the order of images, not of noises."""
    self.check_noise(x, noise)
    logits = noisy_logits(model, x, noise).flatten(0, 1)
    return Loss.of({}, ce=cross_entropy(logits, y.repeat_interleave(len(noise))))


def deaf(
    self: Any, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs
) -> Loss:
    """Training without noise."""
    self.check_noise(x, noise)
    return Loss.of({}, ce=cross_entropy(model(x), y))


def and_(loss: Loss, *done: object) -> Loss:
    """The loss, after something else was done."""
    return loss


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


ONE = Schedule(Gaussian())
ANY_TYPE = made(
    __annotations__={"strength": float}, strength=1.0, __post_init__=lambda self: None
)

METHODS: list[tuple[Any, str]] = [
    (Gaussian(m=1), "is no class: give it as check_method(GaussianTraining, m=1)"),
    (dict, "is no subclass of randsmooth.methods.Method"),
    (
        type("NoDataclass", (Gaussian,), {"__doc__": "A method."}),
        "is no frozen dataclass",
    ),
    (made(__doc__=None), "has no docstring"),
    (made(Method, m=1, loss=None), "has no `source"),
    (NeedsAValue, "fails when it is tried|strength"),
    (ANY_TYPE, "accepts |=object()"),
    (
        changed(lambda loss, *_: loss.total),
        "returns a Tensor, expected randsmooth.methods.Loss",
    ),
    (changed(lambda loss, *_: times(torch.nan, loss)), "has the loss nan"),
    (
        changed(lambda loss, *_: loss._replace(total=loss.total.detach())),
        "is cut off from the model's weights",
    ),
    (
        changed(lambda loss, *_: loss._replace(total=2 * loss.total)),
        "has terms that add up to",
    ),
    (
        changed(lambda loss, *_: loss._replace(terms={"all": loss.total})),
        "'all'|without gradient",
    ),
    (
        changed(lambda loss, *_: times(torch.rand(()), loss)),
        "draws from a global random generator",
    ),
    (
        changed(lambda loss, model, *_: and_(loss, model.eval())),
        "leaves the model in eval mode",
    ),
    (changed(lambda loss, model, x, _: and_(loss, x.mul_(0.5))), "changes the images"),
    (
        changed(lambda loss, *_: times(np.random.default_rng().random(), loss)),
        "gives |, then | on the same",
    ),
    (made(loss=deaf), "has the same loss under twice the noise"),
    (
        made(loss=scrambled),
        "of the same images in another order|y.repeat(m), not y.repeat_interleave(m)",
    ),
    (
        changed(lambda loss, model, x, _: times(len(x), loss)),
        "of every image twice|mean over the images, not the sum",
    ),
    (made(schedule=lambda self: ONE), "gives two runs one schedule"),
    (made(schedule=lambda self: None), "has a schedule() that returns no"),
    (made(schedule=lambda self: Losing(self)), "state() differs after restore()"),
]


def test_methods() -> None:
    each_told(testing.check_method, METHODS)
    testing.check_method(NeedsAValue, strength=1.0)
    assert "m=1 must be greater than or equal to 2" in refusal(
        NeedsAValue, strength=1.0, m=1
    )
