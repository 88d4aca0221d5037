"""The contract of training methods."""

import dataclasses
import io
import random
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth.methods import METHODS, Loss, LossInputs, Method, Schedule
from randsmooth.testing.contract import (
    contract_of,
    is_one_line,
    named_entry,
    require,
    require_refusal,
)

# The problem on which losses are tried.
IMAGES = 6
SHAPE = (1, 4, 4)
CLASSES = 3
SIGMA = 0.5

# The relative error of a loss in float32 that is summed in another order.
LOSS_ERROR = 1e-4

IS_NO_FROZEN_DATACLASS = (
    "is no frozen dataclass: write @dataclass(frozen=True, kw_only=True) above it"
)


def check_method(method: str | type[Method], **hyperparameters: Any) -> None:
    """Check a training method: its dataclass, its loss and its schedule.

    The loss must be a finite scalar with gradients for the weights, the sum of its terms,
    the same when it is computed again, another one under other noise, the same whatever
    the order of the images (which finds labels that are not those of their copies), the
    same of every image twice (a mean over images, no sum), and computed without drawing
    random numbers or leaving a trace on the model and its inputs.

    Args:
        method: a name in METHODS, or the class.
        hyperparameters: values for those without a default, and others to try instead of
            the defaults.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_method("consistency", lbd=5.0)
    """
    entry, kind = named_entry("method", method, METHODS)
    with contract_of(entry):
        _check_is_class_of_methods(kind)
        _check_fields_are_given_by_keyword(kind)
        _check_has_docstring_and_source(kind)
        made = kind(**hyperparameters)
        _check_is_frozen(made)
        _check_noises_per_image(made)
        _check_refuses_wrong_hyperparameters(made)
        _check_loss(made)
        _check_schedule(made)


def _check_is_class_of_methods(kind: Any) -> None:
    if isinstance(kind, Method):
        name_and_hyperparameters = repr(kind).replace("(", ", ", 1)
        raise AssertionError(
            f"is no class: give it as check_method({name_and_hyperparameters}"
        )
    require(
        isinstance(kind, type) and issubclass(kind, Method),
        "is no subclass of randsmooth.methods.Method",
    )


def _check_fields_are_given_by_keyword(kind: type[Method]) -> None:
    by_keyword = dataclasses.is_dataclass(kind) and all(
        field.kw_only for field in dataclasses.fields(kind)
    )
    require(by_keyword, IS_NO_FROZEN_DATACLASS)


def _check_is_frozen(method: Any) -> None:
    """Check that nothing can be set, which a base class that is frozen does not ensure."""
    try:
        method.a_name_that_it_does_not_have = 0
    except dataclasses.FrozenInstanceError:
        return
    require(False, IS_NO_FROZEN_DATACLASS)


def _check_has_docstring_and_source(kind: type[Method]) -> None:
    docstring = kind.__doc__ or ""
    written_by_dataclass = docstring.startswith(f"{kind.__name__}(")
    require(
        docstring and not written_by_dataclass,
        "has no docstring, which `randsmooth methods` shows",
    )
    fields = {field.name for field in dataclasses.fields(kind)}
    require(
        is_one_line(getattr(kind, "source", None)) and "source" not in fields,
        "has no `source: ClassVar[str]`, the paper",
    )


def _check_noises_per_image(method: Method) -> None:
    require(
        type(method.m) is int and method.m >= 1,
        f"has m={method.m!r} noises per image, expected 1 or more",
    )


def _check_refuses_wrong_hyperparameters(method: Method) -> None:
    for field in dataclasses.fields(method):
        wrong: dict[str, Any] = {field.name: object()}
        require_refusal(
            f"{field.name}=object()",
            partial(dataclasses.replace, method, **wrong),
            naming=field.name,
        )


