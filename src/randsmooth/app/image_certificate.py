"""One image with its certificate, what lies around it, and what more samples prove."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates import CertificationSettings
from randsmooth.certification import Certified, Watched
from randsmooth.noise import Noise
from randsmooth.notes import Note

BUDGETS = (100, 1_000, 10_000, 100_000, 1_000_000)

Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class Attempt:
    """What one search of a ball came to.

    Attributes:
        eps: radius of the ball.
        point: (C, H, W) float32, the point found, which may lie outside [0, 1].
        distance: of the point from the image, in the norm of the noise.
        predict: the answer of PREDICT there: a class, or ABSTAIN (-1).

    Example:
        >>> Attempt(0.5, np.zeros((1, 8, 8), np.float32), 0.49, 7).predict
        7
    """

    eps: float
    point: Pixels
    distance: float
    predict: int


@dataclass(frozen=True)
class Attempts:
    """The searches around one certified image.

    Attributes:
        inside: of the certified ball, whose radius is rounded down as it is printed.
        outside: the one with the smallest ball in which the answer changed; None: it
            changed in none.
        farthest: radius of the largest ball that was searched.
        gradient_free: whether the searches used answers alone.
        n, alpha: samples of each PREDICT, and the probability that any class that they
            gave is not the smoothed one.

    Example:
        >>> inside = Attempt(0.5, np.zeros((1, 8, 8), np.float32), 0.49, 7)
        >>> Attempts(inside, None, 4.0, False, 1000, 0.001).outside is None
        True
    """

    inside: Attempt
    outside: Attempt | None
    farthest: float
    gradient_free: bool
    n: int
    alpha: float


@dataclass(frozen=True)
class Neighbour:
    """An image near another.

    Attributes:
        index: its position in its split.
        label: its class.
        distance: in the norm of the noise.
        pixels: (C, H, W) float32 in [0, 1].

    Example:
        >>> Neighbour(3, 7, 1.5, np.zeros((1, 8, 8), np.float32)).distance
        1.5
    """

    index: int
    label: int
    distance: float
    pixels: Pixels


@dataclass(frozen=True)
class Neighbours:
    """The images of a split around one image.

    Attributes:
        dataset, split: where they are from; an empty split of data that have one alone.
        compared: how many images were compared, evenly spread over the `total` of the
            split.
        other: the nearest of another class; None if there is none.
        same: the nearest of its class that is not the same image; None if there is
            none.

    Example:
        >>> Neighbours("digits", "train", 10, 100, None, None).compared
        10
    """

    dataset: str
    split: str
    compared: int
    total: int
    other: Neighbour | None
    same: Neighbour | None


@dataclass(frozen=True)
class NoisyCopies:
    """Some of the noisy copies that were counted.

    Attributes:
        pixels: (n, C, H, W), which noise takes out of [0, 1].
        answers: (n,) the base classifier's classes.
        denoised: (n, C, H, W) what a denoiser before the classifier makes of them; None
            without one.

    Example:
        >>> pixels, answers = np.zeros((3, 1, 8, 8), np.float32), np.array([7, 7, 9])
        >>> NoisyCopies(pixels, answers, None).answers.tolist()
        [7, 7, 9]
    """

    pixels: Pixels
    answers: NDArray[np.int64]
    denoised: Pixels | None


@dataclass(frozen=True)
class Explanation:
    """What `explain` found about one image.

    Attributes:
        name: what to call the image.
        image: (C, H, W) float32 in [0, 1].
        classes: their names.
        label: the true class; None where it is not known.
        certified: the certificate, with its counts.
        copies: some of the noisy copies.
        neighbours: distances to the images of a data set; None without one.
        attempts: attacks on the certificate; None where there were none.
        trained_noise: the noise that the model was trained with; None where it does not
            say.
        left_out: notes that say what is missing, and why.
        notes: what lies between a noisy copy and its label besides a network, such as a
            denoiser.

    Example:
        >>> import randsmooth as rs
        >>> import torch
        >>> explained = rs.explain("demo", torch.rand(1, 8, 8), n=200, attack=False)
        >>> explained.look.samples, explained.radius >= 0.0
        (200, True)
    """

    name: str
    image: Pixels
    classes: tuple[str, ...]
    label: int | None
    certified: Certified = field(repr=False)
    copies: NoisyCopies = field(repr=False)
    neighbours: Neighbours | None = field(repr=False)
    attempts: Attempts | None = field(repr=False)
    trained_noise: Noise | None = None
    left_out: tuple[Note, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def settings(self) -> CertificationSettings:
        """Return how the image was certified."""
        return self.certified.settings

    @property
    def noise(self) -> Noise:
        """Return the noise of the copies."""
        return self.settings.known_noise()

    @property
    def trained_with_its_noise(self) -> bool | None:
        """Return whether the model was trained with this noise; None: it is unknown."""
        if self.trained_noise is None:
            return None
        return self.trained_noise.text == self.noise.text

    @cached_property
    def look(self) -> Watched:
        """Return the answer, the radius and the votes that they follow from."""
        certified = self.certified
        counts0 = certified.counts0[0]
        counts = certified.counts[0]
        votes = int(counts[counts0.argmax()])
        q = self.settings.stopping_rule().claim([votes]).q
        predict = int(certified.predict[0])
        radius = float(certified.radius[0])
        return Watched(predict, radius, q, counts0, counts)

    @property
    def predict(self) -> int:
        """Return the certified class, or ABSTAIN (-1)."""
        return self.look.predict

    @property
    def radius(self) -> float:
        """Return the certified radius in the norm of the noise, or 0."""
        return self.look.radius


def radius_by_samples(
    k: ArrayLike, n: int, budgets: ArrayLike, *, alpha: float, noise: Noise
) -> NDArray[np.float64]:
    """Return the radius of shares k/n at other numbers of samples.

    Of b samples floor(b k / n) are taken to agree. This is what b samples would prove
    if the share were the same, not what they will: the share of others varies by
    chance. The bound is Clopper-Pearson's.

    Args:
        k: how many of the samples agree.
        n: samples.
        budgets: other numbers of samples, which broadcast with k.
        alpha: level of the bound.
        noise: of the samples.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> budgets = [100, 1000, 10**6]
        >>> noise = Gaussian(0.5)
        >>> radii = radius_by_samples(990, 1000, budgets, alpha=0.001, noise=noise)
        >>> radii.round(3).tolist()
        [0.675, 0.989, 1.157]
    """
    k = np.asarray(k, np.int64)
    b = np.asarray(budgets, np.int64)
    q = bounds.q_upper(k * b // n, b, alpha)
    return np.asarray(noise.radius(q))


def limit(k: int, n: int, noise: Noise) -> float:
    """Return what the radius of a share k/n tends to as the samples go on.

    Under Gaussian noise it is sigma * Phi^-1(k / n).

    Example:
        >>> from randsmooth.noise import Gaussian, Uniform
        >>> round(limit(990, 1000, Gaussian(0.5)), 3)
        1.163
        >>> limit(10, 10, Gaussian(0.5)), limit(10, 10, Uniform(0.5))
        (inf, 0.5)
    """
    return float(noise.radius((n - k) / n))
