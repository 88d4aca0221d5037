"""Which layer before a network makes it clearly the most accurate on labelled noisy images."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import nn

from randsmooth import data
from randsmooth.data import DatasetSpec, Images
from randsmooth.errors import Problem, Setting, WrongFile
from randsmooth.models.device import pick_device
from randsmooth.models.image_steps import normalise_step
from randsmooth.models.importing.normalisation import Normalisation, candidates
from randsmooth.noise import Stream, draw
from randsmooth.progress import Progress

# The probability that a layer is taken which is not the best of the candidates.
ALPHA = 1e-3

# The images that are classified at once.
BATCH = 50

# The share of the errors of guessing that a trained network avoids at the least.
LEAST_SHARE_AVOIDED = 0.1


class Trial(NamedTuple):
    """How often a network is right behind each of several layers, on the same noisy images.

    Attributes:
        layers: the k candidates.
        right: (k, N), whether the network is right about each of N images.
        guess: the accuracy of always answering with the most frequent label.
        sigma: the sigma of the noise that was added to the images.
    """

    layers: tuple[Normalisation, ...]
    right: NDArray[np.bool_]
    guess: float
    sigma: float

    @property
    def best(self) -> int:
        """The place of the layer with the highest accuracy."""
        return int(self.right.sum(axis=1).argmax())

    def lead(self, other: int) -> float:
        """Return the probability of the best layer's lead over the one at `other`.

        That is if they were equally accurate. An image that only one of them gets right is
        then as likely to be the one's as the other's (McNemar 1947, exact).
        """
        right = self.right[self.best]
        right_of_other = self.right[other]
        won = int((right & ~right_of_other).sum())
        apart = int((right ^ right_of_other).sum())
        return float(stats.binom.sf(won - 1, apart, 0.5))

    def p_value(self) -> float:
        """Return a bound on the probability of such a lead of a layer that is not the best.

        Which layer leads, and against which, is only known afterwards: the largest p-value
        is multiplied by the number of ordered pairs.
        """
        others = [place for place in range(len(self.layers)) if place != self.best]
        largest = max(map(self.lead, others), default=0.0)
        return min(1.0, len(self.layers) * len(others) * largest)

    def classifies(self, place: int) -> bool:
        """Return whether the network behind a layer clearly does more than guess.

        Random weights do not. The lower confidence limit of its accuracy (Clopper-Pearson,
        at ALPHA) must leave out a tenth of the errors of always giving the most frequent
        label.
        """
        right = int(self.right[place].sum())
        total = self.right.shape[1]
        lower = 0.0
        if right > 0:
            lower = float(stats.beta.ppf(ALPHA, right, total - right + 1))
        return 1 - lower <= (1 - LEAST_SHARE_AVOIDED) * (1 - self.guess)

    def winner(self) -> Normalisation:
        """Return the layer that is clearly the best.

        Raises:
            WrongFile: there is none; the message gives the accuracies, and the way to
                decide.
        """
        if not self.classifies(self.best):
            reason = "it hardly does more than guess"
        elif self.p_value() > ALPHA:
            reason = "no layer is clearly better than the others"
        else:
            return self.layers[self.best]
        names = " or ".join(layer.name for layer in self.layers)
        raise WrongFile(
            f"the file does not store its normalisation, and {reason} ({self.words()})",
            field="normalise",
            fix=(
                "say it, ",
                Setting("normalise"),
                f" {names}, try more ",
                Setting("images"),
                ", or check ",
                Setting("sigma"),
                " and ",
                Setting("dataset"),
            ),
        )

    def words(self) -> str:
        """Return the accuracies, from the best on, and the p-value of its lead."""
        order = np.argsort(-self.right.sum(axis=1), kind="stable")
        shares = [
            f"{self.layers[place].name} {self.right[place].mean():.1%}"
            for place in order
        ]
        images = self.right.shape[1]
        return (
            f"right about {images} images at sigma {self.sigma:g}: {', '.join(shares)}; "
            f"p = {self.p_value():.1g}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the same for a model's provenance."""
        accuracy = {
            layer.name: float(right.mean())
            for layer, right in zip(self.layers, self.right, strict=True)
        }
        return {
            "images": self.right.shape[1],
            "sigma": self.sigma,
            "p_value": self.p_value(),
            "accuracy": accuracy,
            "why": "accuracy on labelled images",
        }


def tried_normalisation(
    network: nn.Module,
    spec: DatasetSpec,
    dataset: str,
    *,
    sigma: float,
    count: int,
    device: str,
    progress: Progress,
) -> tuple[Normalisation, dict[str, Any]]:
    """Return the layer with which `network` is clearly the most accurate, and why.

    Every image gets one sample of the noise, the same for all layers.

    Args:
        network: it is moved to the device.
        spec: the form of the data set.
        dataset: the same, as `data.load` takes it.
        sigma: the sigma of the noise.
        count: how many images to try, which are evenly spread over a split.
        device: auto, cpu or cuda.
        progress: shows how far it is.

    Returns:
        The layer, and the facts of the trial for a model's provenance.

    Raises:
        WrongFile: no layer is clearly the best, or no images are there.
    """
    place = pick_device(device)
    network = network.to(place).eval()
    layers = candidates(spec)
    steps = [normalise_step(layer.mean, layer.std, 1.0).to(place) for layer in layers]
    split = _images(dataset)
    chosen = data.take(len(split), min(count, len(split)))
    what = f"try {len(layers)} normalisations"
    with progress(what, len(chosen), "images") as reporter:
        right = []
        for block, (x, y) in enumerate(split.batches(chosen.split(BATCH))):
            noise = draw(tuple(x.shape), sigma, stream=Stream(0, "import").at(block))
            noisy = (x.cpu() + noise).to(place)
            with torch.inference_mode():
                answers = [network(step(noisy)).argmax(1).cpu() for step in steps]
            right.append(torch.stack([answer == y.cpu() for answer in answers]).numpy())
            reporter.advance(len(x))
        guess = data.guessing(split.labels[chosen], spec.num_classes)
        trial = Trial(tuple(layers), np.concatenate(right, axis=1), guess, sigma)
        layer = trial.winner()
        reporter.say(f"normalisation {layer.name}, by accuracy: {trial.words()}")
    return layer, trial.facts() | {"split": split.split}


def _images(dataset: str) -> Images:
    """Return the training split, on whose images no model is judged.

    Where there is none, it is the test split.
    """
    for split in data.SPLITS:
        try:
            return data.load(dataset, split)
        except Problem as error:
            problem = error
    raise WrongFile(
        "the file does not store its normalisation, and no images are there to find it out "
        f"({problem})",
        field="normalise",
        fix=("say which it is, ", Setting("normalise")),
    ) from problem