class _Problem:
    """A small linear classifier, images, labels, noises and all that a loss may ask for.

    Attributes:
        model: of CLASSES classes.
        x: (IMAGES, *SHAPE) images.
        y: (IMAGES,) their labels.
        noise: (m, IMAGES, *SHAPE)
        inputs: what a loss may ask for beside these.
    """

    def __init__(self, m: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.model = nn.Sequential(
            nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, CLASSES)
        )
        for parameter in self.model.parameters():
            nn.init.normal_(parameter, std=0.3, generator=generator)
        self.x = torch.rand(IMAGES, *SHAPE, generator=generator)
        self.y = torch.arange(IMAGES) % CLASSES
        self.noise = SIGMA * torch.randn(m, IMAGES, *SHAPE, generator=generator)
        target = torch.rand(IMAGES, CLASSES, generator=generator).softmax(dim=1)
        self.inputs = LossInputs(
            u=torch.rand(IMAGES, generator=generator), target=target, sigma=SIGMA
        )

    def copied_state(self) -> list[Tensor]:
        """Return copies of all that a loss must leave as it is."""
        tensors = [
            self.x,
            self.y,
            self.noise,
            *filter(torch.is_tensor, self.inputs),
            *self.model.parameters(),
        ]
        return [tensor.detach().clone() for tensor in tensors]

    def loss(self, method: Method, images: Tensor | slice = slice(None)) -> Loss:
        """Return the loss of the images at these places, with all that belongs to them."""
        inputs = self.inputs._replace(
            u=self.inputs.given("u")[images],
            target=self.inputs.given("target")[images],
        )
        return method.loss(
            self.model, self.x[images], self.y[images], self.noise[:, images], inputs
        )


def _check_loss(method: Method) -> None:
    problem = _Problem(method.m)
    generators_before = _global_generators()
    state_before = problem.copied_state()
    loss = problem.loss(method)

    _check_drew_no_random_numbers(generators_before)
    require(
        isinstance(loss, Loss),
        f"returns a {type(loss).__name__}, expected randsmooth.methods.Loss",
    )
    _check_loss_is_finite_scalar(loss)
    _check_terms_add_up(loss)
    _check_problem_is_unchanged(problem, state_before)
    _check_weights_get_gradients(loss, problem.model)
    _check_loss_depends_on_noise_alone(method, problem, loss)
    _check_images_stay_together(method)
    _check_refuses_noise_of_other_length(method)


def _global_generators() -> tuple[Any, ...]:
    """Return the states of the global random generators, in a form that compares."""
    legacy = np.random.get_state()  # noqa: NPY002 this is what must not change
    return torch.get_rng_state().tolist(), repr(legacy), random.getstate()


def _check_drew_no_random_numbers(generators_before: tuple[Any, ...]) -> None:
    require(
        _global_generators() == generators_before,
        'draws from a global random generator: use inputs.given("u"), or the noise',
    )


def _check_problem_is_unchanged(problem: _Problem, before: list[Tensor]) -> None:
    require(
        all(map(torch.equal, before, problem.copied_state())),
        "changes the images, the noise, its other inputs or the model's weights",
    )
    weights_as_before = all(
        weights.requires_grad and weights.grad is None
        for weights in problem.model.parameters()
    )
    require(
        problem.model.training and weights_as_before,
        "leaves the model in eval mode, with gradients, or with weights that take none: "
        "use attacks.frozen",
    )


def _check_loss_is_finite_scalar(loss: Loss) -> None:
    total = loss.total.detach()
    require(
        total.dim() == 0 and total.isfinite(),
        f"has the loss {total}, expected a finite number",
    )
    require(
        loss.total.requires_grad,
        "has a loss that is cut off from the model's weights",
    )


def _check_terms_add_up(loss: Loss) -> None:
    for name, value in (loss.terms | loss.figures).items():
        is_scalar = isinstance(value, Tensor) and value.dim() == 0
        require(
            is_scalar and not value.requires_grad,
            f"has {name!r} = {value!r} among its terms and figures, expected a scalar "
            "without gradient",
        )
    total = float(loss.total.detach())
    sum_of_terms = float(sum(value.double() for value in loss.terms.values()))
    require(
        loss.terms and _close(total, sum_of_terms),
        f"has terms that add up to {sum_of_terms:g}, its loss is {total:g}: name the "
        "parts that it is made of",
    )


def _close(loss: float, expected: float) -> bool:
    """Return whether two losses are equal, apart from rounding."""
    return abs(loss - expected) <= LOSS_ERROR * max(1.0, abs(expected))


