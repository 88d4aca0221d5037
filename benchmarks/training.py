"""Our training step over the plainly written step of the same objective (plain_step.py), in turn.

python benchmarks/training.py [--device cpu] [--out results/bench/training-cpu.json]

A step is 64 images under 4 noises. Ours is the trainer's own, with its batches, its noise and its log, read every 50
steps; the plain one makes its own batches and logs every step. Both crop and flip CIFAR. All eight methods are timed on
LeNet, from weights after 300 Gaussian steps on and with the values of the method's last epoch. Amplify's attack is also
timed alone, with steps so long that half of the noises end misclassified.

A GPU's figure (ResNet-110, compiled) comes with the share of the memory bandwidth; bandwidth.py says what is counted.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor

import plain_methods
import plain_step
from bandwidth import against_bound, bytes_a_step
from harness import Figure, finish, rate, ratio
from randsmooth import data
from randsmooth.attacks import sphere_attack
from randsmooth.data import TensorImages
from randsmooth.errors import InputError
from randsmooth.methods import create
from randsmooth.models import Classifier
from randsmooth.noise import Stream, draw
from randsmooth.progress import Silent
from randsmooth.training import Recipe, TrainingSettings, resolve
from randsmooth.training.devices import make_fabric
from randsmooth.training.loggers import LoggedRun, LoggerGroup, open_loggers
from randsmooth.training.loop import LOG_EVERY, StepLog, Trainer
from randsmooth.training.run import new_classifier

SIGMA, IMAGES, M = 0.5, 64, 4
SAMPLES = IMAGES * M
T = create("amplify").T

PLAIN = {
    "lenet": plain_step.lenet,
    "resnet20": partial(plain_step.ResNet, 3),
    "resnet110": partial(plain_step.ResNet, 18),
}


@cache
def load(dataset: str, device: str) -> TensorImages:
    return data.load(dataset, "train", device=device)


class Ours:
    """The trainer's steps, one epoch after another, logged as the trainer logs them."""

    def __init__(self, recipe: Recipe, model: Classifier, folder: Path, loggers: LoggerGroup) -> None:
        images, schedule = load(recipe.dataset, recipe.device), recipe.build_method().schedule()
        fabric = make_fabric(recipe)
        self.trainer = Trainer(recipe, images, model, schedule, folder, fabric, Silent())
        self.trainer.model.train()
        self.objective = schedule.objective(recipe.epochs - 1)
        self.batches, self.loggers = self._batches(), loggers

    def _batches(self) -> Iterator[tuple[int, int, tuple[Tensor, Tensor, Tensor]]]:
        for epoch in itertools.count():
            for step, batch in enumerate(self.trainer._batches(epoch)):
                yield epoch, step, batch

    def run(self, steps: int) -> None:
        log = StepLog(0, 1, steps, self.loggers)
        for done, (epoch, step, (indices, x, y)) in enumerate(itertools.islice(self.batches, steps), start=1):
            log.add(self.trainer.step(self.objective, x, y, indices, epoch, step), len(x))
            if done % LOG_EVERY == 0 or done == steps:
                log.flush()


@contextmanager
def training(recipe: Recipe, model: Classifier) -> Iterator[Ours]:
    """Our side, which logs to TensorBoard."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_loggers(["tensorboard"], LoggedRun(Path(folder), {})) as loggers,
    ):
        yield Ours(recipe, model, Path(folder), loggers)


class Plain:
    """The plain steps, from the weights of `ours` and on the same images."""

    def __init__(self, recipe: Recipe, ours: Classifier) -> None:
        self.model = plain(ours).to(recipe.device)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=recipe.lr, momentum=recipe.momentum, weight_decay=recipe.weight_decay
        )
        images = load(recipe.dataset, recipe.device)
        augment = images.spec.augment == "crop-flip"
        self.batches = plain_step.batches(images.pixels.cpu(), images.labels, IMAGES, augment, recipe.device)
        last = recipe.build_method().schedule().objective(recipe.epochs - 1)
        self.objective = partial(plain_methods.METHODS[recipe.method], sigma=SIGMA, values=asdict(last))

    def run(self, steps: int) -> None:
        plain_step.train(self.model, self.optimizer, self.batches, self.objective, steps, M, SIGMA)


def plain(ours: Classifier) -> plain_step.Normalized:
    """The plain network with the weights of `ours`, which is on the CPU, once they are seen to compute the same."""
    model = plain_step.Normalized(PLAIN[ours.arch](), ours.mean, ours.std)
    model.network.load_state_dict(ours.network.state_dict())
    x = torch.rand(8, *ours.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():  # normalised by the batch's statistics: unnormalised, 110 layers give huge logits
        torch.testing.assert_close(model.train()(x), ours.train()(x), atol=1e-4, rtol=1e-4)
    return model


@dataclass(frozen=True)
class Step:
    """Training of a network on its data, how many steps make a round, and how much faster ours must be."""

    method: str
    dataset: str
    arch: str
    precision: str
    steps: int
    target: float
    device: str = "cpu"
    compile: bool = False

    @property
    def name(self) -> str:
        compiled = ", compiled" if self.compile else ""
        return f"training samples a second, {self.method}, {self.arch}, {self.precision}{compiled}, {self.device}"

    def recipe(self) -> Recipe:
        settings = TrainingSettings(
            method=self.method,
            sigma=SIGMA,
            arch=self.arch,
            set={"k" if self.method == "macer" else "m": M, "batch": SAMPLES},
            precision=self.precision,
            compile=self.compile,
        )
        return resolve(self.dataset, settings, data.describe(self.dataset), device=self.device)[0]

    def measure(self) -> Figure:
        """Both sides take the same number of steps a round."""
        recipe = self.recipe()
        model = new_classifier(recipe, data.describe(self.dataset))
        if self.method != "gaussian":
            model.load_state_dict(trained_lenet().state_dict())
        moved = bytes_a_step(model, model.shape, SAMPLES)
        theirs = Plain(recipe, model)
        with training(recipe, model) as ours:
            return ratio(
                self.name,
                ours=lambda: rate(self.steps * SAMPLES, lambda: ours.run(self.steps)),
                theirs=lambda: rate(self.steps * SAMPLES, lambda: theirs.run(self.steps)),
                target=self.target,
                note=lambda rate: against_bound(moved, SAMPLES / rate) if self.device == "cuda" else "",
            )


@dataclass(frozen=True)
class Attack:
    """Amplify's attack phase on LeNet in one precision."""

    precision: str
    target: float
    dataset: str = "mnist"
    device: str = "cpu"

    @property
    def name(self) -> str:
        return f"attacked noises a second, Amplify, T = {T}, lenet, {self.precision}, {self.device}"

    def measure(self) -> Figure:
        """Both sides walk the same noises."""
        walks = trained_walks()
        theirs = partial(plain_step.attack, plain(walks.model))
        return ratio(
            self.name,
            ours=lambda: walks.rate(self._ours),
            theirs=lambda: walks.rate(lambda *walk: theirs(*walk, steps=T, eps=walks.eps)),
            target=self.target,
            note=lambda rate: f"{walks.share:.1%} of the noises end misclassified, eps {walks.eps:.2f}",
        )

    def _ours(self, x: Tensor, y: Tensor, noise: Tensor) -> None:
        walks = trained_walks()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision != "32"):
            sphere_attack(walks.model, x, y, noise, steps=T, eps=walks.eps)


