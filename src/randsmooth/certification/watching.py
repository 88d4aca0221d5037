"""A certificate as it grows: what one image's samples prove at every look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from torch import Tensor

from randsmooth.certificates import (
    CertificationOptions,
    CertificationSettings,
    decide,
)
from randsmooth.certification.algorithm import estimating, selecting, uniforms
from randsmooth.certification.batches import SampleRange
from randsmooth.certification.scheduler import Ints, Job, count_once, results
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import BadValue, Setting
from randsmooth.noise import address_of
from randsmooth.rules import Evidence


@dataclass(frozen=True)
class Watched:
    """One image at one look.

    Attributes:
        predict: the certified class, or ABSTAIN (-1).
        radius: the certified radius, in the norm and the unit of the noise (see
            `Certified`).
        q: upper bound on 1 - p_A.
        counts0: (K,) class counts of the samples that picked the class.
        counts: (K,) class counts of the other samples so far.

    Example:
        >>> counts = np.array([30, 2])
        >>> Watched(0, 0.25, 0.2, counts, counts).samples
        32
    """

    predict: int
    radius: float
    q: float
    counts0: Ints
    counts: Ints

    @property
    def picked(self) -> int:
        """The class whose probability is bounded."""
        return int(self.counts0.argmax())

    @property
    def samples(self) -> int:
        """How many samples bound the probability of that class so far."""
        return int(self.counts.sum())


def watch(
    smoothed: SmoothedClassifier,
    x: Tensor,
    settings: CertificationSettings | None = None,
    **fields: Unpack[CertificationOptions],
) -> Iterator[Watched]:
    """Certify one image, and yield at every look what its samples prove so far.

    The last look has the counts and the radius that `smoothed.certify` gives. Under a
    sequential rule whose bound holds at every look at once, such as "anytime", whoever
    stops at an earlier look has a certificate that is as valid.

    Args:
        smoothed: the classifier.
        x: one image (C, H, W), or (1, C, H, W), in [0, 1].
        settings, fields: see `SmoothedClassifier.certify`.

    Raises:
        Problem: in the cases of `SmoothedClassifier.certify`; or several images, or no
            samples that pick a class (n0=0).

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> smoothed = SmoothedClassifier(model, sigma=0.5)
        >>> looks = watch(smoothed, torch.ones(1, 2, 2), rule="anytime", n0=32, n=200)
        >>> [look.samples for look in looks]
        [32, 64, 96, 128, 160, 192, 200]
    """
    settings = smoothed.settings_for(settings, fields)
    images = smoothed.checked(x)
    if len(images) != 1:
        raise BadValue(
            f"one image can be watched at a time; got {len(images)}", field="x"
        )
    if settings.n0 == 0:
        raise BadValue(
            field="n0",
            value=0,
            expected="picks no class, and a certificate is watched for one",
            fix=("100 are usual: ", Setting("n0", 100)),
        )
    image = images[0]
    rule = settings.of(image.shape).stopping_rule()
    engine = smoothed.drawing(image)
    u = uniforms(settings.bound, engine.seed, [address_of(image)])
    path = list[int]()

    def counted(samples: SampleRange) -> Ints:
        """Return (K,) the class counts of these samples."""
        (counts_of_ranges,) = results(engine, [Job(0, image, count_once([samples]))])
        # One range was asked for.
        counts: Ints = counts_of_ranges[0]
        return counts

    counts0 = counted(selecting(rule, settings.n0))
    counts = np.zeros_like(counts0)
    picked = int(counts0.argmax())
    while (look := rule.next_look(path)) is not None:
        counts = counts + counted(estimating(rule, int(counts.sum()), look))
        path.append(int(counts[picked]))
        evidence = Evidence.of(
            counts0[None], counts[None], paths=[np.array(path, np.int64)], u=u
        )
        (predict,), (radius,) = decide(rule, evidence)
        (q,), _ = rule.claims(evidence)
        yield Watched(
            predict=int(predict),
            radius=float(radius),
            q=float(q),
            counts0=counts0,
            counts=counts,
        )
