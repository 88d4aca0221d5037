"""How long the steps of a graph take on this machine, by what their networks take and how often they are asked."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from randsmooth import data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.data import DatasetSpec
from randsmooth.launch.steps import Step
from randsmooth.launch.work import work_of
from randsmooth.training import Recipe, TrainingSettings, resolve

TRIALS = 3
VALUES = 2**18  # of the images that a network is measured with: 85 of CIFAR-10, two of ImageNet


@dataclass(frozen=True)
class NetworkSpeed:
    """Seconds that an image takes: through the network, and through it and back."""

    forward: float
    both: float


@dataclass
class Speeds:
    """What networks take here, each measured once with random weights, in float32.

    Attributes:
        device: where to measure.
    """

    device: torch.device
    known: dict[tuple[str, tuple[int, ...], int], NetworkSpeed] = field(default_factory=dict)

    def of(self, arch: str, spec: DatasetSpec) -> NetworkSpeed:
        key = (arch, tuple(spec.shape), spec.num_classes)
        if key not in self.known:
            self.known[key] = _measured(*key, self.device)
        return self.known[key]


@dataclass(frozen=True)
class GraphPlan:
    """Seconds of the steps of a graph, one after the other on this machine.

    Attributes:
        training, certification: of all steps that train and certify.
        steps: of each of them, by its name.
        at_most: whether some certify by a rule that may stop early, which takes at most this long.
        unknown: the names of steps that cannot be foretold, such as those that train denoisers.
    """

    training: float
    certification: float
    steps: Mapping[str, float]
    at_most: bool
    unknown: tuple[str, ...]

    @property
    def seconds(self) -> float:
        return self.training + self.certification

    def on_workers(self, k: int) -> float:
        """Seconds on k workers like this machine: no less than the longest step, which no two can share."""
        return max([self.seconds / k, *self.steps.values()])


def plan_steps(steps: Iterable[Step], speeds: Speeds) -> GraphPlan:
    """What `steps` take, those of one model together: a step that certifies comes after the one that trains.

    Steps that evaluate and rank take seconds, and count as none.

    Raises:
        InputError: settings with which a step could not run.

    Example:
        >>> from pathlib import Path
        >>> train = Step("a/train", "train", "digits", {"sigma": 0.25, "epochs": 1}, Path("a"))
        >>> certify = Step("a/certify", "certify", "a", {"n": 1000, "take": 10}, Path("a.parquet"), ("a/train",))
        >>> planned = plan_steps([train, certify], Speeds(torch.device("cpu")))
        >>> planned.training > 0, planned.certification > 0, planned.unknown
        (True, True, ())
    """
    recipes: dict[str, Recipe] = {}
    found, unknown, at_most = dict[str, dict[str, float]](train={}, certify={}), list[str](), False
    for step in steps:
        if step.verb == "train":
            recipes[step.name] = _recipe(step)
            found["train"][step.name] = _training(recipes[step.name], speeds)
        elif step.verb == "certify":
            recipe = next((recipes[name] for name in step.needs if name in recipes), None)
            if recipe is None:
                unknown.append(step.name)
                continue
            found["certify"][step.name] = _certification(step, recipe, speeds)
            at_most |= str(step.options.get("rule", "fixed")) != "fixed"
        elif step.verb == "train-denoiser":
            unknown.append(step.name)
    sums = {verb: sum(seconds.values()) for verb, seconds in found.items()}
    return GraphPlan(sums["train"], sums["certify"], found["train"] | found["certify"], at_most, tuple(unknown))


def _recipe(step: Step) -> Recipe:
    known = {key: value for key, value in step.options.items() if key in TrainingSettings.model_fields}
    dataset = str(step.argument)
    reading = {key: known[key] for key in ("image_column", "label_column", "resize", "crop") if key in known}
    return resolve(dataset, TrainingSettings(**known), data.describe(dataset, **reading))[0]


def _training(recipe: Recipe, speeds: Speeds) -> float:
    """Every epoch as the method is at full strength, on all images."""
    spec = data.describe(recipe.dataset, **recipe.reading)
    images = recipe.take or spec.sizes["train"]
    speed, work = speeds.of(recipe.arch, spec), work_of(recipe.build_method())
    step = work.forward * speed.forward + work.both * speed.both
    noises = recipe.hyperparameters.get("teacher_noises") or 0
    teacher = noises * speed.forward if recipe.hyperparameters.get("teacher") else 0.0
    return images * (recipe.epochs * step + teacher)


def _certification(step: Step, recipe: Recipe, speeds: Speeds) -> float:
    """All samples that the images may take."""
    name = str(step.options.get("dataset") or recipe.dataset)
    spec, take, skip = data.describe(name), step.options.get("take"), step.options.get("skip")
    total = spec.sizes[str(step.options.get("split", "test"))]
    images = take or (math.ceil(total / skip) if skip else total)
    usual = CertificationSettings.model_fields
    n0, n = (int(step.options.get(key, usual[key].default)) for key in ("n0", "n"))
    return float(images * (n0 + n) * speeds.of(recipe.arch, spec).forward)


def _measured(arch: str, shape: tuple[int, ...], num_classes: int, device: torch.device) -> NetworkSpeed:
    """The median of a few batches, after one to warm up."""
    made = models.build(arch, in_channels=shape[0], image_size=shape[1], num_classes=num_classes).to(device)
    number = max(2, VALUES // math.prod(shape))
    x = torch.rand(number, *shape, device=device)

    def forward() -> Any:
        with torch.inference_mode():
            return made(x)

    def both() -> Any:
        loss = made(x.clone().requires_grad_()).logsumexp(1).sum()
        loss.backward()
        return loss

    made.eval()
    once = _median(forward, device) / number
    made.train()
    return NetworkSpeed(once, _median(both, device) / number)


def _median(run: Callable[[], Any], device: torch.device) -> float:
    times = []
    for _ in range(1 + TRIALS):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])
