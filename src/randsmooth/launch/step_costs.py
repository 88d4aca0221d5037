"""What the steps of a sweep will take: networks are measured, the rest is counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from timeit import repeat
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.launch.model_steps import Certify, Train
from randsmooth.launch.step import Step
from randsmooth.methods import LossInputs, Method
from randsmooth.training import Recipe

# Number of times that a network is timed; the median counts.
TRIALS = 3
# Values of the images that a network is timed with: 85 of CIFAR-10, two of ImageNet.
TIMED_VALUES = 2**18

# Images, shape and classes of the small problem on which a method's passes are counted.
COUNTED_IMAGES = 6
COUNTED_SHAPE = (1, 4, 4)
COUNTED_CLASSES = 3


class Passes(NamedTuple):
    """Passes of an image through a network: how many, or how many seconds one takes.

    Attributes:
        forward: through the network alone.
        both: there and back.
    """

    forward: float
    both: float


# (architecture, shape of an image (C, H, W), number of classes) -> seconds of a pass
Speed = Callable[[str, tuple[int, ...], int], Passes]


@lru_cache(maxsize=1024)
def work_of(method: Method) -> Passes:
    """Count the passes of a training step for each image of the batch.

    Those of an attack and of the weights' gradient are included.

    Example:
        >>> from randsmooth import methods
        >>> work_of(methods.create("gaussian", m=2))
        Passes(forward=0.0, both=2.0)
        >>> work_of(methods.create("smoothadv", m=2, T=4)).both > 8
        True
    """
    passed_forward = 0
    passed_back = 0

    def count_back(gradient: Tensor) -> None:
        nonlocal passed_back
        passed_back += len(gradient)

    def count(module: nn.Module, inputs: object, logits: Tensor) -> None:
        nonlocal passed_forward
        passed_forward += len(logits)
        if logits.requires_grad:
            logits.register_hook(count_back)

    with torch.random.fork_rng(devices=[]):
        model = nn.Sequential(
            nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, COUNTED_CLASSES)
        )
        model.register_forward_hook(count)
        x = torch.rand(COUNTED_IMAGES, *COUNTED_SHAPE)
        y = torch.arange(COUNTED_IMAGES) % COUNTED_CLASSES
        noise = 0.5 * torch.randn(method.m, *x.shape)
        inputs = LossInputs(
            target=torch.rand(COUNTED_IMAGES, COUNTED_CLASSES).softmax(dim=1),
            u=torch.rand(COUNTED_IMAGES),
            sigma=0.5,
        )
        method.loss(model, x, y, noise, inputs).total.backward()
    return Passes(
        forward=(passed_forward - passed_back) / COUNTED_IMAGES,
        both=passed_back / COUNTED_IMAGES,
    )


@lru_cache(maxsize=1024)
def speed_of(arch: str, shape: tuple[int, ...], num_classes: int) -> Passes:
    """Measure the seconds of a network with random weights, in float32.

    It runs on this machine's GPU, or else its CPU.
    """
    device = models.pick_device("auto")
    network = models.build(
        arch, in_channels=shape[0], image_size=shape[1], num_classes=num_classes
    ).to(device)
    x = torch.rand(max(2, TIMED_VALUES // math.prod(shape)), *shape, device=device)

    def forward() -> None:
        with torch.inference_mode():
            network.eval()(x)
        wait()

    def both() -> None:
        network.train()(x.clone().requires_grad_()).logsumexp(1).sum().backward()
        wait()

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    def seconds(run: Callable[[], None]) -> float:
        return float(np.median(repeat(run, repeat=TRIALS, number=1))) / len(x)

    return Passes(seconds(forward), seconds(both))


@dataclass
class StepCosts:
    """Seconds of steps, one after the other on this machine.

    Attributes:
        training, certification: the seconds of each step that trains and of each that
            certifies, by the name of the step.
    """

    training: dict[str, float] = field(default_factory=dict)
    certification: dict[str, float] = field(default_factory=dict)

    @property
    def steps(self) -> dict[str, float]:
        """Return the seconds of every step."""
        return self.training | self.certification

    @property
    def total(self) -> float:
        """Return the seconds of all steps together."""
        return sum(self.steps.values())

    def on_workers(self, k: int) -> float:
        """Return the seconds on k workers like this machine.

        They are no less than those of the longest step, which no two can share.
        """
        return max([self.total / k, *self.steps.values()])


def plan_steps(steps: Iterable[Step], speed: Speed = speed_of) -> StepCosts:
    """Return the seconds of `steps`; certification uses the model trained before it.

    Steps that only put files together take seconds, and count as none.

    Args:
        steps: the steps, in an order in which they can be carried out.
        speed: the function that measures the speed of a network.

    Raises:
        Problem: settings with which a step could not run.

    Example:
        >>> from pathlib import Path
        >>> from randsmooth.certificates import CertificationSettings
        >>> from randsmooth.training import TrainingSettings
        >>> train = Train(
        ...     name="a/train",
        ...     makes=Path("a"),
        ...     dataset="digits",
        ...     settings=TrainingSettings(sigma=0.25, epochs=1),
        ... )
        >>> certify = Certify(
        ...     name="a/certify",
        ...     makes=Path("a.parquet"),
        ...     needs=(train,),
        ...     model="a",
        ...     settings=CertificationSettings(n=1000),
        ...     images={"take": 10},
        ... )
        >>> costs = plan_steps([train, certify])
        >>> [*costs.training], [*costs.certification]
        (['a/train'], ['a/certify'])
    """
    costs = StepCosts()
    for step in steps:
        if isinstance(step, Train):
            costs.training[step.name] = _training_seconds(step, speed)
        elif isinstance(step, Certify):
            costs.certification[step.name] = _certification_seconds(step, speed)
    return costs


def _training_seconds(step: Train, speed: Speed) -> float:
    """Return the seconds of training: every epoch as the method is at full strength."""
    recipe = step.recipe()
    described = data.describe(recipe.dataset, **recipe.reading)
    seconds = _seconds_of_pass(recipe, speed)
    work = work_of(recipe.build_method())
    of_epoch = work.forward * seconds.forward + work.both * seconds.both
    of_teacher = 0.0
    if recipe.hyperparameters.get("teacher"):
        noises = recipe.hyperparameters.get("teacher_noises") or 0
        of_teacher = noises * seconds.forward
    images = recipe.take or described.sizes["train"]
    return images * (recipe.epochs * of_epoch + of_teacher)


def _certification_seconds(step: Certify, speed: Speed) -> float:
    """Return the seconds of certifying, of all samples that the images may take."""
    (train,) = (need for need in step.needs if isinstance(need, Train))
    recipe = train.recipe()
    spec = step.spec()
    described = data.describe(str(spec.dataset or recipe.dataset), **recipe.reading)
    # Data without a test split are certified on the validation split.
    total = described.sizes.get(spec.split) or described.sizes["validation"]
    images = spec.take or math.ceil(total / (spec.skip or 1))
    samples = images * (spec.settings.n0 + spec.settings.n)
    return samples * _seconds_of_pass(recipe, speed).forward


def _seconds_of_pass(recipe: Recipe, speed: Speed) -> Passes:
    """Return how long a pass of the network takes that a recipe trains."""
    described = data.describe(recipe.dataset, **recipe.reading)
    return speed(recipe.arch, tuple(described.shape), described.num_classes)
