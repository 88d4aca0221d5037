"""The seam between samples and radii: how a noise is drawn, and what a bound on p_A proves under it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.documents import shown
from randsmooth.errors import BadValue, Problem
from randsmooth.noise.copies import Copies
from randsmooth.noise.norms import NORMS

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise.rounded_gaussian import GridSampler
    from randsmooth.noise.streams import Stream

Floats = NDArray[np.float64]

ROUNDINGS = 2.0**-50  # of a number: four units in its last place
HALVINGS = 64  # of a bracket below 1000, to less than the spacing of doubles


class Noise(ABC):
    """A distribution of noisy copies of an input, and the radii that it certifies.

    Whatever knows how many samples are enough speaks of q, an upper bound on 1 - p_A; only a noise knows what radius,
    in which norm, that proves. Radii are in the units of the input, such as pixels in [0, 1].

    A subclass is a frozen dataclass with `draw`, `radius` and `tail`, whose first field is what a user writes after its
    name. `testing.check_noise` tells whether it keeps what is promised here.

    Attributes:
        name: as users write it, and as the registry lists it: "uniform".
        norm: of the radii, one of `NORMS`.
        usage: how a user writes the noise: "uniform=LAM".
        summary: what a copy is and what that certifies, in one sentence.
        tight: whether a classifier by one coordinate (L0: by whether it sees some pixels) changes sides just beyond the
            radius.
        domain: the least and the most that a number of an input may be, where the noise is not about any number.
        additive: whether copies are x plus numbers that do not depend on x; then those of a batch are drawn at once.
        implied: further norms that `convert` knows.
        proves_apart: of these, those whose radii have a proof of their own, and do not follow from those in `norm`.
        held_columns: names of the features that no copy changes, and that no radius is about (see `HoldingFixed`).
        rounds_exactly: whether copies can be drawn rounded to k/255 without float error (see `rounded_gaussian`).

    Example:
        >>> from randsmooth.noise import Uniform
        >>> noise = Uniform(0.6)
        >>> noise.text, noise.norm, float(noise.radius(0.25).round(3))
        ('uniform=0.6', 'l1', 0.3)
    """

    name: ClassVar[str]
    norm: ClassVar[str]
    usage: ClassVar[str]
    summary: ClassVar[str]
    tight: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    domain: ClassVar[tuple[float, float] | None] = None
    implied: ClassVar[tuple[str, ...]] = ()
    proves_apart: ClassVar[tuple[str, ...]] = ()
    held_columns: ClassVar[tuple[str, ...]] = ()
    rounds_exactly: ClassVar[bool] = False

    @property
    def width(self) -> float:
        """The number that a user writes after the name, such as sigma; NaN where that is not one number."""
        first_field = next(iter(self._fields().values()))
        return float(first_field) if isinstance(first_field, int | float) else math.nan

    @property
    def scale(self) -> float:
        """The length in which rules measure differences of radii, such as sigma: the width, unless overridden."""
        return self.width

    @property
    def unit(self) -> NDArray[np.floating[Any]]:
        """What a change of each coordinate is divided by before its norm is taken, which broadcasts to an input."""
        return np.ones(())

    @property
    def known_shape(self) -> tuple[int, ...]:
        """The shape of an input where the noise tells it; else empty."""
        return ()

    @property
    def step(self) -> float:
        """From one radius of a grid to the next, where a user names no step: 0.25, or less where radii are short.

        The longest of 0.25, 0.1, 0.05, 0.025, 0.01, ... that is a quarter of `scale` at most; 1 where they are whole.

        Example:
            >>> from randsmooth.noise import Ablation, Uniform
            >>> Uniform(2.0).step, Uniform(0.6).step, Uniform(0.1).step, Ablation(45).step
            (0.25, 0.1, 0.025, 1.0)
        """
        if self.norm == "l0":
            return 1.0
        exponent = math.floor(math.log10(self.scale / 4.0))
        return min(
            0.25,
            max(
                s
                for each in (1.0, 2.5, 5.0)
                if (s := float(f"{each}e{exponent}")) <= self.scale / 4.0
            ),
        )

    def check_radius(self, name: str, r: float) -> None:
        """Raise Problem unless `r`, called `name`, is a radius that one may ask for: finite, >= 0, in L0 whole.

        Example:
            >>> from randsmooth.noise import Ablation
            >>> Ablation(45).check_radius("radius", 0.5)
            Traceback (most recent call last):
            ...
            randsmooth.errors.BadValue: radius=0.5 must be a whole number of pixels, for ablation=45 is about L0
        """
        if not 0.0 <= r < math.inf:
            raise BadValue(
                field=name,
                value=r,
                expected=f"must be a finite radius >= 0: {NORMS[self.norm].title}",
            )
        if self.norm == "l0" and r != int(r):
            raise BadValue(
                field=name,
                value=r,
                expected=f"must be a whole number of pixels, for {self.text} is about L0",
            )

    @abstractmethod
    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Set `out` (n, *self.shape(x.shape)), contiguous float32, to noisy copies of `x`, drawn from `stream`.

        Copies are not clipped. On the CPU a shorter `out` gets the first copies of a longer one, and several threads
        may draw at the same time.
        """

    def draw_together(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """As `draw`, for each of `groups` in turn: their samples together are the rows of `out`."""
        for group, rows in zip(
            groups, out.split([group.samples for group in groups]), strict=True
        ):
            self.draw(rows, group.x, group.stream)

    def offsets(self, x: Tensor, m: int, stream: Stream) -> Tensor:
        """(m, B, *self.shape(shape)) noise of inputs x (B, *shape): with `clear(x)` it makes m noisy copies of each.

        Training takes noise in this form. What is drawn for an input depends on its place among the B.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Splitting, Stream
            >>> noise, x = Splitting(0.5), torch.rand(3, 1, 2, 2)
            >>> copies = noise.clear(x) + noise.offsets(x, 2, Stream(0, "example"))
            >>> copies.shape, bool(((copies >= 0.0) & (copies <= 1.0)).all())
            (torch.Size([2, 3, 1, 2, 2]), True)
        """
        import torch

        shape = self.shape(x.shape[1:])
        if self.additive:
            noise = torch.empty(m, len(x), *shape, device=x.device)
            self.draw(noise.flatten(0, 1), x.new_zeros(shape), stream)
            return noise
        noise = torch.empty(len(x), m, *shape, device=x.device)
        for i, copies in enumerate(noise):
            self.draw(copies, x[i], stream.at(i))
        return noise.transpose(0, 1) - self.clear(x)

    @abstractmethod
    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """The largest radius that is certified where P(not the class) <= q; 0 from q = 1/2 on.

        Args:
            q: upper bound on 1 - p_A, in [0, 1], any shape.
            q_next: upper bound on the probability of every other class, which may certify more; None: q is one.
        """

    @abstractmethod
    def tail(self, radius: ArrayLike) -> Floats:
        """The largest q that certifies `radius`, the inverse of `self.radius`; 0 for one that no q certifies."""

    def of(self, shape: Sequence[int]) -> Noise:
        """This noise for inputs of `shape`, completed by what only that tells.

        Raises:
            Problem: it is not for inputs of that shape.

        Example:
            >>> from randsmooth.noise import Ablation
            >>> Ablation(45).of((1, 28, 28)).d  # pixels
            784
        """
        check_shape(shape)
        return self

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what the network sees of an input of `shape`: the same, unless a noise adds channels.

        Example:
            >>> from randsmooth.noise import Ablation, Gaussian
            >>> Gaussian(0.5).shape((3, 32, 32)), Ablation(45).shape((3, 32, 32))
            ((3, 32, 32), (4, 32, 32))
        """
        return tuple(shape)

    def clear(self, x: Tensor) -> Tensor:
        """(n, *self.shape(shape)) what the network sees of inputs (n, *shape) without noise.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Ablation
            >>> Ablation(2).clear(torch.zeros(3, 1, 4, 4)).mean(dim=(0, 2, 3)).tolist()  # all is seen
            [0.0, 1.0]
        """
        return x

    def check(self, x: Tensor) -> None:  # noqa: B027 most noises are about any input
        """Raise Problem where `x`, of any shape, is no input that the noise is about."""

    def check_for_pixels(self) -> None:  # noqa: B027 most noises have no such limit
        """Raise Problem where the noise is wider than any for pixels in [0, 1]."""

    def rounded(self) -> GridSampler:
        """What draws copies that are rounded to k/255 without float error, as sound certification has them.

        Raises:
            Problem: this noise does not round exactly, or it is too wide.
        """
        raise BadValue(
            f"sound certification is of Gaussian noise alone; got {self.text}"
        )

    @property
    def ready(self) -> bool:
        """Whether radii can be asked for; else `of` completes the noise first."""
        return True

    @property
    def copies(self) -> int | None:
        """How many different copies there are where they can all be counted, by `numbered`; None where they cannot."""
        return None

    def numbered(self, out: Tensor, x: Tensor, first: int, seed: int) -> None:
        """Set `out` (n, *self.shape(x.shape)), contiguous float32, to the copies first, ..., first + n - 1 of `x`.

        Every copy counts alike. What belongs to `seed` is the same for all inputs of one shape.

        Raises:
            Problem: the copies of this noise cannot be counted, or not that many, or not those of this input.
        """
        raise self._uncountable()

    def exact_radius(self, n_a: ArrayLike, n_next: ArrayLike) -> Floats:
        """The largest radius that is certified where all `copies` were counted, each once, ties included.

        Args:
            n_a: how many of them have the class, any shape.
            n_next: the most that any other class has.

        Raises:
            Problem: the copies of this noise cannot be counted.
        """
        raise self._uncountable()

    def _uncountable(self) -> Problem:
        said = f"{self.text} has infinitely many copies, which cannot all be counted"
        return BadValue(
            f"{said}: sample them (rule fixed, or another), or take noise splitting=0.5 for rule exact"
        )

    @property
    def norms(self) -> tuple[str, ...]:
        """The norms that `convert` knows; its own is the first.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> Gaussian(0.5).norms
            ('l2', 'l1', 'linf')
        """
        return (self.norm, *self.implied)

    def convert(self, norm: str, r: ArrayLike, *, shape: Sequence[int] = ()) -> Floats:
        """The radius in `norm` that follows, by a proof, from the radius `r` in the noise's own, for inputs of `shape`.

        It ascends with `r`, and is not rounded up. A noise with `implied` norms has its own.

        Raises:
            Problem: none is proved in `norm`, or it takes the shape.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> Gaussian(0.5).convert("linf", [0.0, 0.5], shape=(4, 4)).round(3).tolist()
            [0.0, 0.125]
        """
        if norm not in self.norms:
            raise BadValue(
                f"{self.text} proves radii in {' and '.join(self.norms)}; got norm={norm!r}"
            )
        return np.asarray(r, np.float64)

    @property
    def text(self) -> str:
        """The noise in the words of a user: `make_noise` makes it from them again.

        Example:
            >>> from randsmooth.noise import Laplace
            >>> Laplace(1.0).text
            'laplace=1'
        """
        return f"{self.name}={written(next(iter(self._fields().values())))}"

    @property
    def title(self) -> str:
        """The noise as reports print it: "uniform 0.6"."""
        return self.text.replace("=", " ")

    @property
    def title_with_norm(self) -> str:
        """The noise as reports print it, with the norm of its radii: "uniform 0.6 (L1)"."""
        return f"{self.title} ({NORMS[self.norm].label})"

    def facts(self) -> dict[str, Any]:
        """What JSON keeps of the noise; `noise_from` makes it again, equal to the last bit.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> Gaussian(0.25).facts()
            {'name': 'gaussian', 'sigma': 0.25}
        """
        return {"name": self.name, **self._fields()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Noise:
        """The noise that `facts` are of, without their name. Problem where they cannot be."""
        own = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if set(facts) != set(own):
            raise BadValue(
                f"noise {cls.name!r} has {', '.join(own)}; got {', '.join(sorted(facts)) or 'nothing'}"
            )
        return cls(**facts)

    @classmethod
    def parse(cls, value: str) -> Noise:
        """The noise that a user means by `NAME=value`. Problem where it is none."""
        return cls(number(value))  # type: ignore[call-arg]

    def largest_radius(self, n: int, alpha: float) -> float:
        """The radius that n successes of n certify: no certificate at this n and alpha is larger.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> round(Gaussian(1.0).largest_radius(100_000, alpha=0.001), 2)
            3.81
        """
        return float(self.radius(-math.expm1(math.log(alpha) / n)))

    def _fields(self) -> dict[str, Any]:
        """Fields and their values, as Python's own numbers."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in found.items()
        }


