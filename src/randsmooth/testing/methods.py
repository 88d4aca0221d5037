"""The contract of training methods."""

from __future__ import annotations

import dataclasses
import io
import random
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.methods import METHODS, Loss, LossInputs, Method, Schedule, create
from randsmooth.testing.requirements import Contract, one_line

IMAGES, SHAPE, CLASSES, SIGMA = 6, (1, 4, 4), 3, 0.5


def check_method(method: str | type[Method], **hyperparameters: Any) -> None:
    """Check a training method: its dataclass, its loss and its schedule.

    The loss must be a finite scalar with gradients for the weights, the sum of its terms, the same when it is
    computed again, and computed without drawing random numbers or leaving a trace on the model and its inputs.

    Args:
        method: a name in METHODS, or the class.
        hyperparameters: values for those without a default, and others to try instead of the defaults.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_method("consistency", lbd=5.0)
    """
    name = method if isinstance(method, str) else method.__name__
    kind = METHODS[method] if isinstance(method, str) else method
    contract = Contract(f"method {name!r}")
    _check_class(contract, kind)
    made = contract.works(
        "cannot be made with its defaults and the hyperparameters given",
        lambda: create(method, **hyperparameters) if isinstance(method, str) else kind(**hyperparameters),
    )
    _check_hyperparameters(contract, made)
    _check_loss(contract, made)
    _check_needs(contract, made)
    _check_schedule(contract, made)


def _check_class(contract: Contract, kind: type[Method]) -> None:
    contract.require(isinstance(kind, type) and issubclass(kind, Method), "is no subclass of randsmooth.methods.Method")
    own = dataclasses.is_dataclass(kind) and "__dataclass_fields__" in vars(kind)
    contract.require(own, "is no dataclass: write @dataclass(frozen=True, kw_only=True) above the class")
    parameters = getattr(kind, "__dataclass_params__", None)
    contract.require(parameters is not None and parameters.frozen, "is not frozen: @dataclass(frozen=True, ...)")
    fields = dataclasses.fields(kind)
    contract.require(all(field.kw_only for field in fields), "takes hyperparameters by position: kw_only=True")
    written = "__doc__" in vars(kind) and not (kind.__doc__ or "").startswith(f"{kind.__name__}(")
    contract.require(written and kind.__doc__, "has no docstring, which `randsmooth methods` shows")
    contract.require(one_line(getattr(kind, "source", None)), "has no `source`: ClassVar[str], the paper")
    contract.require("source" not in {field.name for field in fields}, "has `source` as a field: make it a ClassVar")


def _check_hyperparameters(contract: Contract, method: Method) -> None:
    contract.require(
        type(method.m) is int and method.m >= 1, f"has m={method.m!r} noises per image, expected 1 or more"
    )
    for field in dataclasses.fields(method):
        wrong: dict[str, Any] = {field.name: object()}
        contract.refuses(f"{field.name}=object()", partial(dataclasses.replace, method, **wrong), naming=field.name)


class _Problem:
    """A small linear classifier, images, labels, noises and all that a loss may ask for."""

    def __init__(self, m: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, CLASSES))
        for parameter in self.model.parameters():
            nn.init.normal_(parameter, std=0.3, generator=generator)
        self.x = torch.rand(IMAGES, *SHAPE, generator=generator)
        self.y = torch.arange(IMAGES) % CLASSES
        self.noise = SIGMA * torch.randn(m, IMAGES, *SHAPE, generator=generator)
        self.inputs = LossInputs(
            u=torch.rand(IMAGES, generator=generator),
            target=torch.rand(IMAGES, CLASSES, generator=generator).softmax(dim=1),
            sigma=SIGMA,
        )

    def state(self) -> list[Tensor]:
        """Copies of all that a loss must leave as it is."""
        given = [self.x, self.y, self.noise, *filter(torch.is_tensor, self.inputs), *self.model.parameters()]
        return [tensor.detach().clone() for tensor in given]

    def loss(self, method: Method) -> Loss:
        return method.loss(self.model, self.x, self.y, self.noise, self.inputs)


def _generators() -> tuple[Any, ...]:
    """The states of the global random generators, in words that compare."""
    legacy = np.random.get_state()  # noqa: NPY002 this is what must not change
    return torch.get_rng_state().tolist(), repr(legacy), random.getstate()


