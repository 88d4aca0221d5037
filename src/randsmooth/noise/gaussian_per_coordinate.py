"""Gaussian noise with a standard deviation of its own for each coordinate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.contents import array_header, check_array_holds
from randsmooth.documents import shown
from randsmooth.errors import BadValue, NotFound, Problem, WrongFile
from randsmooth.noise.base import Noise, in_place
from randsmooth.noise.gaussian import Gaussian
from randsmooth.noise.norms import LENGTHS, check_length
from randsmooth.noise.radii import Floats, below
from randsmooth.noise.streams import Stream, fill
from randsmooth.number_text import shortest

if TYPE_CHECKING:
    from torch import Tensor

# The noise in units of its own standard deviations.
UNIT = Gaussian(1.0)

# After the number of standard deviations that a user writes.
STD = "std"

# Of an input; the header of a table holds a number for each.
MOST_COORDINATES = 2**20

# How a file of standard deviations is made.
WAY = "write one by np.save, a standard deviation for each coordinate"


@dataclass(frozen=True, eq=False)
class GaussianPerCoordinate(Noise):
    """x + N(0, diag(std^2)), for features of different scales.

    Radii are those of delta / std in L2: in standard deviations of the noise.

    In units of its own standard deviation, each coordinate has Gaussian noise of
    sigma 1. `PerFeature` counts radii in standard deviations of the features instead.

    Attributes:
        std: float32, of the shape of an input, or with ones in it: (C, 1, 1) is one for
            each channel.

    Raises:
        Problem: a standard deviation is no number from 1e-6 to 1e6, or there is none.

    Source: Cohen et al. 2019, theorem 1, after a change of units, as in ANCER (Eiras et
        al. 2022).

    Example:
        >>> noise = GaussianPerCoordinate(np.array([0.5, 20.0]))
        >>> noise.radius(0.1587).round(3).tolist()
        1.0
        >>> noise.convert("l2", noise.radius(0.1587)).round(3).tolist()  # the ball inside
        0.5
    """

    std: NDArray[np.floating[Any]]
    name: ClassVar[str] = "gaussian-per-coordinate"
    norm: ClassVar[str] = "ellipsoid"
    usage: ClassVar[str] = "gaussian-per-coordinate=FILE.npy"
    summary: ClassVar[str] = (
        "x + N(0, diag(std^2)), std being FILE.npy's: L2 in units of std, the noise's "
        "own."
    )
    tight: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    proves_sets: ClassVar[bool] = True
    implied: ClassVar[tuple[str, ...]] = ("l2", "l1", "linf")

    # A standard deviation of the noise.
    scale = 1.0

    @property
    def unit(self) -> NDArray[np.floating[Any]]:
        """The divisor of a change of each coordinate before its L2 norm is taken.

        It has the shape of `std`.
        """
        return self.std

    @property
    def known_shape(self) -> tuple[int, ...]:
        """The shape of `std`; in a header, it is the shape of an input."""
        return self.std.shape

    def __post_init__(self) -> None:
        try:
            # What is too large for float32 is refused below.
            with np.errstate(over="ignore"):
                std = np.array(self.std, np.float32)
        except (TypeError, ValueError):
            raise BadValue(
                field="std",
                value=shown(self.std),
                expected="must be numbers, one for each coordinate of an input",
            ) from None
        bad = np.argwhere(~((std >= LENGTHS[0]) & (std <= LENGTHS[1]))).tolist()
        if not std.ndim or not std.size or bad:
            got = repr(self.std)
            if bad:
                got = f"{std[tuple(bad[0])]:g} at {bad[0]}"
            raise BadValue(
                f"std must have a number from {LENGTHS[0]:g} to {LENGTHS[1]:g} for each "
                f"coordinate; got {got}. Leave out coordinates that never vary"
            )
        std.flags.writeable = False
        object.__setattr__(self, "std", std)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def text(self) -> str:
        """The name, and what tells these standard deviations from others."""
        return f"{self.name}={self._digest()}"

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "std": self.std.tolist()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Noise:
        """Make a noise as `Noise.from_facts` does; with `times` it is `PerFeature`."""
        if set(facts) == {"std", "times"}:
            return PerFeature(**facts)
        return super().from_facts(facts)

    @classmethod
    def parse(cls, value: str) -> GaussianPerCoordinate:
        """Return the noise whose standard deviations the array in an .npy file holds.

        Raises:
            Problem: there is no such file, or it holds something else.
        """
        name = shown(repr(value))
        path = Path(value)
        # Nor a pipe, which may have no end.
        if not path.is_file():
            raise NotFound(f"no file at {name}: {WAY}")
        try:
            std = _mapped(path, name)
        except Problem:
            raise
        # A damaged header makes NumPy raise whatever Python's parser does.
        except Exception as error:
            reason = shown(error) or type(error).__name__
            raise WrongFile(
                f"{name} cannot be read as an array ({reason}): {WAY}"
            ) from error

        if not isinstance(std, np.ndarray):
            raise WrongFile(f"{name} holds several arrays; expected numbers: {WAY}")
        if std.dtype.kind not in "iuf":
            raise WrongFile(f"{name} holds {shown(std.dtype)}; expected numbers: {WAY}")
        if std.size > MOST_COORDINATES:
            raise WrongFile(
                f"{name} holds {std.size:,} numbers; expected at most "
                f"{MOST_COORDINATES:,}"
            )
        return cls(np.asarray(std))

    def of(self, shape: Sequence[int]) -> GaussianPerCoordinate:
        super().of(shape)
        fits = len(self.std.shape) == len(shape)
        if fits:
            sides = zip(self.std.shape, shape, strict=True)
            fits = all(own in (1, of_input) for own, of_input in sides)
        if not fits:
            raise BadValue(
                f"std has the shape {self.std.shape} and an input {tuple(shape)}: "
                "give one for each coordinate"
            )
        return replace(self, std=np.broadcast_to(self.std, tuple(shape)))

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """As `Noise.draw`.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> noisy = torch.empty(10_000, 2)
            >>> noise = GaussianPerCoordinate(np.array([0.5, 20.0]))
            >>> noise.draw(noisy, torch.zeros(2), Stream(0, "example"))
            >>> noisy.std(dim=0).round(decimals=1).tolist()
            [0.5, 20.0]
        """
        fill(out, stream, "normal")
        noisy = in_place(out)
        noisy *= in_place(x.new_tensor(self.std))
        noisy += in_place(x)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return R = (Phi^-1(1 - q) - Phi^-1(q_next)) / 2, in standard deviations."""
        return UNIT.radius(q, q_next)

    def set_radius(self, q: ArrayLike, p_other: ArrayLike) -> Floats:
        """As `Gaussian.set_radius` with sigma 1."""
        return UNIT.set_radius(q, p_other)

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q = Phi(-radius)."""
        return UNIT.tail(radius)

    def convert(self, norm: str, r: ArrayLike, *, shape: Sequence[int] = ()) -> Floats:
        """Convert as `Noise.convert` does: to the largest balls in the ellipsoid.

        Those of L2 and L1 touch it where std is smallest, the L-infinity one in its
        corners, all of the same length.
        """
        r = super().convert(norm, r)
        if norm == self.norm:
            return r
        if norm == "linf":
            unit = self.of(shape).unit.astype(np.float64)
            return below(r / math.sqrt(np.sum(unit**-2.0)))
        return below(r * float(self.unit.min()))

    def _key(self) -> tuple[Any, ...]:
        return self.std.shape, self.std.tobytes()

    def _digest(self) -> str:
        return blake2b(repr(self._key()).encode(), digest_size=4).hexdigest()


@dataclass(frozen=True, eq=False)
class PerFeature(GaussianPerCoordinate):
    """Noise of `times` the standard deviation of each feature.

    Radii are in standard deviations of the features.

    That is the unit that a user has, whatever the noise: under 0.25 and under 0.5 of
    the deviations, a radius of 1 lets one feature move by its whole deviation. It is
    `times` the radius in standard deviations of the noise.

    Attributes:
        std: the std of the noise, as in `GaussianPerCoordinate`.
        times: how many standard deviations of the feature that is.

    Raises:
        Problem: in the cases of `GaussianPerCoordinate`, or `times` is no number from
            1e-6 to 1e6.

    Example:
        >>> # Of features that deviate by 2 and by 40.
        >>> noise = PerFeature(np.array([0.5, 10.0]), times=0.25)
        >>> noise.unit.tolist(), noise.radius(0.1587).round(3).tolist()
        ([2.0, 40.0], 0.25)
    """

    times: float = 1.0
    norm: ClassVar[str] = "deviations"
    summary: ClassVar[str] = (
        "x + N(0, diag((C std)^2)), std being that of each feature: L2 in units of std."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("times", self.times)

    @property
    def scale(self) -> float:  # type: ignore[override]
        return self.times

    @property
    def unit(self) -> NDArray[np.floating[Any]]:
        return self.std.astype(np.float64) / self.times

    @property
    def text(self) -> str:
        """As of `GaussianPerCoordinate`, with what a user wrote before it."""
        return f"{self.name}={shortest(self.times)}{STD}-{self._digest()}"

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "times": self.times}

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return R = times / 2 (Phi^-1(1 - q) - Phi^-1(q_next)).

        It is in standard deviations of the features.
        """
        return self.times * UNIT.radius(q, q_next)

    def set_radius(self, q: ArrayLike, p_other: ArrayLike) -> Floats:
        """As `Gaussian.set_radius` with sigma `times`."""
        return self.times * UNIT.set_radius(q, p_other)

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q = Phi(-radius / times)."""
        return UNIT.tail(np.asarray(radius, np.float64) / self.times)

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self.times


def _mapped(path: Path, name: str) -> Any:
    """Return what NumPy reads of a file.

    It is mapped, since its header may announce any number of numbers.

    Raises:
        Problem: the file is shorter than its header says; `name` is what to call it.
    """
    # NumPy warns of files of Python 2, of which it reads the header anew.
    with warnings.catch_warnings(action="ignore"):
        with path.open("rb") as file:
            header = array_header(file)
        if header is not None:
            check_array_holds(name, *header, path.stat().st_size)
        return np.load(path, mmap_mode="r", allow_pickle=False)