@dataclass(frozen=True)
class InNorm(Noise):
    """`noise`, with the radii in `norm` that follow from its own by a proof (see `Noise.convert`).

    Attributes:
        noise: what is drawn.
        norm: of the radii, one of `noise.norms`.
        dimensions: the shape of an input, which some proofs need.

    Raises:
        Problem: nothing is proved in `norm`, or it takes the dimensions.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> seen = InNorm(Gaussian(0.5), "linf", (4, 4))
        >>> seen.radius(0.1587).round(3).tolist(), seen.tail(0.125).round(4).tolist()
        (0.125, 0.1587)
    """

    noise: Noise
    norm: str  # type: ignore[misc]
    dimensions: tuple[int, ...] = ()
    name: ClassVar[str] = "in another norm"

    def __post_init__(self) -> None:
        self.from_own(0.0)

    def from_own(self, r: ArrayLike) -> Floats:
        """What follows from the radius `r` in the noise's own norm."""
        return self.noise.convert(self.norm, r, shape=self.dimensions)

    @property
    def scale(self) -> float:
        return float(self.from_own(self.noise.scale))

    @property
    def text(self) -> str:
        return self.noise.text

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        self.noise.draw(out, x, stream)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        return self.from_own(self.noise.radius(q, q_next))

    def tail(self, radius: ArrayLike) -> Floats:
        """By halving: the larger of two q that enclose it is never taken."""
        r = np.asarray(radius, np.float64)
        low, high = (
            np.full(r.shape, np.log(np.finfo(np.float64).tiny)),
            np.zeros(r.shape),
        )  # of log(2 q)
        q = (
            np.exp(bisected(lambda log: self.radius(np.exp(log) / 2.0) >= r, low, high))
            / 2.0
        )
        return np.asarray(np.where(r > 0.0, np.where(self.radius(q) >= r, q, 0.0), 0.5))


