"""A job is one image that asks for class counts of its noisy copies, and then perhaps for more of them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.noise import address_of

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
    """

    number: int
    x: Tensor
    steps: Steps[T]
    address: int = field(init=False)
    seconds: float = 0.0
    result: T | None = None

    def __post_init__(self) -> None:
        self.address = address_of(self.x)


def count_once(ranges: Sequence[SampleRange]) -> Steps[Ints]:
    """The steps of a job whose result is the counts (len(ranges), K)."""
    counts = yield ranges
    return counts
