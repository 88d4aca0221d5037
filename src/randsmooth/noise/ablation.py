"""Ablation: a copy keeps a few pixels and hides all others, so that few changed pixels are seldom seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.errors import BadValue
from randsmooth.noise.base import Floats, Noise, both, check_shape, number
from randsmooth.noise.streams import Stream, fill

if TYPE_CHECKING:
    from torch import Tensor

MARGIN = 2.0**-51  # of a probability near 1/2: what rounding may hide is not claimed


@dataclass(frozen=True)
class Ablation(Noise):
    """k pixels at random, of d; the others are hidden: L0, how many pixels may change (Levine & Feizi 2020).

    A network sees x with 0 in hidden places and, after the channels of x, one that is 1 where x is seen and 0 where it
    is hidden: (C + 1, H, W) of an input (C, H, W), whose pixels have all channels in common, and so for any (C, ...).
    Of an input (d,) it sees (2 d,): first the numbers, then as many marks.

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
    usage: ClassVar[str] = "ablation=K"
    summary: ClassVar[str] = (
        "K pixels of x, drawn at random, all others hidden: L0, how many pixels may change."
    )
    tight: ClassVar[bool] = True
    scale = 1.0  # a pixel

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("d", self.k if self.d is None else self.d)):
            if (
                isinstance(value, bool)
                or not isinstance(value, int | np.integer)
                or value < 1
            ):
                raise BadValue(
                    field=name,
                    value=value,
                    expected="must be a number of pixels, 1 or more; k is usually d / 20 or so",
                )
        if self.d is not None and self.k > self.d:
            raise BadValue(
                field="k",
                value=self.k,
                expected=f"pixels cannot be kept of d={self.d}: keep fewer, usually d / 20 or so",
            )

    @property
    def ready(self) -> bool:
        return self.d is not None

    @classmethod
    def parse(cls, value: str) -> Noise:
        found = number(value)
        return cls(int(found) if found.is_integer() else found)  # type: ignore[arg-type]

    def of(self, shape: Sequence[int]) -> Ablation:
        check_shape(shape)
        d = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
        if self.d not in (None, d):
            raise BadValue(
                f"ablation of d={self.d} pixels got an input of shape {tuple(shape)}, which has {d}"
            )
        return replace(self, d=int(d))

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (shape[0] + 1, *shape[1:]) if len(shape) > 1 else (2 * shape[0],)

    def clear(self, x: Tensor) -> Tensor:
        import torch

        return torch.cat([x, torch.ones_like(x[:, :1] if x.dim() > 2 else x)], dim=1)

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """As `Noise.draw`: seen are the pixels with the k smallest of d random numbers, which have 53 bits.

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

        # Chosen, not multiplied: -1 * 0 is -0.0, and infinity * 0 is NaN, which would tell what is hidden.
        numbers = x.reshape(-1, d).to(out.dtype) + 0.0  # which makes -0.0 0.0
        torch.where(marks > 0.0, numbers, numbers.new_zeros(()), out=channels[:, :-1])

    def offsets(self, x: Tensor, m: int, stream: Stream) -> Tensor:
        d, whole = self.of(x.shape[1:]).known_pixels(), self.clear(x)
        marks = x.new_empty(m * len(x), d)
        self._mark(marks, stream)
        hidden = marks.view(m, len(x), 1, d) - 1.0
        return (whole.reshape(len(x), -1, d) * hidden).view(m, *whole.shape)

    def _mark(self, marks: Tensor, stream: Stream) -> None:
        """Set each row of `marks` (n, d) to 1 at k places and to 0 elsewhere."""
        import torch

        keys = torch.empty(marks.shape, dtype=torch.float64, device=marks.device)
        fill(keys, stream, "uniform")
        marks.zero_().scatter_(
            1, keys.topk(self.k, dim=1, largest=False, sorted=False).indices, 1.0
        )

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """The largest whole R with 1 - q - D > q_next + D, D being the share of copies that see one of R pixels.

        Source: Levine & Feizi 2020, theorem 1, and corollary 1 for a bound on the next class.

        Raises:
            Problem: d is not known yet.
        """
        tails = _tails(self.k, self.known_pixels())
        mean = both(q, q_next) / 2.0
        found = np.maximum(0.0, np.searchsorted(-tails, -mean, side="right") - 1.0)
        return np.asarray(np.where(np.isnan(mean), 0.0, found))

    def tail(self, radius: ArrayLike) -> Floats:
        """q = 1/2 - D; D is rounded up, and so is a radius that is not whole."""
        tails = np.append(_tails(self.k, self.known_pixels()), 0.0)
        pixels = np.fmin(np.ceil(np.asarray(radius, np.float64)), len(tails) - 1.0)
        return np.asarray(tails[pixels.astype(np.int64)])

    def known_pixels(self) -> int:
        if self.d is None:
            raise BadValue(
                f"{self.text} proves a radius once inputs are known: noise.of(shape) counts their pixels"
            )
        return self.d


@lru_cache(maxsize=64)
def _tails(k: int, d: int) -> Floats:
    """1/2 - D for each R from 0 on, descending, while that is above 0; a little less for R > 0.

    D = 1 - C(d - R, k) / C(d, k), and C(d - R, k) / C(d, k) is the product of 1 - k / (d - i) for i below R.
    """
    seen = k / (
        d - np.arange(max(0, d - k), dtype=np.float64)
    )  # that the next pixel is, if none before it was
    log_unseen = np.cumsum(
        np.log1p(-seen[: np.searchsorted(np.cumsum(seen), 1.0) + 1])
    )  # below e^-1 they do not count
    rounding = (
        np.arange(len(log_unseen)) + 8.0
    ) * 2.0**-51  # of a sum of so many terms
    tails = 0.5 + np.expm1(log_unseen * (1.0 + rounding)) - MARGIN
    found = np.concatenate(([0.5], tails[tails > 0.0]))
    found.flags.writeable = False  # it is kept
    return found