def in_place(tensor: Tensor) -> Any:
    """`tensor` for operators that change it: NumPy's on the CPU, as those leave torch's threads alone; else its own."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def check_shape(shape: Sequence[int]) -> None:
    """Raise Problem unless `shape` is that of an input: one length or more, all at least 1."""
    if not len(shape) or min(shape) < 1:
        raise BadValue(
            field="shape",
            value=tuple(shape),
            expected="must be that of one input, such as (3, 32, 32) or (10,)",
        )


def number(value: str) -> float:
    """The number that a user wrote; Problem where it is none."""
    try:
        return float(value)
    except ValueError:
        raise BadValue(
            f"{shown(repr(value))} is no number: write one, such as 0.5"
        ) from None


def written(value: float) -> str:
    """A number as a user writes it; the shortest that gives it again."""
    return repr(value).removesuffix(".0")


def both(q: ArrayLike, q_next: ArrayLike | None) -> Floats:
    """q + q_next, never rounded down; 2 q where q_next is None or exceeds q.

    No other class has more than what the class leaves.
    """
    q = np.asarray(q, np.float64)
    if q_next is None:
        return np.asarray(2.0 * q)
    other = np.minimum(np.asarray(q_next, np.float64), q)
    return np.asarray(np.where(other == q, 2.0 * q, np.nextafter(q + other, 2.0)))


def below(r: ArrayLike) -> Floats:
    """`r`, never negative, less what a few roundings may have added to it."""
    return np.asarray(
        np.maximum(0.0, np.asarray(r, np.float64) * (1.0 - ROUNDINGS)) + 0.0
    )


def bisected(
    holds: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats
) -> Floats:
    """(...) the largest numbers from `low` to `high`, both (...), for which `holds`, approached from below."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        kept = holds(middle)
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return low


