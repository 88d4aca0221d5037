"""A noise: the sum of two uniform numbers for each coordinate, which certifies in L1."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from randsmooth.noise import Stream, Uniform


@dataclass(frozen=True)
class Triangular(Uniform):
    """x + U[-lam, lam]^d + U[-lam, lam]^d: what only sees the sum is no worse off than under one of the two.

    So the radius of uniform noise holds, though a larger one would.
    """

    name: ClassVar[str] = "triangular"
    usage: ClassVar[str] = "triangular=LAM"
    summary: ClassVar[str] = (
        "x + the sum of two numbers that are uniform in [-LAM, LAM] for each coordinate: L1."
    )
    tight: ClassVar[bool] = False

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        more = out.new_empty(out.shape)
        super().draw(
            more,
            x.new_zeros(x.shape),
            Stream(stream.seed, f"{stream.name}/more", stream.position),
        )
        super().draw(out, x, stream)
        out.add_(more)
