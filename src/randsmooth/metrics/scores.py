"""What each image adds to the differences between two tables, and their sums under random signs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.metrics.difference import gains, require_same_images
from randsmooth.metrics.estimate import require_images

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TINY = 1e-12  # a smaller sum of squares is 0, apart from rounding


@dataclass(frozen=True)
class Scores:
    """One pair's differences x: 1 where only `a` certifies an image at a radius, -1 where only `b` does, else 0.

    Attributes:
        radii: (M,) ascending.
        idx: (N,) positions of the images.
        steps: (M, N) sparse; the sum of its rows from the j-th on is x at the j-th radius.
        only_a, only_b: (M,) how often x is 1, and -1.
        gain: (N,) differences of radii, 0 where wrong, whose mean is that of the ACRs; None where it is not compared.
    """

    radii: Floats
    idx: Ints
    steps: sparse.csr_array
    only_a: Ints
    only_b: Ints
    gain: Floats | None

    @classmethod
    def of(cls, a: Certificates, b: Certificates, radii: Floats, *, with_acr: bool) -> Scores:
        """Raises InputError unless the tables are about the same images, and some."""
        require_same_images(a, b)
        require_images(len(a))
        held_a, held_b = (np.searchsorted(radii, t.radius, side="right") * t.correct for t in (a, b))
        both = _count(np.minimum(held_a, held_b), radii)
        only_a, only_b = (_from_each_on(_count(held, radii) - both) for held in (held_a, held_b))
        gain = gains(a, b) if with_acr else None
        return cls(radii, a.idx, _steps(held_a, held_b, len(radii)), only_a, only_b, gain)

    @property
    def figures(self) -> int:
        """How many differences: the radii, and ACR."""
        return len(self.radii) + int(self.gain is not None)

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """(figures,) the sum of x and that of x^2, ACR last."""
        total, squares = self.only_a - self.only_b, self.only_a + self.only_b
        if self.gain is None:
            return total.astype(np.float64), squares.astype(np.float64)
        return np.append(total, self.gain.sum()), np.append(squares, self.gain @ self.gain)

    def largest(self, signs: NDArray[np.float32]) -> Floats:
        """(2, D) the largest |t| of all figures under each of D columns of `signs` (N, D): of x, and of x - mean."""
        drawn = _from_each_on(self.steps @ signs)
        if self.gain is not None:
            drawn = np.concatenate([drawn, (self.gain.astype(np.float32) @ signs)[None]])
        total, squares = self.moments
        mean = total / len(self.idx)
        centred = drawn - mean.astype(np.float32)[:, None] * signs.sum(axis=0)
        return np.stack([_largest_t(drawn, squares), _largest_t(centred, squares - mean * total)])


def _count(held: Ints, radii: Floats) -> Ints:
    """(M,) how many images have each radius as their last certified one; `held` is its place from 1, 0 for none."""
    return np.bincount(held, minlength=len(radii) + 1)[1:]


def _steps(a: Ints, b: Ints, radii: int) -> sparse.csr_array:
    """(M, N) +1 at the last radius at which `a` certifies an image, -1 at that of `b`; zero where both are the same."""
    from scipy import sparse  # here, since it takes long to load

    image = np.flatnonzero(a != b)
    last, values = np.concatenate([a[image], b[image]]), np.repeat(np.array([1.0, -1.0], np.float32), len(image))
    some = last > 0
    return sparse.coo_array((values[some], (last[some] - 1, np.tile(image, 2)[some])), shape=(radii, len(a))).tocsr()


def _from_each_on(rows: NDArray[Any]) -> NDArray[Any]:
    """For each row, the sum of it and all rows after it."""
    return np.asarray(np.cumsum(rows[::-1], axis=0)[::-1])


def _largest_t(sums: NDArray[np.float32], squares: Floats) -> Floats:
    """(D,) the largest |sum| / sqrt(squares) of the rows of (M, D); a row without differences counts 0."""
    scale = np.where(squares > TINY, 1.0 / np.sqrt(np.maximum(squares, TINY)), 0.0).astype(np.float32)
    t = sums * scale[:, None]
    return np.asarray(np.maximum(t.max(axis=0, initial=0.0), -t.min(axis=0, initial=0.0)))
