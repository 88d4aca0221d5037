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

# The numbers of samples for which a page tells the radius.
BUDGETS = (100, 1_000, 10_000, 100_000, 1_000_000)

Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class Attempt:
    """The result of one search of a ball.

    Attributes:
        eps: the radius of the ball.
        point: the point found (C, H, W), float32, which may lie outside [0, 1].
        distance: the distance of the point from the image, in the norm of the noise.
        predict: the answer of PREDICT at the point: a class, or ABSTAIN (-1).

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
        inside: the search of the certified ball, whose radius is rounded down as it is
            printed.
        outside: the search of the first larger ball in which the answer changed; None
            where it changed in none.
        farthest: the radius of the largest ball that was searched.
        gradient_free: whether the searches used answers alone.
        n: the samples of each PREDICT.
        alpha: the probability that PREDICT gave any class that is not the answer of the
            smoothed classifier.

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
        index: the position of the image in its split.
        label: the class of the image.
        distance: the distance of the two images, in the norm of the noise.
        pixels: the pixels (C, H, W), float32 in [0, 1].

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
        dataset: the data set of the images.
        split: the split of the images; empty for data with one split alone.
        compared: the number of images that were compared, evenly spread over the split.
        total: the number of images in the split.
        other: the nearest image of another class; None if there is none.
        same: the nearest image of the same class that is not the image itself; None if
            there is none.

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
        pixels: the copies (n, C, H, W), which noise takes out of [0, 1].
        answers: the base classifier's classes (n,).
        denoised: the copies (n, C, H, W) behind the denoiser; None without a denoiser.

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
    """The result of `explain`: one image with its certificate.

    Attributes:
        name: the name of the image on the page.
        image: the pixels (C, H, W), float32 in [0, 1].
        classes: the names of the classes.
        label: the true class; None where it is not known.
        certified: the certificate, with its counts.
        copies: some of the noisy copies.
        neighbours: the nearest images of a data set; None without one.
        attempts: the attacks on the certificate; None where there were none.
        trained_noise: the noise that the model was trained with; None where it does not
            say.
        left_out: notes that say which parts are missing, and why.
        notes: the steps between a noisy copy and its label besides a network, such as a
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
        """Return the settings by which the image was certified."""
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
        """Return the answer and the radius, with the votes from which they follow."""
        certified = self.certified
        counts0 = certified.counts0[0]
        counts = certified.counts[0]
        votes = int(counts[counts0.argmax()])
        # The rule is "fixed", which looks once, at the end.
        q = self.settings.stopping_rule().claim([votes]).q
        predict = int(certified.predict[0])
        radius = float(certified.radius[0])
        return Watched(predict, radius, q, counts0, counts)

    @property
    def predict(self) -> int:
        """Return the certified class, or ABSTAIN (-1)."""
        return self.look.predict

    @property
    def declined(self) -> bool:
        """Return whether the certified class is that of declined answers."""
        return bool(self.certified.declined[0])

    @property
    def radius(self) -> float:
        """Return the certified radius in the norm of the noise, or 0."""
        return self.look.radius


def radius_by_samples(
    k: ArrayLike, n: int, budgets: ArrayLike, *, alpha: float, noise: Noise
) -> NDArray[np.float64]:
    """Return the radii of shares k/n at other numbers of samples.

    Of b samples floor(b k / n) are taken to agree. This is what b samples would prove
    if the share stayed the same; the share of new samples varies by chance. The bound
    is Clopper-Pearson's.

    Args:
        k: the number of samples that agree, one or more numbers.
        n: the number of samples.
        budgets: other numbers of samples, which broadcast with k.
        alpha: the level of the bound.
        noise: the noise of the samples.

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
    """Return the limit of the radius of a share k/n with ever more samples.

    Under Gaussian noise it is sigma * Phi^-1(k / n).

    Example:
        >>> from randsmooth.noise import Gaussian, Uniform
        >>> round(limit(990, 1000, Gaussian(0.5)), 3)
        1.163
        >>> limit(10, 10, Gaussian(0.5)), limit(10, 10, Uniform(0.5))
        (inf, 0.5)
    """
    return float(noise.radius((n - k) / n))
