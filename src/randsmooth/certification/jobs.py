"""What an image asks of the engine: counts of some of its noisy copies, then perhaps of more."""

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
    """Samples `start` to `stop` of the stream `name`, drawn in blocks of `block` (None: as suits the image)."""

    name: str
    start: int
    stop: int
    block: int | None = None


Steps = Generator[Sequence[SampleRange], Ints, T]


@dataclass
class Job(Generic[T]):
    """One image's questions, as a generator: it yields asks, is sent their counts (len(asks), K), and returns.

    Attributes:
        number: what the image is called, by whoever asks and in errors.
        x: (C, H, W) in [0, 1].
        address: of the image's noise: made of its pixels, whatever its number.
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


def count_once(asks: Sequence[SampleRange]) -> Steps[Ints]:
    """The steps of a job that only wants counts (len(asks), K)."""
    counts = yield asks
    return counts
