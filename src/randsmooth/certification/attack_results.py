"""The results of attacks on certificates, and PREDICT, which tests the points found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.certification.batches import EVERY
from randsmooth.certification.engine import Engine
from randsmooth.certification.predicting import top_if_clear
from randsmooth.certification.scheduler import count_classes
from randsmooth.data import Images
from randsmooth.errors import BadValue
from randsmooth.noise import WordAblation
from randsmooth.word_codes import read

# The stream of noise by which the points that a search found are tested.
PREDICT = "attack/predict"


class AttackedImage(NamedTuple):
    """The result of the attack on one image.

    Attributes:
        point: (C, H, W) float32, the point that the search found.
        distance: the distance of the point from the image.
        answer: the answer of PREDICT at the point: a class, or ABSTAIN.
    """

    point: NDArray[np.float32]
    distance: float
    answer: int


@dataclass(frozen=True)
class Attacks:
    """The results of attacking N certified images.

    Attributes:
        idx: (N,) position of the image in its split.
        label: (N,) true class.
        certified: (N,) certified class.
        radius: (N,) certified radius.
        points: (N, C, H, W) float32, the points that the search found. They may lie
            outside [0, 1], where certificates hold too.
        distance: (N,) distance of the point from the image in the norm of `radius`, in
            float64.
        predict: (N,) answer of PREDICT at the point: a class, or ABSTAIN (-1).
        scale: radius of the search, as a multiple of the certified radius.
        n: samples that each PREDICT drew.
        alpha: the most probability that any class in `predict` is not that of the
            smoothed classifier; 0 where all copies of a point were counted.
        gradient_free: whether the search used the answers alone, without gradients.
        norm: the norm of radii and distances, see `Noise.norm`.

    Example:
        >>> zero = np.array([0])
        >>> attacks = Attacks(
        ...     idx=zero,
        ...     label=zero,
        ...     certified=zero,
        ...     radius=np.array([0.2]),
        ...     points=np.zeros((1, 1, 8, 8), np.float32),
        ...     distance=np.array([0.3]),
        ...     predict=np.array([7]),
        ...     scale=2.0,
        ...     n=1000,
        ...     alpha=0.01,
        ... )
        >>> attacks.changed, attacks.failed
        (array([ True]), array([False]))
    """

    idx: NDArray[np.int64]
    label: NDArray[np.int64]
    certified: NDArray[np.int64]
    radius: NDArray[np.float64]
    points: NDArray[np.float32]
    distance: NDArray[np.float64]
    predict: NDArray[np.int64]
    scale: float
    n: int
    alpha: float
    gradient_free: bool = False
    norm: str = "l2"

    @classmethod
    def of(
        cls, rows: Certificates, attacked: Sequence[AttackedImage], **facts: Any
    ) -> Self:
        """Return the results of the attacks on the images of `rows`.

        Args:
            rows: the certificates that were attacked.
            attacked: the result of each.
            facts: the attributes that all images share, by name.
        """
        return cls(
            idx=rows.idx,
            label=rows.label,
            certified=rows.predict,
            radius=rows.radius,
            points=np.array([image.point for image in attacked]),
            distance=np.array([image.distance for image in attacked]),
            predict=np.array([image.answer for image in attacked]),
            norm=rows.norm,
            **facts,
        )

    def __len__(self) -> int:
        return len(self.idx)

    @property
    def texts(self) -> list[str]:
        """The points as texts, with single spaces between words; empty for other inputs."""
        return read(self.points, "") if self.norm == WordAblation.norm else []

    @property
    def abstained(self) -> NDArray[np.bool_]:
        """(N,) whether PREDICT abstained: no change is proved."""
        return np.asarray(self.predict == ABSTAIN)

    @property
    def changed(self) -> NDArray[np.bool_]:
        """(N,) whether the class has changed, at whatever distance."""
        return np.asarray((self.predict != self.certified) & ~self.abstained)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(N,) whether the class has changed within the certified radius.

        Then the certificate is wrong.
        """
        return np.asarray(self.changed & (self.distance <= self.radius))


class Attacker(Protocol):
    """What attacks images one by one, of one classifier or a routed one.

    Attributes:
        images: the split that the certificates are about.
        gradient_free: whether the search uses the answers alone.
        counts_all: whether PREDICT counts all copies of a point, and is certain.
    """

    @property
    def images(self) -> Images: ...

    @property
    def gradient_free(self) -> bool: ...

    @property
    def counts_all(self) -> int | None: ...

    def attack(self, image: Tensor, row: int) -> AttackedImage:
        """Search around an image (C, H, W), that of a row, and ask PREDICT."""
        ...


def check_numbers(scale: float, **counts: int | None) -> None:
    """Raise Problem for a scale or a count that no search can have.

    `counts` are arguments by name; None stands for the default.
    """
    if not 0.0 < scale < math.inf:
        raise BadValue(
            field="scale",
            value=scale,
            expected="must be a finite number above 0; 1 searches the certified ball",
        )
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BadValue(field=name, value=count, expected="must be at least 1")


def predict_anywhere(
    engine: Engine, point: Tensor, n: int, alpha: float, *, number: int = 0
) -> int:
    """Return the answer of PREDICT (Cohen et al. 2019) at a point: a class, or ABSTAIN.

    The noise depends on the point, and is not the noise of the search. Where the rule
    counts all copies, all copies of the point are counted, and neither n nor alpha
    matters.

    Args:
        engine: the engine that draws and counts for PREDICT.
        point: (C, H, W), which unlike an image may lie outside [0, 1].
        n: how many samples to draw.
        alpha: probability that the class is not that of the smoothed classifier.
        number: names the image in errors.
    """
    stream_and_samples = (PREDICT, n)
    if engine.settings.counts_all:
        stream_and_samples = (EVERY, engine.settings.n)
        # The counts are no sample: the more frequent class is certain.
        alpha = 0.0
    (counts,) = count_classes(engine, point, [stream_and_samples], number=number)
    return top_if_clear(counts, alpha)
