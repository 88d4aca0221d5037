"""CERTIFY for one image: it asks for counts of its noisy copies, and leaves to others how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.noise import Stream, address_of
from randsmooth.rules import Claim, Rule

SELECT, ESTIMATE, PREDICT, UNIFORM = "certify/select", "certify/estimate", "predict", "certify/uniform"

Ints = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True)
class SampleRange:
    """Samples `start` to `stop` of the noise stream `name`, in blocks of `block` (None: the usual one of the image)."""

    name: str
    start: int
    stop: int
    block: int | None = None


Steps = Generator[Sequence[SampleRange], Ints, T]


@dataclass
class Job(Generic[T]):
    """One image and its steps: a generator that yields sample ranges, is sent their counts, and returns a result.

    Attributes:
        number: what to call the image in errors.
        x: (C, H, W) in [0, 1].
        address: what its noise depends on: a hash of its pixels.
        seconds: the time that its samples have taken so far.
        result: what the generator returned, once it has.
        slots, counts, left: of the ranges that it asked for, a number each, what has been counted so far (len(slots),
            K), and how many samples have not.
    """

    number: int
    x: Tensor
    steps: Steps[T]
    address: int = field(init=False)
    seconds: float = 0.0
    result: T | None = None
    slots: range = range(0)
    counts: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    left: int = 0

    def __post_init__(self) -> None:
        self.address = address_of(self.x)


def count_once(ranges: Sequence[SampleRange]) -> Steps[Ints]:
    """The steps of a job whose result is the counts (len(ranges), K)."""
    counts = yield ranges
    return counts


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

    counts0: Ints
    counts: Ints
    path: Ints


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
    rule: Rule, counts: Ints, counts0: Ints | None, picked: int | None, until: Until | None
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


def came_out(counts: Ints, picked: int | None) -> int:
    """How often the class `picked` is among `counts` (K,), or the most frequent one if there is none."""
    return int(counts.max() if picked is None else counts[picked])
