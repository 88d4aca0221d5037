"""The algorithm of certification for one image, which asks for counts and leaves to others how samples are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.certification.jobs import SampleRange, Steps
from randsmooth.noise import Stream
from randsmooth.rules import Claim, Rule

SELECT, ESTIMATE, PREDICT, UNIFORM = "certify/select", "certify/estimate", "predict", "certify/uniform"


def uniform_number(seed: int, address: int) -> float:
    """A number in (0, 1) for the randomised bound, independent of the noise and addressed as it: by seed and pixels.

    Example:
        >>> uniform_number(0, 7) == uniform_number(0, 7), uniform_number(0, 7) == uniform_number(1, 7)
        (True, False)
    """
    return Stream(seed, UNIFORM).at(address).uniform()


@dataclass(frozen=True)
class ImageEvidence:
    """The evidence of one image.

    Attributes:
        counts0: (K,) class counts of the samples that picked the class; a 1 for the class where there were none.
        counts: (K,) class counts of the samples that bound its probability.
        path: how often the picked class had come out at each look.
    """

    counts0: NDArray[np.int64]
    counts: NDArray[np.int64]
    path: NDArray[np.int64]

    @property
    def picked(self) -> int:
        return int(self.counts0.argmax())


Until = Callable[[Claim, int], bool]  # given the claim so far and how many samples it took: whether that is enough


def certify_steps(rule: Rule, n0: int, label: int | None = None, until: Until | None = None) -> Steps[ImageEvidence]:
    """Pick a class from n0 samples, then draw others until `rule` has seen enough (CERTIFY of Cohen et al. 2019).

    With a `label`, an image whose picked class is another takes no further samples, since it can no longer be both
    certified and correct. `until` may stop a sequential rule at any of its looks.

    Where n0 is 0, the class is the label, which was fixed beforehand. Without one, it is the most frequent class at
    each look, by a rule that holds for any class.
    """
    first = rule.next_look([])
    assert first is not None
    if n0 == 0:
        (counts,) = yield [SampleRange(ESTIMATE, 0, first, rule.block)]
        return (yield from _looks(rule, counts, None, label, until))
    if label is None:
        counts0, counts = yield [SampleRange(SELECT, 0, n0, rule.block), SampleRange(ESTIMATE, 0, first, rule.block)]
    else:
        (counts0,) = yield [SampleRange(SELECT, 0, n0, rule.block)]
        if int(counts0.argmax()) != label:
            return ImageEvidence(counts0, np.zeros_like(counts0), np.zeros(0, np.int64))
        (counts,) = yield [SampleRange(ESTIMATE, 0, first, rule.block)]
    return (yield from _looks(rule, counts, counts0, int(counts0.argmax()), until))


def _looks(
    rule: Rule, counts: NDArray[np.int64], counts0: NDArray[np.int64] | None, picked: int | None, until: Until | None
) -> Steps[ImageEvidence]:
    """The looks from the first on, which has the `counts`; of the class `picked`, or else of the most frequent one."""
    path = [came_out(counts, picked)]
    while (look := rule.next_look(path)) is not None:
        drawn = int(counts.sum())
        if until is not None and until(rule.claim(path), drawn):
            break
        (more,) = yield [SampleRange(ESTIMATE, drawn, look, rule.block)]
        counts = counts + more
        path.append(came_out(counts, picked))
    if counts0 is None:
        counts0 = np.zeros_like(counts)
        counts0[counts.argmax() if picked is None else picked] = 1
    return ImageEvidence(counts0, counts, np.array(path, np.int64))


def came_out(counts: NDArray[np.int64], picked: int | None) -> int:
    """How often the class `picked` is among `counts` (K,), or the most frequent one if there is none."""
    return int(counts.max() if picked is None else counts[picked])
