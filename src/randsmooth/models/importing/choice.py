"""Which normalisation a network was trained behind, found by its accuracy on labelled noisy images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn

from randsmooth.data import Images, take
from randsmooth.errors import InputError
from randsmooth.models.importing.normalisation import Normalisation
from randsmooth.noise import Stream, draw
from randsmooth.progress import Reporter

ALPHA = 1e-3  # probability that a layer is taken which is not the best of the candidates
BATCH = 50
LEAST = 0.1  # share of the errors of guessing that a trained network avoids at the least


class Choice(NamedTuple):
    """How often a network is right behind each of several layers, on the same noisy images.

    Attributes:
        layers: the k candidates.
        right: (k, N), whether the network is right about each of N images.
        guess: the accuracy of always answering with the most frequent label.
        sigma: of the noise that was added to the images.
        prior: the layer that is taken unless another is clearly better; None: there is none.
    """

    layers: tuple[Normalisation, ...]
    right: NDArray[np.bool_]
    guess: float
    sigma: float
    prior: Normalisation | None = None

    @property
    def best(self) -> int:
        """The place of the layer with the highest accuracy."""
        return int(self.right.sum(axis=1).argmax())

    def wins(self, other: int) -> tuple[int, int]:
        """How many images the best layer is alone to get right, and how many the layer at `other` is."""
        mine, its = self.right[self.best], self.right[other]
        return int((mine & ~its).sum()), int((its & ~mine).sum())

    def p_value(self) -> float:
        """Bound on the probability of a lead like this of a layer that is not better than every other.

        For two layers of equal accuracy, an image that only one of them gets right is as likely to be the one's as the
        other's (McNemar 1947, exact). Which layer leads, and against which, is only known afterwards: the p-value is
        multiplied by the number of ordered pairs.
        """
        others = [i for i in range(len(self.layers)) if i != self.best]
        pairs = len(self.layers) * len(others)
        return min(1.0, pairs * max((self._lead(other) for other in others), default=0.0))

    def _lead(self, other: int) -> float:
        won, lost = self.wins(other)
        return float(stats.binom.sf(won - 1, won + lost, 0.5))

    def classifies(self, place: int | None = None) -> bool:
        """Whether the network behind a layer, the best, clearly does more than guess, as random weights do not.

        The lower confidence limit of its accuracy (Clopper-Pearson, at ALPHA) must leave out a tenth of the errors of
        always giving the most frequent label.
        """
        right, total = int(self.right[self.best if place is None else place].sum()), self.right.shape[1]
        lower = float(stats.beta.ppf(ALPHA, right, total - right + 1)) if right else 0.0
        return 1 - lower <= (1 - LEAST) * (1 - self.guess)

    def winner(self) -> Normalisation:
        """The layer that is clearly the best; else the prior, unless another is clearly better than it.

        Raises:
            InputError: there is none; the message gives the accuracies, and the way to decide.
        """
        if self.classifies() and self.p_value() <= ALPHA:
            return self.layers[self.best]
        if self.prior is not None and self._holds(self.layers.index(self.prior)):
            return self.prior
        why = "no layer is clearly better than the others" if self.classifies() else "it hardly does more than guess"
        names = " or ".join(layer.name for layer in self.layers)
        raise InputError(
            f"the file does not store which normalisation its network was trained behind, and its accuracy does not "
            f"tell: {why} ({self.words()}). Say it (normalise=, --normalise {names}), try more images (images=, "
            "--images), or give the sigma that it was trained for and the right data set"
        )

    def _holds(self, place: int) -> bool:
        """Whether the layer at `place`, which was named before, classifies, and no other is clearly better."""
        return self.classifies(place) and (len(self.layers) - 1) * self._lead(place) > ALPHA

    def words(self) -> str:
        """The accuracies, and by how much the best layer wins."""
        order = np.argsort(-self.right.sum(axis=1), kind="stable")
        shares = ", ".join(f"{self.layers[i].name} {self.right[i].mean():.1%}" for i in order)
        noise = f"with noise of sigma {self.sigma:g}" if self.sigma else "without noise"
        said = f"right about {self.right.shape[1]} images {noise}: {shares}"
        if len(order) == 1:
            return said
        won, lost = self.wins(int(order[1]))
        return f"{said}; {won} images to {lost} against the next, p = {self.p_value():.1g}"

    def facts(self) -> dict[str, Any]:
        """The same for a model's provenance."""
        accuracy = {layer.name: float(right.mean()) for layer, right in zip(self.layers, self.right, strict=True)}
        facts = {"images": self.right.shape[1], "sigma": self.sigma, "accuracy": accuracy, "p_value": self.p_value()}
        clear = self.p_value() <= ALPHA
        return facts | {
            "why": "accuracy on labelled images" if clear else "usual there, and no other is clearly better"
        }


def try_layers(
    network: nn.Module,
    layers: Sequence[Normalisation],
    images: Images,
    *,
    sigma: float,
    count: int,
    device: torch.device,
    reporter: Reporter,
) -> Choice:
    """The accuracy of `network` behind each of `layers`, on `count` images that are evenly spread over a split.

    Every image gets one sample of the noise, the same for all layers.
    """
    chosen = take(len(images), min(count, len(images)))
    network = network.to(device).eval()
    right: list[NDArray[np.bool_]] = []
    for block, (x, y) in enumerate(images.batches(chosen.split(BATCH))):
        noise = draw(tuple(x.shape), sigma, stream=Stream(0, "import").at(block))
        noisy = (x.cpu() + noise).to(device)
        with torch.inference_mode():
            answers = [network(_behind(layer)(noisy)).argmax(1).cpu() for layer in layers]
        right.append(torch.stack([answer == y.cpu() for answer in answers]).numpy())
        reporter.advance(len(x))
    guess = int(images.labels[chosen].bincount().max()) / len(chosen)
    return Choice(tuple(layers), np.concatenate(right, axis=1), guess, sigma)


def _behind(layer: Normalisation) -> Callable[[Tensor], Tensor]:
    """The function of a layer."""
    if layer.mean is None or layer.std is None:
        return lambda x: x
    mean, std = (torch.tensor(values).reshape(1, -1, 1, 1) for values in (layer.mean, layer.std))
    return lambda x: (x - mean.to(x.device)) / std.to(x.device)