def _check_loss(contract: Contract, method: Method) -> None:
    problem = _Problem(method.m)
    before, generators = problem.state(), _generators()
    loss = contract.works("has a loss that fails on six images of three classes", lambda: problem.loss(method))
    _check_parts(contract, loss)
    contract.require(generators == _generators(), "draws from a global random generator: use inputs.u, or the noise")
    same = all(map(torch.equal, before, problem.state()))
    contract.require(same, "changes the images, the noise, its other inputs or the model's weights")
    model = problem.model
    contract.require(model.training, "leaves the model in eval mode: use randsmooth.attacks.frozen")
    wanted = all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())
    contract.require(wanted, "leaves gradients behind, or weights that take none: use randsmooth.attacks.frozen")
    gradients = torch.autograd.grad(loss.total, [*model.parameters()], allow_unused=True)
    contract.require(
        all(gradient is not None and torch.isfinite(gradient).all() for gradient in gradients)
        and any(gradient is not None and gradient.any() for gradient in gradients),
        "has a loss without finite gradients for all weights",
    )
    again = problem.loss(method).total
    contract.require(torch.equal(again, loss.total), f"gives {loss.total:g}, then {again:g} on the same images")
    contract.refuses(
        "noise of m + 1 samples",
        lambda: method.loss(model, problem.x, problem.y, torch.zeros(method.m + 1, *problem.x.shape), problem.inputs),
    )


def _check_parts(contract: Contract, loss: Loss) -> None:
    contract.require(isinstance(loss, Loss), f"returns a {type(loss).__name__}, expected randsmooth.methods.Loss")
    total = loss.total
    contract.require(total.dim() == 0 and torch.isfinite(total), f"has the loss {total}, expected a finite number")
    contract.require(total.requires_grad, "has a loss that is cut off from the model's weights")
    for part in ("terms", "figures"):
        for key, value in getattr(loss, part).items():
            fits = isinstance(value, Tensor) and value.dim() == 0 and not value.requires_grad
            contract.require(fits, f"has {part}[{key!r}] = {value!r}, expected a scalar tensor without gradient")
    contract.require(loss.terms, "has no terms: name the parts that the loss is the sum of")
    summed = float(sum(value.double() for value in loss.terms.values()))
    close = abs(summed - float(total.detach())) <= 1e-4 * max(1.0, abs(summed))
    contract.require(close, f"has terms that add up to {summed:g}, its loss is {float(total.detach()):g}")


def _check_needs(contract: Contract, method: Method) -> None:
    """A loss either does without a part of its inputs, or refuses to and names it."""
    problem = _Problem(method.m)
    for part in LossInputs._fields:
        inputs = problem.inputs._replace(**{part: None})
        try:
            method.loss(problem.model, problem.x, problem.y, problem.noise, inputs)
        except InputError as error:
            contract.require(part in str(error), f"does not name inputs.{part}, which it needs: {error}")
        except Exception as error:
            contract.require(False, f"raises {error!r} without inputs.{part}: take it by inputs.given({part!r})")


def _check_schedule(contract: Contract, method: Method) -> None:
    schedule = method.schedule()
    contract.require(isinstance(schedule, Schedule), "has a schedule() that returns no randsmooth.methods.Schedule")
    contract.require(schedule is not method.schedule(), "gives two runs one schedule: schedule() makes a new one")
    schedule.prepare(_teacher)
    figures = schedule.advance(0, IMAGES, _probe)
    contract.require(all(map(np.isfinite, figures.values())), f"logs {figures} of an epoch, expected finite numbers")
    objective = schedule.objective(0)
    contract.require(isinstance(objective, Method), "has a schedule whose objective(0) is no Method")
    _check_state(contract, method, schedule)


def _check_state(contract: Contract, method: Method, schedule: Schedule) -> None:
    """A run that is interrupted continues from the state in its checkpoint."""
    stored = io.BytesIO()
    torch.save(schedule.state(), stored)
    stored.seek(0)
    state = contract.works(
        "has a schedule whose state() holds more than tensors and plain values",
        lambda: torch.load(stored, weights_only=True),
    )
    resumed = method.schedule()
    resumed.prepare(_teacher)
    contract.works("has a schedule that does not restore its own state", lambda: resumed.restore(state, IMAGES))
    same = repr(resumed.state()) == repr(schedule.state())
    contract.require(same, "has a schedule whose state() differs after restore()")


def _probe(
    indices: Tensor, m: int, of: str | None = None, *, augmented: bool = False, enough: int | None = None
) -> Tensor:
    """A model that is right about every second noisy copy."""
    return torch.full((len(indices),), m // 2)


def _teacher(folder: str, n: int, *, augmented: bool = False) -> Tensor:
    """A model that gives every class the same share."""
    return torch.full((IMAGES, CLASSES), 1 / CLASSES)