def round_down(r: float, digits: int) -> Decimal:
    """`r` with `digits` decimals, never above it: a radius printed is a radius certified.

    Example:
        >>> round_down(0.98765, 2)
        Decimal('0.98')
    """
    return Decimal(float(r)).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN)


def printed_radius(r: float) -> str:
    """A radius as a person reads it, in every answer and on every page: two decimals, or four of one below 0.1.

    It is never more than is certified.

    Example:
        >>> printed_radius(0.6982), printed_radius(0.06982), printed_radius(0.62)
        ('0.69', '0.0698', '0.62')
    """
    digits = 2 if r >= 0.1 else 4
    written = Decimal(
        repr(float(r))
    )  # 0.62, of which the nearest float is a little less
    return str(written.quantize(Decimal(1).scaleb(-digits), ROUND_DOWN))


def linf_radius(r: ArrayLike, d: int) -> Floats:
    """L-infinity radius r / sqrt(d) that follows from the L2 radius r in d dimensions.

    The largest L-infinity ball in the L2 ball touches it at its corners, where |delta|_2 = sqrt(d) |delta|_inf. (In L1
    the radius is r itself, as |delta|_2 <= |delta|_1.)

    Args:
        r: L2 radii, any shape.
        d: numbers that make up an input, 3 * 32 * 32 = 3072 for CIFAR-10.

    Raises:
        Problem: a radius that is negative or not finite, d < 1.

    Source: Salman et al. 2019, who certify 2/255 on CIFAR-10 by the L2 radius 0.435.

    Example:
        >>> round(float(linf_radius(0.435, d=3 * 32 * 32)) * 255, 2)  # 2/255 on CIFAR-10
        2.0
    """
    r = np.asarray(r, np.float64)
    if d < 1:
        raise BadValue(
            field="d",
            value=d,
            expected="must be the number of inputs, at least 1; CIFAR-10 has 3 * 32 * 32 = 3072",
        )
    if not np.all((r >= 0.0) & np.isfinite(r)):
        raise BadValue(
            f"radii must be finite and >= 0, in units of pixels in [0, 1]; got {r.tolist()}"
        )
    return np.asarray(r / math.sqrt(d))
