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
from randsmooth.testing.contract import Checks, one_line, opened, refusal, run

IMAGES, SHAPE, CLASSES, SIGMA = 6, (1, 4, 4), 3, 0.5


def check_method(method: str | type[Method], **hyperparameters: Any) -> None:
    """Check a training method: its dataclass, its loss and its schedule.

    The loss must be a finite scalar with gradients for the weights, the sum of its terms, the same when it is
    computed again, another one under other noise, the same whatever the order of the images (which finds labels that
    are not those of their copies),
    the same of every image twice (a mean over images, no sum), and computed without drawing random numbers or leaving
    a trace on the model and its inputs.

    Args:
        method: a name in METHODS, or the class.
        hyperparameters: values for those without a default, and others to try instead of the defaults.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_method("consistency", lbd=5.0)
    """
    entry, kind = opened("method", method, METHODS)
    run(entry, _of_method(kind, hyperparameters))


def _of_method(kind: Any, hyperparameters: dict[str, Any]) -> Checks:
    yield (
        not isinstance(kind, Method),
        f"is no class: give it as check_method({repr(kind).replace('(', ', ', 1)}",
    )
    yield (
        isinstance(kind, type) and issubclass(kind, Method),
        "is no subclass of randsmooth.methods.Method",
    )
    how, fields = vars(kind).get("__dataclass_params__"), dataclasses.fields(kind)
    right = how is not None and how.frozen and all(field.kw_only for field in fields)
    yield (
        right,
        "is no frozen dataclass: write @dataclass(frozen=True, kw_only=True) above it",
    )
    written = vars(kind).get("__doc__") or ""
    described = written and not written.startswith(
        f"{kind.__name__}("
    )  # which dataclass writes itself
    yield described, "has no docstring, which `randsmooth methods` shows"
    cited = one_line(getattr(kind, "source", None)) and "source" not in {
        field.name for field in fields
    }
    yield cited, "has no `source: ClassVar[str]`, the paper"
    method = kind(**hyperparameters)
    yield (
        type(method.m) is int and method.m >= 1,
        f"has m={method.m!r} noises per image, expected 1 or more",
    )
    for field in fields:
        wrong: dict[str, Any] = {field.name: object()}
        yield refusal(
            f"{field.name}=object()",
            partial(dataclasses.replace, method, **wrong),
            field.name,
        )
    yield from _of_loss(method)
    yield from _of_schedule(method)


class _Problem:
    """A small linear classifier, images, labels, noises and all that a loss may ask for."""

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

    def state(self) -> list[Tensor]:
        """Copies of all that a loss must leave as it is."""
        given = [
            self.x,
            self.y,
            self.noise,
            *filter(torch.is_tensor, self.inputs),
            *self.model.parameters(),
        ]
        return [tensor.detach().clone() for tensor in given]

    def loss(self, method: Method, images: Tensor | slice = slice(None)) -> Loss:
        """That of the `images` at these places, with all that belongs to them; of all as they are."""
        u, target = self.inputs.given("u")[images], self.inputs.given("target")[images]
        given = (
            self.x[images],
            self.y[images],
            self.noise[:, images],
            self.inputs._replace(u=u, target=target),
        )
        return method.loss(self.model, *given)


def _generators() -> tuple[Any, ...]:
    """The states of the global random generators, in words that compare."""
    legacy = np.random.get_state()  # noqa: NPY002 this is what must not change
    return torch.get_rng_state().tolist(), repr(legacy), random.getstate()