def _check_weights_get_gradients(loss: Loss, model: nn.Module) -> None:
    gradients = torch.autograd.grad(
        loss.total, [*model.parameters()], allow_unused=True
    )
    finite = all(
        gradient is not None and gradient.isfinite().all() for gradient in gradients
    )
    require(
        finite and any(map(torch.any, gradients)),
        "has a loss without finite gradients for all weights",
    )


def _check_loss_depends_on_noise_alone(
    method: Method, problem: _Problem, loss: Loss
) -> None:
    """Check that the same noise gives the same loss again, and twice the noise another."""
    again = problem.loss(method).total
    require(
        torch.equal(again, loss.total),
        f"gives {loss.total.detach():g}, then {again:g} on the same images",
    )
    problem.noise *= 2.0
    require(
        not torch.equal(problem.loss(method).total, again),
        "has the same loss under twice the noise: add it to x",
    )


def _check_images_stay_together(method: Method) -> None:
    """Check that copies, labels and noise of an image stay together.

    The loss is the same when the images come in another order, and, since it is a mean
    over the images, when every image comes twice.
    """
    several = method
    if "m" in method.hyperparameters():
        # With one copy of each image, no copy can be mistaken for another's.
        changed: dict[str, Any] = {"m": max(2, method.m)}
        several = dataclasses.replace(method, **changed)
    problem = _Problem(several.m)
    places = torch.arange(IMAGES)
    loss = float(problem.loss(several).total.detach())

    rolled = float(problem.loss(several, places.roll(1)).total.detach())
    require(
        _close(rolled, loss),
        f"has the loss {loss:g}, and {rolled:g} of the same images in another order: "
        "noise.flatten(0, 1) holds all images once for each noise, so that labels of the "
        "copies are y.repeat(m), not y.repeat_interleave(m)",
    )
    twice = float(problem.loss(several, places.repeat(2)).total.detach())
    require(
        _close(twice, loss),
        f"has the loss {loss:g}, and {twice:g} of every image twice: take the mean over "
        "the images, not the sum",
    )


def _check_refuses_noise_of_other_length(method: Method) -> None:
    problem = _Problem(method.m)
    problem.noise = torch.zeros(method.m + 1, *problem.x.shape)
    require_refusal(
        "noise of m + 1 samples (call self.check_noise(x, noise))",
        partial(problem.loss, method),
    )


def _check_schedule(method: Method) -> None:
    """Check the schedule, and that an interrupted run goes on from its stored state."""
    schedule = method.schedule()
    resumed = method.schedule()
    require(
        isinstance(schedule, Schedule),
        "has a schedule() that returns no randsmooth.methods.Schedule",
    )
    require(
        schedule is not resumed,
        "gives two runs one schedule: schedule() makes a new one",
    )
    schedule.prepare(_teacher)
    resumed.prepare(_teacher)
    _check_epoch(schedule)
    _check_state_is_restored(schedule, resumed)


def _check_epoch(schedule: Schedule) -> None:
    figures = schedule.advance(0, IMAGES, _probe)
    require(
        all(map(np.isfinite, figures.values())),
        f"logs {figures} of an epoch, expected finite numbers",
    )
    require(
        isinstance(schedule.objective(0), Method),
        "has a schedule whose objective(0) is no Method",
    )


def _check_state_is_restored(schedule: Schedule, resumed: Schedule) -> None:
    checkpoint = io.BytesIO()
    torch.save(schedule.state(), checkpoint)
    checkpoint.seek(0)
    resumed.restore(torch.load(checkpoint, weights_only=True), IMAGES)
    require(
        repr(resumed.state()) == repr(schedule.state()),
        "has a schedule whose state() differs after restore()",
    )


def _probe(indices: Tensor, m: int, of: str | None = None, **_: object) -> Tensor:
    """Return how often a model is right that is so about every second noisy copy."""
    return torch.full((len(indices),), m // 2)


def _teacher(folder: str, n: int, *, augmented: bool = False) -> Tensor:
    """Return the shares of a model that gives every class the same one."""
    return torch.full((IMAGES, CLASSES), 1 / CLASSES)
