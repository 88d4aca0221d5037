"""A certificate as it grows: what an image's samples prove at each look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from randsmooth.certificates import CertificationSettings, decide
from randsmooth.certification.algorithm import Ints, Job, certify_steps, count_once, uniform_number
from randsmooth.certification.scheduler import results
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import InputError
from randsmooth.noise import address_of
from randsmooth.rules import Evidence


@dataclass(frozen=True)
class Watched:
    """One image at one look.

    Attributes:
        predict: the certified class, or ABSTAIN (-1).
        radius: the certified L2 radius, in units of pixels in [0, 1].
        q: upper bound on 1 - p_A.
        counts0: (K,) classes of the samples that picked the class.
        counts: (K,) classes of the others so far.
        path: (L,) how often the picked class had come out at each look so far.

    Example:
        >>> counts = np.array([30, 2])
        >>> Watched(0, 0.25, 0.2, counts, counts, np.array([30])).samples
        32
    """

    predict: int
    radius: float
    q: float
    counts0: Ints
    counts: Ints
    path: Ints

    @property
    def picked(self) -> int:
        """The class whose probability is bounded."""
        return int(self.counts0.argmax())

    @property
    def samples(self) -> int:
        """How many bound its probability so far."""
        return int(self.counts.sum())


def watch(
    smoothed: SmoothedClassifier, x: Tensor, settings: CertificationSettings | None = None, **fields: Any
) -> Iterator[Watched]:
    """Certify one image, and tell at every look what its samples prove so far.

    At its end, the last look has the counts and the radius that `smoothed.certify` gives. By a sequential rule whose
    bound holds at every look at once, such as "anytime", the certificate of the look at which one stops is as valid.

    Args:
        smoothed: the classifier.
        x: one image (C, H, W), or (1, C, H, W), in [0, 1].
        settings, fields: as for `SmoothedClassifier.certify`.

    Raises:
        InputError: as `SmoothedClassifier.certify`; or several images, or no samples that pick a class (n0=0).

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> smoothed = SmoothedClassifier(model, sigma=0.5)
        >>> looks = watch(smoothed, torch.ones(1, 2, 2), rule="anytime", n0=32, n=200)
        >>> [look.samples for look in looks]
        [32, 64, 96, 128, 160, 192, 200]
    """
    settings = smoothed.settings_for(settings, fields)
    images = smoothed.checked(x)
    if len(images) != 1:
        raise InputError(f"one image can be watched at a time; got {len(images)}")
    if settings.n0 == 0:
        raise InputError("n0=0: a certificate is watched for the class that n0 >= 1 samples pick; 100 are usual")
    return _looks(smoothed, images[0], settings)


def _looks(smoothed: SmoothedClassifier, image: Tensor, settings: CertificationSettings) -> Iterator[Watched]:
    rule, engine = settings.stopping_rule(), smoothed.drawing(image)
    steps = certify_steps(rule, settings.n0)
    u = np.array([uniform_number(engine.seed, address_of(image))]) if settings.bound == "randomised" else None
    asked, counts0, path = next(steps), np.zeros(0, np.int64), list[int]()
    while True:
        (counted,) = results(engine, [Job(0, image, count_once(asked))])
        if not path:  # the first look comes with the samples that pick the class
            counts0, counts = counted[0], np.zeros_like(counted[0])
        counts = counts + counted[-1]
        path.append(int(counts[counts0.argmax()]))
        evidence = Evidence.of(counts0[None], counts[None], paths=[np.array(path, np.int64)], u=u)
        predict, radius = decide(rule, evidence)
        q = float(rule.claims(evidence)[0][0])
        yield Watched(int(predict[0]), float(radius[0]), q, counts0, counts, np.array(path, np.int64))
        try:
            asked = steps.send(counted)
        except StopIteration:
            return