class Walks:
    """Noisy images, and the eps at which half of their noises end misclassified in float32."""

    BATCHES, PASSES = 4, 4

    def __init__(self, model: Classifier, images: TensorImages) -> None:
        self.model = model
        self.batches = [self._batch(images, k) for k in range(self.BATCHES)]
        low, high = 0.0, 20.0
        while True:
            self.eps = (low + high) / 2
            self.share = self._misclassified()
            if 0.49 <= self.share <= 0.51:
                break
            if high - low < 1e-4:
                raise RuntimeError(f"{self.share:.0%} of the noises end misclassified at eps {self.eps}, and no half")
            low, high = (self.eps, high) if self.share < 0.5 else (low, self.eps)

    def _batch(self, images: TensorImages, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """x, y and noise, one of each a noise, as Amplify's loss hands them to the attack."""
        x, y = images.batch(torch.arange(k * IMAGES, (k + 1) * IMAGES))
        noise = draw((M, *x.shape), SIGMA, stream=Stream(0, "bench/walk").at(k))
        return x.repeat(M, 1, 1, 1), y.repeat(M), noise.flatten(0, 1)

    def _misclassified(self) -> float:
        wrong = []
        for x, y, noise in self.batches:
            ends = sphere_attack(self.model, x, y, noise, steps=T, eps=self.eps).points
            wrong.append(self.model(x + ends).argmax(dim=1) != y)
        return float(torch.cat(wrong).float().mean())

    def rate(self, attack: Callable[[Tensor, Tensor, Tensor], object]) -> float:
        """Noises a second, of some passes over the batches."""

        def run() -> None:
            for _, batch in itertools.product(range(self.PASSES), self.batches):
                attack(*batch)

        return rate(self.PASSES * self.BATCHES * SAMPLES, run)


@cache
def trained_walks() -> Walks:
    return Walks(trained_lenet(), load("mnist", "cpu"))


@cache
def trained_lenet() -> Classifier:
    """After 300 Gaussian steps."""
    recipe = Step("gaussian", "mnist", "lenet", "32", 300, target=0.0).recipe()
    model = new_classifier(recipe, data.describe("mnist"))
    with training(recipe, model) as ours:
        ours.run(300)
    return model


STEPS = {"smoothadv": 5, "smoothmix": 10, "cat-rs": 10, "amplify": 10}  # in a round; the others take 50

CASES = (
    *(
        Step(method, "mnist", "lenet", precision, STEPS.get(method, 50), target)
        for precision, target in (("bf16-mixed", 3.0), ("32", 2.0))
        for method in plain_methods.METHODS
    ),
    Step("gaussian", "cifar10-jpeg", "resnet20", "bf16-mixed", 4, 2.2),
    Step("gaussian", "cifar10-jpeg", "resnet20", "32", 4, 1.4),
    Attack("bf16-mixed", 2.5),
    Attack("32", 1.4),
    Step("gaussian", "cifar10-jpeg", "resnet110", "bf16-mixed", 50, 4.0, device="cuda", compile=True),
)


def attempt(case: Step | Attack) -> list[Figure]:
    """The case's figure; a line in its place where the GPU or the data are missing."""
    if case.device == "cuda" and not torch.cuda.is_available():
        print(f"{case.name}: target {case.target:g}x, not measured: no CUDA device here", flush=True)
        return []
    try:
        load(case.dataset, case.device)
    except InputError as error:
        print(f"{case.name}: target {case.target:g}x, not measured: {error}", flush=True)
        return []
    return [case.measure()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), help="only the figures of this one")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/training.json"))
    options = parser.parse_args()
    torch.manual_seed(0)
    cases = [case for case in CASES if options.device in (None, case.device)]
    finish([figure for case in cases for figure in attempt(case)], options.out)


if __name__ == "__main__":
    main()
