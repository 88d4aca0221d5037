"""The seam between samples and radii: how a noise is drawn, and what p_A then proves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.documents import shown
from randsmooth.errors import BadValue, Problem
from randsmooth.noise.copies import Copies
from randsmooth.noise.norms import NORMS, Norm
from randsmooth.noise.radii import Floats
from randsmooth.number_text import shortest

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise.rounded_gaussian import GridSampler
    from randsmooth.noise.streams import Stream

# The longest step between radii of a grid, which also is a share of the scale.
LONGEST_STEP = 0.25


class Noise(ABC):
    """A distribution of noisy copies of an input, and the radii that it certifies.

    Whatever knows how many samples are enough speaks of q, an upper bound on 1 - p_A.
    Only a noise knows what radius, in which norm, that proves. Radii are in the units
    of the input, such as pixels in [0, 1].

    A subclass is a frozen dataclass with `draw`, `radius` and `tail`, whose first field
    is what a user writes after its name. `testing.check_noise` tells whether it keeps
    what is promised here.

    Attributes:
        name: the name of the noise as users write it, and as the registry lists it:
            "uniform".
        norm: the norm of the radii, one of `NORMS`.
        usage: the way to write the noise: "uniform=LAM".
        summary: one sentence that says what a copy is and what it certifies.
        tight: whether a classifier by one coordinate (L0: by whether it sees some
            pixels) changes sides just beyond the radius.
        domain: the least and the most that a number of an input may be, where the noise
            is not about any number.
        additive: whether copies are x plus numbers that do not depend on x; then those
            of a batch are drawn at once.
        implied: further norms that `convert` knows.
        proves_apart: the norms, of these, that have a proof of their own for their
            radii, and do not follow from the radii in `norm`.
        proves_sets: whether `set_radius` holds for sets of several classes. As it is
            here it does where a probability that grows from q to t takes a change of at
            least radius(q) - radius(t).
        held_columns: names of the features that no copy changes, and that no radius is
            about (see `HoldingFixed`).
        counts_words: whether inputs are texts, whose radii depend on how many words
            each has (see `of_words`).
        rounds_exactly: whether copies can be drawn rounded to k/255 without float error
            (see `rounded`).

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
    proves_sets: ClassVar[bool] = False
    held_columns: ClassVar[tuple[str, ...]] = ()
    counts_words: ClassVar[bool] = False
    rounds_exactly: ClassVar[bool] = False

    # What a subclass must have.

    @abstractmethod
    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Set `out` to noisy copies of `x`, drawn from `stream`.

        Copies are not clipped. On the CPU a shorter `out` gets the first copies of a
        longer one, and several threads may draw at the same time.

        Args:
            out: (n, *self.shape(x.shape)), contiguous float32.
            x: the input.
            stream: the source of random numbers.
        """

    @abstractmethod
    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return the largest radius that is certified where P(not the class) <= q.

        It is 0 from q = 1/2 on.

        Args:
            q: upper bound on 1 - p_A, in [0, 1], any shape.
            q_next: upper bound on the probability of every other class, which may
                certify more; None: q is one.
        """

    @abstractmethod
    def tail(self, radius: ArrayLike) -> Floats:
        """Return the largest q that certifies `radius`, the inverse of `self.radius`.

        It is 0 for a radius that no q certifies.
        """

    def set_radius(self, q: ArrayLike, p_other: ArrayLike) -> Floats:
        """Return the radius within which the smoothed class stays in a set of classes.

        It is `radius` for a set of one class. The classes of a larger set have more
        than s / (s + 1) between them as long as the rest has less than 1 / (s + 1);
        then one of the s has more than all of the rest, and so more than any of it.

        Args:
            q: (N, s) upper bounds on 1 - p of the first 1, 2, ..., s classes of the
                set, from `bounds.set_bounds`.
            p_other: (N,) upper bound on the probability of any class outside.

        Returns:
            (N,); 0 where nothing is proved.

        Raises:
            Problem: nothing is proved here for a set of several classes.

        Example:
            >>> from randsmooth.noise import Ablation, Uniform
            >>> q, p_other = [[0.5, 0.05]], [0.05]
            >>> Uniform(0.5).set_radius(q, p_other).round(3).tolist()  # 1/3 - 0.05
            [0.283]
            >>> Ablation(45, d=784).set_radius(q, p_other)
            Traceback (most recent call last):
            ...
            randsmooth.errors.BadValue: ablation=45 proves no radius for a set of 2 ...
        """
        q = np.asarray(q, np.float64)
        s = q.shape[1]
        if s == 1:
            return self.radius(q[:, 0], p_other)
        if not self.proves_sets:
            raise BadValue(
                f"{self.text} proves no radius for a set of {s} classes: take one "
                "class, or Gaussian, uniform or Laplace noise"
            )
        most_outside = 1.0 / (s + 1.0)
        return np.maximum(0.0, self.radius(q[:, -1]) - self.radius(most_outside))

    # What a noise that is more than numbers added to x has its own of.

    def of(self, shape: Sequence[int]) -> Noise:
        """Return this noise for inputs of `shape`, completed by what only that tells.

        Raises:
            Problem: it is not for inputs of that shape.

        Example:
            >>> from randsmooth.noise import Ablation
            >>> Ablation(45).of((1, 28, 28)).d  # pixels
            784
        """
        check_shape(shape)
        return self

    @property
    def ready(self) -> bool:
        """Whether radii can be asked for; else `of` completes the noise first.

        A noise that `counts_words` is completed by `of_words`, for each text.
        """
        return True

    def words_in(self, x: Tensor) -> int:
        """Return how many words the text `x` has, for a noise that `counts_words`."""
        raise BadValue(field="noise", value=self.text, expected="is for no texts")

    def of_words(self, d: int) -> Noise:
        """Return this noise for a text of `d` words; one for other inputs as it is.

        Example:
            >>> from randsmooth.noise import WordAblation
            >>> WordAblation(k=3).of_words(60).radius(0.0)  # of no failures at all
            array(12.)
        """
        return self

    def trial(self, numbers: Tensor) -> Tensor:
        """Return an input to try a model with, made of numbers in [0, 1] of its shape."""
        return numbers

    @property
    def known_shape(self) -> tuple[int, ...]:
        """The shape of an input where the noise tells it; else empty."""
        return ()

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of what the network sees of an input of `shape`.

        It is the same, unless a noise adds channels.

        Example:
            >>> from randsmooth.noise import Ablation, Gaussian
            >>> Gaussian(0.5).shape((3, 32, 32)), Ablation(45).shape((3, 32, 32))
            ((3, 32, 32), (4, 32, 32))
        """
        return tuple(shape)

    def clear(self, x: Tensor) -> Tensor:
        """Return the tensor that the network sees of inputs (n, *shape) without noise.

        Returns:
            (n, *self.shape(shape))

        Example:
            >>> import torch
            >>> from randsmooth.noise import Ablation
            >>> seen = Ablation(2).clear(torch.zeros(3, 1, 4, 4))
            >>> seen.mean(dim=(0, 2, 3)).tolist()  # all is seen
            [0.0, 1.0]
        """
        return x

    def check(self, x: Tensor) -> None:  # noqa: B027 most noises are about any input
        """Raise Problem where `x`, of any shape, is no input that the noise is about."""

    def check_for_pixels(self) -> None:  # noqa: B027 most noises have no such limit
        """Raise Problem where the noise is wider than any for pixels in [0, 1]."""

    def rounded(self) -> GridSampler:
        """Return what draws copies that are rounded to k/255 without float error.

        Sound certification draws these.

        Raises:
            Problem: this noise does not round exactly, or it is too wide.
        """
        raise BadValue(
            f"sound certification is of Gaussian noise alone; got {self.text}"
        )

    # What follows from `draw`.

    def draw_together(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """Set `out` to the samples of `groups`, one after another, each as by `draw`."""
        parts = out.split([group.samples for group in groups])
        for group, rows in zip(groups, parts, strict=True):
            self.draw(rows, group.x, group.stream)

    def offsets(self, x: Tensor, m: int, stream: Stream) -> Tensor:
        """Return what makes m noisy copies of each input when it is added to `clear(x)`.

        Training takes noise in this form. What is drawn for an input depends on its
        place among the B.

        Args:
            x: (B, *shape)
            m: copies of each.
            stream: the source of random numbers.

        Returns:
            (m, B, *self.shape(shape))

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
            # Copies of zeros are the noise itself, drawn for all inputs at once.
            noise = torch.empty(m, len(x), *shape, device=x.device)
            self.draw(noise.flatten(0, 1), x.new_zeros(shape), stream)
            return noise

        copies = torch.empty(len(x), m, *shape, device=x.device)
        for i, copies_of_one in enumerate(copies):
            self.draw(copies_of_one, x[i], stream.at(i))
        return copies.transpose(0, 1) - self.clear(x)

    # What a noise has whose copies can be counted.

    @property
    def copies(self) -> int | None:
        """How many different copies there are, where `numbered` has all; else None."""
        return None

    def numbered(self, out: Tensor, x: Tensor, first: int, seed: int) -> None:
        """Set `out` to the copies of `x` numbered `first`, ..., `first` + n - 1.

        Every copy counts alike. What belongs to `seed` is the same for all inputs of
        one shape.

        Args:
            out: (n, *self.shape(x.shape)), contiguous float32.

        Raises:
            Problem: the copies of this noise cannot be counted, or not that many, or
                not those of this input.
        """
        raise self._uncountable()

    def exact_radius(self, n_a: ArrayLike, n_next: ArrayLike) -> Floats:
        """Return the largest radius that is certified where all `copies` were counted.

        Each was counted once. Ties are no win of the class.

        Args:
            n_a: how many of them have the class, any shape.
            n_next: the most that any other class has.

        Raises:
            Problem: the copies of this noise cannot be counted.
        """
        raise self._uncountable()

    def _uncountable(self) -> Problem:
        return BadValue(
            f"{self.text} has infinitely many copies, which cannot all be counted: "
            "sample them (rule fixed, or another), or take noise splitting=0.5 for "
            "rule exact"
        )

    # Lengths and norms.

    @property
    def width(self) -> float:
        """The number that a user writes after the name, such as sigma.

        It is NaN where that is not one number.
        """
        first_field = next(iter(self._fields().values()))
        return float(first_field) if isinstance(first_field, int | float) else math.nan

    @property
    def scale(self) -> float:
        """The length in which rules measure differences of radii.

        It is the width, unless overridden.
        """
        return self.width

    @property
    def unit(self) -> NDArray[np.floating[Any]]:
        """The divisor of a change of each coordinate before its norm is taken.

        It broadcasts to an input.
        """
        return np.ones(())

    @property
    def step(self) -> float:
        """The step from one radius of a grid to the next, where a user names none.

        It is the longest of 0.25, 0.1, 0.05, 0.025, 0.01, ... that is a quarter of
        `scale` at most; 1 where radii are whole.

        Example:
            >>> from randsmooth.noise import Ablation, Uniform
            >>> [noise.step for noise in (Uniform(2.0), Uniform(0.6), Ablation(45))]
            [0.25, 0.1, 1.0]
        """
        if self._norm.whole:
            return 1.0
        longest = self.scale * LONGEST_STEP
        exponent = math.floor(math.log10(longest))
        round_numbers = [float(f"{digits}e{exponent}") for digits in (1.0, 2.5, 5.0)]
        return min(LONGEST_STEP, max(r for r in round_numbers if r <= longest))

    def check_radius(self, name: str, r: float) -> None:
        """Raise Problem unless `r`, called `name`, is a radius that one may ask for.

        It must be finite and not negative, and in L0 whole.

        Example:
            >>> from randsmooth.noise import Ablation
            >>> Ablation(45).check_radius("radius", 0.5)
            Traceback (most recent call last):
            ...
            randsmooth.errors.BadValue: radius=0.5 must be a whole number of pixels, ...
        """
        if not 0.0 <= r < math.inf:
            raise BadValue(
                field=name,
                value=r,
                expected=f"must be a finite radius >= 0: {self._norm.title}",
            )
        if self._norm.whole and r != int(r):
            raise BadValue(
                field=name,
                value=r,
                expected=(
                    f"must be a whole number of {self._norm.parts}, for {self.text} "
                    f"is about {self._norm.label}"
                ),
            )

    def largest_radius(self, n: int, alpha: float) -> float:
        """Return the radius that n successes of n certify at level `alpha`.

        No certificate at this n and alpha is larger.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> round(Gaussian(1.0).largest_radius(100_000, alpha=0.001), 2)
            3.81
        """
        # q = 1 - alpha^(1/n)
        return float(self.radius(-math.expm1(math.log(alpha) / n)))

    @property
    def _norm(self) -> Norm:
        return NORMS[self.norm]

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
        """Return the radius in `norm` that follows, by a proof, from one in its own.

        It ascends with that radius, and is not rounded up. A noise with `implied` norms
        has its own `convert`.

        Args:
            norm: one of `norms`.
            r: radii in the noise's norm, any shape.
            shape: the shape of an input, which some proofs need.

        Raises:
            Problem: none is proved in `norm`, or it takes the shape.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> Gaussian(0.5).convert("linf", [0.0, 0.5], shape=(4, 4)).round(3).tolist()
            [0.0, 0.125]
        """
        if norm not in self.norms:
            raise BadValue(
                f"{self.text} proves radii in {' and '.join(self.norms)}; "
                f"got norm={norm!r}"
            )
        return np.asarray(r, np.float64)

    # The noise in words, and as files keep it.

    @property
    def text(self) -> str:
        """The noise in the words of a user: `make_noise` makes it from them again.

        Example:
            >>> from randsmooth.noise import Laplace
            >>> Laplace(1.0).text
            'laplace=1'
        """
        return f"{self.name}={shortest(next(iter(self._fields().values())))}"

    @property
    def title(self) -> str:
        """The noise as reports print it: "uniform 0.6"."""
        return self.text.replace("=", " ")

    @property
    def title_with_norm(self) -> str:
        """The title with the norm of the radii: "uniform 0.6 (L1)"."""
        return f"{self.title} ({self._norm.label})"

    @classmethod
    def parse(cls, value: str) -> Noise:
        """Return the noise that a user means by `NAME=value`.

        Raises:
            Problem: there is none.
        """
        return cls(number(value))  # type: ignore[call-arg]

    def facts(self) -> dict[str, Any]:
        """Return what JSON keeps of the noise.

        `noise_from` makes it again, equal to the last bit.

        Example:
            >>> from randsmooth.noise import Gaussian
            >>> Gaussian(0.25).facts()
            {'name': 'gaussian', 'sigma': 0.25}
        """
        return {"name": self.name, **self._fields()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Noise:
        """Return the noise that `facts` are of, without their name.

        Raises:
            Problem: they are of none.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if set(facts) != set(names):
            given = ", ".join(sorted(facts)) or "nothing"
            raise BadValue(f"noise {cls.name!r} has {', '.join(names)}; got {given}")
        return cls(**facts)

    def _fields(self) -> dict[str, Any]:
        """Return fields and their values, as Python's own numbers."""
        values = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            values[field.name] = (
                value.item() if isinstance(value, np.generic) else value
            )
        return values


def in_place(tensor: Tensor) -> Any:
    """Return `tensor` for operators that change it.

    On the CPU it is an array, since NumPy leaves torch's own threads alone.
    """
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def check_shape(shape: Sequence[int]) -> None:
    """Raise Problem unless `shape` is that of an input.

    That has one length or more, all at least 1.
    """
    if not len(shape) or min(shape) < 1:
        raise BadValue(
            field="shape",
            value=tuple(shape),
            expected="must be that of one input, such as (3, 32, 32) or (10,)",
        )


def number(value: str) -> float:
    """Return the number that a user wrote.

    Raises:
        Problem: it is none.
    """
    try:
        return float(value)
    except ValueError:
        raise BadValue(
            f"{shown(repr(value))} is not a number: write one, such as 0.5"
        ) from None