def _of_loss(method: Method) -> Checks:
    problem = _Problem(method.m)
    model, before, generators = problem.model, problem.state(), _generators()
    loss = problem.loss(method)
    yield (
        generators == _generators(),
        'draws from a global random generator: use inputs.given("u"), or the noise',
    )
    yield (
        isinstance(loss, Loss),
        f"returns a {type(loss).__name__}, expected randsmooth.methods.Loss",
    )
    total = loss.total.detach()
    yield (
        total.dim() == 0 and total.isfinite(),
        f"has the loss {total}, expected a finite number",
    )
    yield (
        loss.total.requires_grad,
        "has a loss that is cut off from the model's weights",
    )
    for name, value in (loss.terms | loss.figures).items():
        fits = (
            isinstance(value, Tensor) and value.dim() == 0 and not value.requires_grad
        )
        yield (
            fits,
            f"has {name!r} = {value!r} among its terms and figures, expected a scalar without gradient",
        )
    summed = float(sum(value.double() for value in loss.terms.values()))
    close = loss.terms and abs(summed - float(total)) <= 1e-4 * max(1.0, abs(summed))
    yield (
        close,
        f"has terms that add up to {summed:g}, its loss is {float(total):g}: name the parts that it is made of",
    )
    same = all(map(torch.equal, before, problem.state()))
    yield same, "changes the images, the noise, its other inputs or the model's weights"
    left = model.training and all(
        each.requires_grad and each.grad is None for each in model.parameters()
    )
    yield (
        left,
        "leaves the model in eval mode, with gradients, or with weights that take none: use attacks.frozen",
    )
    gradients = torch.autograd.grad(
        loss.total, [*model.parameters()], allow_unused=True
    )
    arrive = all(each is not None and each.isfinite().all() for each in gradients)
    yield (
        arrive and any(map(torch.any, gradients)),
        "has a loss without finite gradients for all weights",
    )
    again = problem.loss(method).total
    yield (
        torch.equal(again, loss.total),
        f"gives {total:g}, then {again:g} on the same images",
    )
    problem.noise *= 2.0
    yield (
        not torch.equal(problem.loss(method).total, again),
        "has the same loss under twice the noise: add it to x",
    )
    yield from _of_pairing(method)
    problem.noise = torch.zeros(method.m + 1, *problem.x.shape)
    yield refusal(
        "noise of m + 1 samples (call self.check_noise(x, noise))",
        partial(problem.loss, method),
    )


def _of_pairing(method: Method) -> Checks:
    """That copies, labels and noise of an image stay together, and that a loss is a mean over the images."""
    more: dict[str, Any] = (
        {"m": max(2, method.m)} if "m" in vars(method) else {}
    )  # one copy cannot be mistaken
    several = dataclasses.replace(method, **more)
    problem, places = _Problem(several.m), torch.arange(IMAGES)
    first = float(problem.loss(several).total.detach())
    layout = (
        "of the same images in another order: noise.flatten(0, 1) holds all images once for each noise, so that labels "
        "of the copies are y.repeat(m), not y.repeat_interleave(m)"
    )
    summed = "of every image twice: take the mean over the images, not the sum"
    for images, said in ((places.roll(1), layout), (places.repeat(2), summed)):
        second = float(problem.loss(several, images).total.detach())
        same = abs(first - second) <= 1e-4 * max(1.0, abs(first))
        yield same, f"has the loss {first:g}, and {second:g} {said}"


def _of_schedule(method: Method) -> Checks:
    """Also that a run which is interrupted goes on from the state in its checkpoint."""
    schedule, resumed = method.schedule(), method.schedule()
    yield (
        isinstance(schedule, Schedule),
        "has a schedule() that returns no randsmooth.methods.Schedule",
    )
    yield (
        schedule is not resumed,
        "gives two runs one schedule: schedule() makes a new one",
    )
    for each in (schedule, resumed):
        each.prepare(_teacher)
    figures = schedule.advance(0, IMAGES, _probe)
    yield (
        all(map(np.isfinite, figures.values())),
        f"logs {figures} of an epoch, expected finite numbers",
    )
    yield (
        isinstance(schedule.objective(0), Method),
        "has a schedule whose objective(0) is no Method",
    )
    stored = io.BytesIO()
    torch.save(schedule.state(), stored)
    stored.seek(0)
    resumed.restore(torch.load(stored, weights_only=True), IMAGES)
    yield (
        repr(resumed.state()) == repr(schedule.state()),
        "has a schedule whose state() differs after restore()",
    )


def _probe(indices: Tensor, m: int, of: str | None = None, **_: object) -> Tensor:
    """A model that is right about every second noisy copy."""
    return torch.full((len(indices),), m // 2)


def _teacher(folder: str, n: int, *, augmented: bool = False) -> Tensor:
    """A model that gives every class the same share."""
    return torch.full((IMAGES, CLASSES), 1 / CLASSES)
