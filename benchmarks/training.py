"""Our training step over the plainly written one of the same objective (plain.py), in turn.

    python benchmarks/training.py [--out results/bench/training-cpu.json]

A step is 64 images under 4 noises. Ours is the trainer's own, with its batches, its noise and its log, read every 50
steps; the plain one makes its own batches and logs every step. Both crop and flip CIFAR. Five methods are timed on
LeNet, from weights after 300 Gaussian steps on and with the values of the method's last epoch; on a GPU by gpu.py.
"""

import copy
import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor

import plain
from harness import Figure, finish, options_of, rate, ratio
from randsmooth import data
from randsmooth.data import TensorImages
from randsmooth.errors import Problem
from randsmooth.models import Classifier
from randsmooth.progress import Silent
from randsmooth.training import Recipe, TrainingSettings, resolve
from randsmooth.training.devices import make_fabric
from randsmooth.training.loggers import LoggerGroup, open_loggers
from randsmooth.training.loop import STEPS_BETWEEN_LOGS, StepLog, Trainer
from randsmooth.training.networks import new_model

SIGMA, IMAGES, M, DEVICE = 0.5, 64, 4, "cpu"
SAMPLES = IMAGES * M


@cache
def load(dataset: str) -> TensorImages:
    return data.load(dataset, "train", device=DEVICE)


class Ours:
    """The trainer's steps, one epoch after another, logged as the trainer logs them."""

    def __init__(
        self,
        recipe: Recipe,
        model: Classifier,
        images: TensorImages,
        folder: Path,
        loggers: LoggerGroup,
    ) -> None:
        schedule = recipe.build_method().schedule()
        self.trainer = Trainer(
            recipe, images, model, schedule, folder, make_fabric(recipe), Silent()
        )
        self.trainer.model.train()
        self.objective = schedule.objective(
            recipe.epochs - 1
        )  # whose values are the full ones
        self.batches, self.loggers = self._batches(), loggers

    def _batches(self) -> Iterator[tuple[int, int, tuple[Tensor, Tensor, Tensor]]]:
        for epoch in itertools.count():
            for step, batch in enumerate(self.trainer._batches(epoch)):
                yield epoch, step, batch

    def run(self, steps: int) -> None:
        log = StepLog(0, 1, steps, self.loggers)
        for done, (epoch, step, (indices, x, y)) in enumerate(
            itertools.islice(self.batches, steps), start=1
        ):
            log.add(
                self.trainer.step(self.objective, x, y, indices, epoch, step), len(x)
            )
            if done % STEPS_BETWEEN_LOGS == 0 or done == steps:
                log.flush()


@contextmanager
def training(recipe: Recipe, model: Classifier, images: TensorImages) -> Iterator[Ours]:
    """Our side, which logs to TensorBoard."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_loggers(["tensorboard"], Path(folder), {}) as loggers,
    ):
        yield Ours(recipe, model, images, Path(folder), loggers)


class Plain:
    """The plain steps, from the weights of `ours` and on the same images."""

    def __init__(self, recipe: Recipe, ours: Classifier) -> None:
        network = copy.deepcopy(ours.network).to(memory_format=torch.contiguous_format)
        self.model = plain.Normalized(network, ours.mean, ours.std)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=recipe.lr,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
        )
        images = load(recipe.dataset)
        augment = images.spec.augment == "crop-flip"
        self.batches = plain.batches(images.pixels, images.labels, IMAGES, augment)
        last = recipe.build_method().schedule().objective(recipe.epochs - 1)
        self.objective = partial(
            plain.METHODS[recipe.method], sigma=SIGMA, values=asdict(last)
        )

    def run(self, steps: int) -> None:
        plain.train(
            self.model, self.optimizer, self.batches, self.objective, steps, M, SIGMA
        )


@dataclass(frozen=True)
class Step:
    """Training of a network on its data, how many steps make a round, and how much faster ours must be."""

    method: str
    dataset: str
    arch: str
    precision: str
    steps: int
    target: float

    def recipe(self) -> Recipe:
        settings = TrainingSettings(
            method=self.method,
            sigma=SIGMA,
            arch=self.arch,
            set={"k" if self.method == "macer" else "m": M, "batch": SAMPLES},
            precision=self.precision,
        )
        return resolve(
            self.dataset, settings, data.describe(self.dataset), device=DEVICE
        )[0]

    def measure(self) -> Figure:
        """Both sides take the same number of steps a round."""
        name = (
            f"training samples a second, {self.method}, {self.arch}, {self.precision}"
        )
        recipe, work = self.recipe(), self.steps * SAMPLES
        model = new_model(recipe, data.describe(self.dataset))
        if self.method != "gaussian":
            model.load_state_dict(trained_lenet().state_dict())
        theirs = Plain(recipe, model)
        with training(recipe, model, load(self.dataset)) as ours:
            sides = (
                lambda side=side: rate(work, lambda: side.run(self.steps))
                for side in (ours, theirs)
            )
            return ratio(name, *sides, target=self.target)


@cache
def trained_lenet() -> Classifier:
    """After 300 Gaussian steps."""
    recipe = Step("gaussian", "mnist", "lenet", "32", 300, target=0.0).recipe()
    model = new_model(recipe, data.describe("mnist"))
    with training(recipe, model, load("mnist")) as ours:
        ours.run(300)
    return model


STEPS = {"smoothadv": 5, "amplify": 10}  # in a round; the others take 50
CASES = (
    *(
        Step(method, "mnist", "lenet", precision, STEPS.get(method, 50), target)
        for precision, target in (("bf16-mixed", 3.0), ("32", 2.0))
        for method in plain.METHODS
    ),
    Step("gaussian", "cifar10-jpeg", "resnet20", "bf16-mixed", 4, 2.2),
    Step("gaussian", "cifar10-jpeg", "resnet20", "32", 4, 1.4),
)


def figures() -> Iterator[Figure]:
    """Of each case; a line in its place where its data are missing."""
    for case in CASES:
        try:
            load(case.dataset)
        except Problem as error:
            print(
                f"{case.method} on {case.dataset}: target {case.target:g}x, not measured: {error}",
                flush=True,
            )
            continue
        yield case.measure()


def main() -> None:
    options = options_of(__doc__, "training").parse_args()
    torch.manual_seed(0)
    finish(figures(), options.out)


if __name__ == "__main__":
    main()
