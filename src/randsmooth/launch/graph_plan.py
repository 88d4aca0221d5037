"""What the steps of a sweep take here, by how often a method asks its network, and how fast that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.benchmark import Timer

from randsmooth import data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.launch.steps import Step
from randsmooth.methods import LossInputs, Method
from randsmooth.training import Recipe, TrainingSettings, resolve

TRIALS = 3
VALUES = 2**18  # of the images that a network is measured with: 85 of CIFAR-10, two of ImageNet
IMAGES, SHAPE, CLASSES = 6, (1, 4, 4), 3  # of the problem on which passes are counted


class Passes(NamedTuple):
    """Of each image, through a network alone and there and back: how many, or how many seconds one takes."""

    forward: float
    both: float


@lru_cache(maxsize=1024)
def work_of(method: Method) -> Passes:
    """The passes of a training step for each image of the batch, the attack and the weights' gradient included.

    Example:
        >>> from randsmooth import methods
        >>> work_of(methods.create("gaussian", m=2))
        Passes(forward=0.0, both=2.0)
        >>> work_of(methods.create("smoothadv", m=2, T=4)).both > 8
        True
    """
    passed = {"forward": 0, "both": 0}

    def count(module: nn.Module, given: Any, logits: torch.Tensor) -> None:
        passed["forward"] += len(logits)
        if logits.requires_grad:
            logits.register_hook(lambda gradient: passed.update(both=passed["both"] + len(gradient)))

    with torch.random.fork_rng(devices=[]):
        model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, CLASSES))
        model.register_forward_hook(count)
        x, y = torch.rand(IMAGES, *SHAPE), torch.arange(IMAGES) % CLASSES
        noise, target = 0.5 * torch.randn(method.m, IMAGES, *SHAPE), torch.rand(IMAGES, CLASSES).softmax(dim=1)
        loss = method.loss(model, x, y, noise, LossInputs(u=torch.rand(IMAGES), target=target, sigma=0.5))
        loss.total.backward()
    return Passes((passed["forward"] - passed["both"]) / IMAGES, passed["both"] / IMAGES)


@lru_cache(maxsize=1024)
def speed_of(arch: str, shape: tuple[int, ...], num_classes: int) -> Passes:
    """Seconds of a network with random weights on this machine's GPU, or else its CPU, in float32."""
    device = models.pick_device("auto")
    made = models.build(arch, in_channels=shape[0], image_size=shape[1], num_classes=num_classes).to(device)
    x = torch.rand(max(2, VALUES // math.prod(shape)), *shape, device=device)

    def forward() -> None:
        with torch.inference_mode():
            made.eval()(x)

    def both() -> None:
        made.train()(x.clone().requires_grad_()).logsumexp(1).sum().backward()

    timers = (Timer("run()", globals={"run": run}, num_threads=torch.get_num_threads()) for run in (forward, both))
    return Passes(*(timer.timeit(TRIALS).median / len(x) for timer in timers))


@dataclass
class GraphPlan:
    """Seconds of steps, one after the other on this machine.

    Attributes:
        training, certification: of each step that trains and certifies, by its name.
        unknown: the names of steps that cannot be foretold, such as those that train denoisers.
    """

    training: dict[str, float] = field(default_factory=dict)
    certification: dict[str, float] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    @property
    def steps(self) -> dict[str, float]:
        return self.training | self.certification

    @property
    def sums(self) -> list[float]:
        """Of training, certification and both."""
        return [sum(of.values()) for of in (self.training, self.certification, self.steps)]

    def on_workers(self, k: int) -> float:
        """Seconds on k workers like this machine: no less than the longest step, which no two can share."""
        return max([self.sums[-1] / k, *self.steps.values()])


def plan_steps(steps: Iterable[Step], speed: Callable[[str, tuple[int, ...], int], Passes] = speed_of) -> GraphPlan:
    """What `steps` take, those of one model together: a step that certifies comes after the one that trains.

    Steps that evaluate and rank take seconds, and count as none.

    Args:
        steps: in an order in which they can be carried out.
        speed: of a network, by architecture, shape of the images (C, H, W) and number of classes.

    Raises:
        InputError: settings with which a step could not run.

    Example:
        >>> from pathlib import Path
        >>> train = Step("a/train", "train", "digits", {"sigma": 0.25, "epochs": 1}, Path("a"))
        >>> certify = Step("a/certify", "certify", "a", {"n": 1000, "take": 10}, Path("a.parquet"), ("a/train",))
        >>> planned = plan_steps([train, certify])
        >>> [*planned.training], [*planned.certification], planned.unknown
        (['a/train'], ['a/certify'], [])
    """
    recipes, planned = dict[str, Recipe](), GraphPlan()
    for step in steps:
        recipe = _recipe(step) if step.verb == "train" else next((recipes[n] for n in step.needs if n in recipes), None)
        if step.verb == "train-denoiser" or (step.verb == "certify" and recipe is None):
            planned.unknown.append(step.name)
        elif step.verb in ("train", "certify") and recipe is not None:
            spec = data.describe(recipe.dataset, **recipe.reading)
            passes = speed(recipe.arch, tuple(spec.shape), spec.num_classes)
            if step.verb == "train":
                recipes[step.name] = recipe
                planned.training[step.name] = _training(recipe, recipe.take or spec.sizes["train"], passes)
            else:
                planned.certification[step.name] = _samples(step, recipe) * passes.forward
    return planned


def _recipe(step: Step) -> Recipe:
    known = {key: value for key, value in step.options.items() if key in TrainingSettings.model_fields}
    reading = {key: known[key] for key in ("image_column", "label_column", "resize", "crop") if key in known}
    return resolve(str(step.argument), TrainingSettings(**known), data.describe(str(step.argument), **reading))[0]


def _training(recipe: Recipe, images: int, speed: Passes) -> float:
    """Every epoch as the method is at full strength."""
    work = work_of(recipe.build_method())
    noises = recipe.hyperparameters.get("teacher_noises") or 0
    teacher = noises * speed.forward if recipe.hyperparameters.get("teacher") else 0.0
    return images * (recipe.epochs * (work.forward * speed.forward + work.both * speed.both) + teacher)


def _samples(step: Step, recipe: Recipe) -> int:
    """All that the images may take."""
    options, usual = step.options, CertificationSettings.model_fields
    total = data.describe(str(options.get("dataset") or recipe.dataset)).sizes[str(options.get("split", "test"))]
    images = options.get("take") or math.ceil(total / (options.get("skip") or 1))
    return int(images * sum(int(options.get(key, usual[key].default)) for key in ("n0", "n")))
