"""The layer that normalises images before a network: the field's, by name, and which one a network was trained behind.

Few files store it. It is found by the network's accuracy on labelled noisy images, where that is clear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn

from randsmooth.data import DATASETS, DatasetSpec, Images, take
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.noise import Stream, draw
from randsmooth.progress import Reporter

# Data sets that our own models do not normalise, nor those of the field's repositories, with the numbers that others
# use: PyTorch's example for MNIST and tonyduan/rs4a; those of the others are in the catalogue of data sets.
BESIDE_OURS = {"mnist": ((0.1307,), (0.3081,)), "fashion-mnist": ((0.2849,), (0.3516,))}
FORMS = "none, center, center-NAME, a data set's name (cifar10, imagenet, ...), or numbers as 0.5,0.5,0.5/0.2,0.2,0.2"
CENTER = re.compile(r"cent(?:er|re)(?:-(.+))?")
ALPHA = 1e-3  # probability that a layer is taken which is not the best of the candidates
BATCH = 50
LEAST = 0.1  # share of the errors of guessing that a trained network avoids at the least


class Normalisation(NamedTuple):
    """(x - mean) / std of pixels in [0, 1], a number a channel; None for both: no such layer."""

    name: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None

    def __call__(self, x: Tensor) -> Tensor:  # (B, C, H, W)
        if self.mean is None or self.std is None:
            return x
        mean, std = (x.new_tensor(values).reshape(1, -1, 1, 1) for values in (self.mean, self.std))
        return (x - mean) / std

    def centering(self) -> Normalisation:
        """The mean alone (SmoothAdv)."""
        return Normalisation("center", self.mean, (1.0,) * len(self.mean or ()))


NONE = Normalisation("none", None, None)


def candidates(spec: DatasetSpec) -> list[Normalisation]:
    """The layers that networks for `spec` are trained behind: mean and std, the mean alone (SmoothAdv), and none."""
    known = _of_dataset(spec.name, spec)
    return [known, known.centering(), NONE] if known else [NONE]


def usual(spec: DatasetSpec) -> Normalisation | None:
    """The layer of nearly all of the field's networks for `spec`, which another must clearly beat; None: unknown.

    Grey digits are told apart about as well behind every layer, so that accuracy alone would seldom decide.

    Example:
        >>> usual(DATASETS["mnist"]).name, usual(DATASETS["cifar10"])
        ('none', None)
    """
    return NONE if spec.name in BESIDE_OURS else None


def normalisation(text: str, spec: DatasetSpec) -> Normalisation:
    """The layer that a user asks for in one of FORMS.

    Raises:
        InputError: it is none of these, or not for images of as many channels.

    Example:
        >>> normalisation("center", DATASETS["cifar10"])
        Normalisation(name='center', mean=(0.4914, 0.4822, 0.4465), std=(1.0, 1.0, 1.0))
    """
    center, channels = CENTER.fullmatch(text), spec.shape[0]
    known = NONE if text == "none" else _of_dataset((center[1] or spec.name) if center else text, spec)
    if center and known:
        known = known.centering()._replace(name=text)
    with suppress(ValueError, TypeError):
        if "/" in text:
            known = Normalisation(text, *(tuple(map(float, part.split(","))) for part in text.split("/")))
    if known is None or (known.mean is not None and not len(known.mean) == len(known.std or ()) == channels):
        raise InputError(
            f"normalise={shown(repr(text))} (--normalise) is no layer for images of {channels} channels, as those of "
            f"{spec.name} are; expected {FORMS}"
        )
    return known


def _of_dataset(name: str, spec: DatasetSpec) -> Normalisation | None:
    chosen: DatasetSpec | None = spec if name == spec.name else DATASETS.get(name)
    mean, std = BESIDE_OURS.get(name, (chosen.mean, chosen.std) if chosen else (None, None))
    return Normalisation(name, mean, std) if mean is not None else None


class Trial(NamedTuple):
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

    def lead(self, other: int) -> float:
        """Probability of the best layer's lead over the one at `other`, were they equally accurate.

        An image that only one of them gets right is then as likely to be the one's as the other's (McNemar 1947,
        exact).
        """
        mine, its = self.right[self.best], self.right[other]
        won, lost = int((mine & ~its).sum()), int((its & ~mine).sum())
        return float(stats.binom.sf(won - 1, won + lost, 0.5))

    def p_value(self) -> float:
        """Bound on the probability of a lead like this of a layer that is not better than every other.

        Which layer leads, and against which, is only known afterwards: the largest p-value is multiplied by the number
        of ordered pairs.
        """
        others = [i for i in range(len(self.layers)) if i != self.best]
        return min(1.0, len(self.layers) * len(others) * max(map(self.lead, others), default=0.0))

    def classifies(self, place: int) -> bool:
        """Whether the network behind a layer clearly does more than guess, as random weights do not.

        The lower confidence limit of its accuracy (Clopper-Pearson, at ALPHA) must leave out a tenth of the errors of
        always giving the most frequent label.
        """
        right, total = int(self.right[place].sum()), self.right.shape[1]
        lower = float(stats.beta.ppf(ALPHA, right, total - right + 1)) if right else 0.0
        return 1 - lower <= (1 - LEAST) * (1 - self.guess)

    def winner(self) -> Normalisation:
        """The layer that is clearly the best; else the prior, unless another is clearly better than it.

        Raises:
            InputError: there is none; the message gives the accuracies, and the way to decide.
        """
        if self.classifies(self.best) and self.p_value() <= ALPHA:
            return self.layers[self.best]
        usual = self.layers.index(self.prior) if self.prior is not None else None
        if usual is not None and self.classifies(usual) and (len(self.layers) - 1) * self.lead(usual) > ALPHA:
            return self.layers[usual]
        guesses = not self.classifies(self.best)
        why = "it hardly does more than guess" if guesses else "no layer is clearly better than the others"
        raise InputError(
            f"the file does not store which normalisation its network was trained behind, and {why} ({self.words()}): "
            f"say it (--normalise {' or '.join(layer.name for layer in self.layers)}), try more images (--images), or "
            "check --sigma and --dataset"
        )

    def words(self) -> str:
        """The accuracies, from the best on, and the p-value of its lead."""
        order = np.argsort(-self.right.sum(axis=1), kind="stable")
        shares = ", ".join(f"{self.layers[i].name} {self.right[i].mean():.1%}" for i in order)
        return f"right about {self.right.shape[1]} images at sigma {self.sigma:g}: {shares}; p = {self.p_value():.1g}"

    def facts(self) -> dict[str, Any]:
        """The same for a model's provenance."""
        clear, each = self.p_value() <= ALPHA, zip(self.layers, self.right, strict=True)
        facts: dict[str, Any] = {"images": self.right.shape[1], "sigma": self.sigma}
        facts |= {"accuracy": {layer.name: float(right.mean()) for layer, right in each}, "p_value": self.p_value()}
        why = "accuracy on labelled images" if clear else "usual there, and no other is clearly better"
        return facts | {"why": why}


def try_layers(
    network: nn.Module,
    layers: Sequence[Normalisation],
    images: Images,
    *,
    sigma: float,
    count: int,
    device: torch.device,
    reporter: Reporter,
) -> Trial:
    """The accuracy of `network` behind each of `layers`, on `count` images that are evenly spread over a split.

    Every image gets one sample of the noise, the same for all layers.
    """
    chosen = take(len(images), min(count, len(images)))
    network = network.to(device).eval()
    right: list[NDArray[np.bool_]] = []
    for block, (x, y) in enumerate(images.batches(chosen.split(BATCH))):
        noisy = (x.cpu() + draw(tuple(x.shape), sigma, stream=Stream(0, "import").at(block))).to(device)
        with torch.inference_mode():
            answers = [network(layer(noisy)).argmax(1).cpu() for layer in layers]
        right.append(torch.stack([answer == y.cpu() for answer in answers]).numpy())
        reporter.advance(len(x))
    guess = int(images.labels[chosen].bincount().max()) / len(chosen)
    return Trial(tuple(layers), np.concatenate(right, axis=1), guess, sigma)
