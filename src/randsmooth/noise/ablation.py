"""Ablation: a copy keeps a few pixels, so that few changed pixels are seldom seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.errors import BadValue
from randsmooth.noise.base import Noise, check_shape, number
from randsmooth.noise.radii import Floats, both
from randsmooth.noise.streams import Stream, fill

if TYPE_CHECKING:
    from torch import Tensor

# Of a probability near 1/2: what rounding may hide is not claimed.
MARGIN = 2.0**-51

# Beyond a summed share of unseen pixels of this, the tail is far below 0.
LARGEST_SUM_OF_SHARES = 1.0


@dataclass(frozen=True)
class Ablation(Noise):
    """k pixels at random, of d; the others are hidden (Levine & Feizi 2020).

    It certifies in L0, how many pixels may change.

    A network sees x with 0 in hidden places and, after the channels of x, one that is 1
    where x is seen and 0 where it is hidden: (C + 1, H, W) of an input (C, H, W), whose
    pixels have all channels in common, and so for any (C, ...). Of an input (d,) it
    sees (2 d,): first the numbers, then as many marks.

    Attributes:
        k: pixels that are seen in a copy, at least 1.
        d: pixels of an input, which `of` counts; None: not known yet.

    Raises:
        Problem: k or d is no whole number from 1 on, or k exceeds d.

    Example:
        >>> noise = Ablation(45).of((1, 28, 28))
        >>> noise.radius([0.0, 0.1, 0.4, 0.5]).tolist()
        [11.0, 8.0, 1.0, 0.0]
    """

    k: int
    d: int | None = None

    name: ClassVar[str] = "ablation"
    norm: ClassVar[str] = "l0"
    usage: ClassVar[str] = "ablation=K or ablation=P%"
    summary: ClassVar[str] = (
        "K pixels of x (or P percent of them), drawn at random, all others hidden: L0, "
        "how many pixels may change; of a text words, and how many may be replaced."
    )
    tight: ClassVar[bool] = True

    # A pixel.
    scale = 1.0

    def __post_init__(self) -> None:
        _check_pixels("k", self.k)
        if self.d is None:
            return
        _check_pixels("d", self.d)
        if self.k > self.d:
            raise BadValue(
                field="k",
                value=self.k,
                expected=(
                    f"pixels cannot be kept of d={self.d}: keep fewer, usually d / 20 "
                    "or so"
                ),
            )

    @property
    def ready(self) -> bool:
        return self.d is not None

    @classmethod
    def parse(cls, value: str) -> Noise:
        if value.strip().endswith("%"):
            return AblationOfShare(number(value.strip().removesuffix("%")))
        k = number(value)
        # What is not whole is refused where the noise is made.
        return cls(int(k) if k.is_integer() else k)  # type: ignore[arg-type]

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Noise:
        if set(facts) == {"percent"}:
            return AblationOfShare(**facts)
        return super().from_facts(facts)

    def of(self, shape: Sequence[int]) -> Ablation:
        check_shape(shape)
        d = pixels_of(shape)
        if self.d not in (None, d):
            raise BadValue(
                f"ablation of d={self.d} pixels got an input of shape {tuple(shape)}, "
                f"which has {d}"
            )
        return replace(self, d=d)

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if len(shape) == 1:
            return (2 * shape[0],)
        return (shape[0] + 1, *shape[1:])

    def clear(self, x: Tensor) -> Tensor:
        import torch

        marked = x[:, :1] if x.dim() > 2 else x
        return torch.cat([x, torch.ones_like(marked)], dim=1)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Draw as `Noise.draw` does: the pixels of the k smallest numbers are seen.

        These have 53 bits.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> seen = torch.empty(5, 2, 4, 4)
            >>> Ablation(3).draw(seen, torch.full((1, 4, 4), 0.5), Stream(0, "example"))
            >>> seen.sum(dim=(2, 3)).unique(dim=0).tolist()  # 3 pixels of 0.5, and 3 marks
            [[1.5, 3.0]]
        """
        import torch

        d = self.of(x.shape).known_pixels()
        channels = out.view(len(out), -1, d)  # (n, C + 1, d)
        marks = channels[:, -1:]
        self._mark(marks[:, 0], stream)

        # The sum makes -0.0 0.0.
        numbers = x.reshape(-1, d).to(out.dtype) + 0.0
        # Chosen, not multiplied: -1 * 0 is -0.0, and infinity * 0 is NaN, which would
        # tell what is hidden.
        torch.where(marks > 0.0, numbers, numbers.new_zeros(()), out=channels[:, :-1])

    def offsets(self, x: Tensor, m: int, stream: Stream) -> Tensor:
        d = self.of(x.shape[1:]).known_pixels()
        whole = self.clear(x)
        marks = x.new_empty(m * len(x), d)
        self._mark(marks, stream)
        # -1 where a pixel is hidden, 0 where it is seen.
        hidden = marks.view(m, len(x), 1, d) - 1.0
        return (whole.reshape(len(x), -1, d) * hidden).view(m, *whole.shape)

    def _mark(self, marks: Tensor, stream: Stream) -> None:
        mark_seen(marks, self.k, stream)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return the largest whole R with 1 - q - D > q_next + D.

        D is the share of copies that see one of R pixels.

        Source: Levine & Feizi 2020, theorem 1, and corollary 1 for a bound on the next
            class.

        Raises:
            Problem: d is not known yet.
        """
        tails = _tails(self.k, self.known_pixels())
        mean = both(q, q_next) / 2.0
        # `tails` descends, and radius R is certified up to tails[R].
        certified = np.searchsorted(-tails, -mean, side="right") - 1.0
        radius = np.maximum(0.0, certified)
        return np.asarray(np.where(np.isnan(mean), 0.0, radius))

    def tail(self, radius: ArrayLike) -> Floats:
        """Return q = 1/2 - D; D is rounded up, and so is a radius that is not whole."""
        tails = np.append(_tails(self.k, self.known_pixels()), 0.0)
        pixels = np.ceil(np.asarray(radius, np.float64))
        pixels = np.fmin(pixels, len(tails) - 1.0)
        return np.asarray(tails[pixels.astype(np.int64)])

    def known_pixels(self) -> int:
        """Return d.

        Raises:
            Problem: it is not known yet.
        """
        if self.d is None:
            raise BadValue(
                f"{self.text} proves a radius once inputs are known: noise.of(shape) "
                "counts their pixels"
            )
        return self.d


@dataclass(frozen=True)
class AblationOfShare(Noise):
    """A share of the pixels at random, which `of` makes a number.

    Attributes:
        percent: the pixels that are kept, of each 100, rounded to whole pixels, halves
            up, and at least one.

    Raises:
        Problem: it is no number above 0, or above 100.

    Example:
        >>> AblationOfShare(6.0).of((1, 28, 28))
        Ablation(k=47, d=784)
    """

    percent: float

    name: ClassVar[str] = Ablation.name
    norm: ClassVar[str] = Ablation.norm
    usage: ClassVar[str] = Ablation.usage
    summary: ClassVar[str] = Ablation.summary

    def __post_init__(self) -> None:
        check_percent(self.percent)

    @property
    def text(self) -> str:
        return f"{super().text}%"

    @property
    def ready(self) -> bool:
        return False

    def of(self, shape: Sequence[int]) -> Noise:
        check_shape(shape)
        d = pixels_of(shape)
        return Ablation(number_kept(d, self.percent), d)

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.of(shape).shape(shape)

    def clear(self, x: Tensor) -> Tensor:
        return self.of(x.shape[1:]).clear(x)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        self.of(x.shape).draw(out, x, stream)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        raise self._unknown()

    def tail(self, radius: ArrayLike) -> Floats:
        raise self._unknown()

    def _unknown(self) -> BadValue:
        return BadValue(
            f"{self.text} proves a radius once inputs are known: noise.of(shape) "
            "counts their pixels"
        )


def pixels_of(shape: Sequence[int]) -> int:
    """Return how many pixels an input of `shape` has; of (d,) d."""
    return int(math.prod(shape[1:]) if len(shape) > 1 else shape[0])


def mark_seen(marks: Tensor, k: int, stream: Stream) -> None:
    """Set each row of `marks` (n, d) to 1 at k places and to 0 elsewhere.

    The places are those of the k smallest of d numbers, which have 53 bits.
    """
    import torch

    keys = torch.empty(marks.shape, dtype=torch.float64, device=marks.device)
    fill(keys, stream, "uniform")
    seen = keys.topk(k, dim=1, largest=False, sorted=False).indices
    marks.zero_().scatter_(1, seen, 1.0)


def number_kept(d: int, percent: float) -> int:
    """Return how many of d parts are kept: halves are rounded up, and one is the least.

    Example:
        >>> number_kept(15, 10.0), number_kept(3, 10.0)
        (2, 1)
    """
    return max(1, math.floor(d * percent / 100.0 + 0.5))


def check_percent(percent: float) -> None:
    """Raise Problem unless `percent` is a share that may be kept."""
    is_number = isinstance(percent, int | float) and not isinstance(percent, bool)
    if not is_number or not 0.0 < percent <= 100.0:
        raise BadValue(
            field="percent",
            value=percent,
            expected="must be above 0, and at most 100; 5 to 20 is usual",
        )


def _check_pixels(name: str, value: object) -> None:
    """Raise Problem unless `value` is a number of pixels."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:  # type: ignore[operator]  # it is a whole number
        raise BadValue(
            field=name,
            value=value,
            expected="must be a number of pixels, 1 or more; k is usually d / 20 or so",
        )


@lru_cache(maxsize=64)
def _tails(k: int, d: int) -> Floats:
    """Return 1/2 - D for each R from 0 on, descending, while that is above 0.

    It is a little less for R > 0. D = 1 - C(d - R, k) / C(d, k), and
    C(d - R, k) / C(d, k) is the product of 1 - k / (d - i) for i below R.
    """
    # The share of copies that see the next pixel, of those that saw none before it.
    pixels_left = d - np.arange(max(0, d - k), dtype=np.float64)
    seen = k / pixels_left
    # Once the shares add up to 1, fewer than e^-1 of all copies saw none: such tails
    # do not count.
    enough = np.searchsorted(np.cumsum(seen), LARGEST_SUM_OF_SHARES) + 1
    log_unseen = np.cumsum(np.log1p(-seen[:enough]))

    # Of a sum of so many terms.
    rounding = (np.arange(len(log_unseen)) + 8.0) * 2.0**-51
    tails = 0.5 + np.expm1(log_unseen * (1.0 + rounding)) - MARGIN
    tails = np.concatenate(([0.5], tails[tails > 0.0]))
    # It is kept, and shared.
    tails.flags.writeable = False
    return tails
