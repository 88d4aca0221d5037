"""Balls of all norms of certificates: how long a change is, where a loss climbs most, which change of that fits."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from randsmooth.attacks.shared import unit, within_ball
from randsmooth.errors import check_known

SPARSE = 100  # numbers of which one takes part in a step of the L1 norm
Box = tuple[
    Tensor, Tensor
]  # the least and the most that each number may change by, both (B, ...) or (1, ...)
FAR = 100.0  # how far a pixel of a few is moved at a time: farther than all others together reach


class Ball:
    """Changes of inputs up to a length in some norm; rows v are (B, ...), and so are gradients.

    It is the L2 norm of v / std, with std = 1 the L2 norm itself. Balls of other norms derive from this one.

    Example:
        >>> ball, v = ball_of("l1"), torch.tensor([[3.0, -1.0]])
        >>> ball.length(v[0]), ball.within(v, 2.0).tolist(), ball.step(v, 2.0).tolist()
        (4.0, [[2.0, -0.0]], [[2.0, 0.0]])
    """

    def __init__(self, std: Tensor | None = None) -> None:
        self.std = torch.ones(()) if std is None else std

    def length(self, v: Tensor) -> float:
        """The norm of one change (...), computed in float64."""
        return float((v.double() / self.std.double().to(v.device)).norm())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        """Changes of length `eps` that climb a loss with this gradient steeply; none where it is 0."""
        std = self.std.to(gradient)
        return eps * std * unit(gradient * std)

    def within(self, v: Tensor, eps: float) -> Tensor:
        """Changes `v` brought to length `eps` where they are longer."""
        std = self.std.to(v)
        return within_ball(v / std, eps) * std

    def moved(
        self,
        v: Tensor,
        gradient: Tensor,
        eps: float,
        share: float,
        box: Box | None = None,
    ) -> Tensor:
        """Changes `v` after a step of a `share` of `eps` up the gradient, within the ball and, if any, the box."""
        moved = self.within(v + self.step(gradient, share * eps), eps)
        return moved if box is None else moved.clamp(*box)

    def start(self, random: Tensor, eps: float) -> Tensor:
        """Changes to begin a search from, other than none."""
        return self.step(random, eps)

    def reach(self, eps: float) -> float:
        """A length above that of all changes up to `eps`, and below that of any others, where few lengths occur."""
        return eps

    def keeping(self, x: Tensor, others: Tensor) -> Tensor:
        """Inputs `others` (P, ...), with what may not change at all as it is in `x` (...)."""
        return others

    def along(self, v: Tensor, eps: float) -> Tensor:
        """Changes in the direction of `v`, of length `eps`; zeros stay as they are."""
        lengths = torch.tensor(
            [self.length(row) for row in v], dtype=torch.float64
        ).clamp_min(1e-30)
        return v * (eps / lengths).to(v).view(-1, *[1] * (v.dim() - 1))


class Sum(Ball):
    """The L1 norm: a step is shared by the numbers of the largest gradient, one of a hundred (Tramèr & Boneh 2019)."""

    def length(self, v: Tensor) -> float:
        return float(v.double().abs().sum())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        rows = gradient.flatten(1)
        largest = rows.abs().topk(-(-rows.shape[1] // SPARSE), dim=1)
        steps = torch.zeros_like(rows).scatter(
            1, largest.indices, rows.gather(1, largest.indices).sign()
        )
        return (eps * steps / largest.values.shape[1]).view_as(gradient)

    def moved(
        self,
        v: Tensor,
        gradient: Tensor,
        eps: float,
        share: float,
        box: Box | None = None,
    ) -> Tensor:
        """As of `Ball`; in a box the numbers of the largest gradient move as far as it allows, one after the other.

        What is then too much for the ball is taken back where that costs least.
        """
        if box is None:
            return super().moved(v, gradient, eps, share)
        least, most = box
        room = torch.where(gradient > 0.0, most - v, v - least)
        added = _taken(room.clamp_min(0.0), gradient.abs(), share * eps)
        moved = v + gradient.sign() * added

        sizes = moved.abs()
        too_much = (sizes.flatten(1).sum(dim=1, keepdim=True) - eps).clamp_min(0.0)
        worth = moved.sign() * gradient
        return moved - moved.sign() * _taken(sizes, -worth, too_much)

    def within(self, v: Tensor, eps: float) -> Tensor:
        """The nearest point of the ball: all numbers shrunk alike. Source: Duchi et al. 2008, figure 1."""
        sizes = v.flatten(1).abs()
        ordered = sizes.sort(dim=1, descending=True).values
        shrunk = (ordered.cumsum(dim=1) - eps) / torch.arange(
            1, sizes.shape[1] + 1, device=v.device
        )
        last = (ordered > shrunk).sum(dim=1, keepdim=True).clamp_min(1) - 1
        kept = (sizes - shrunk.gather(1, last).clamp_min(0.0)).clamp_min(0.0)
        return v.sign() * kept.view_as(v)


class Largest(Ball):
    """The L-infinity norm."""

    def length(self, v: Tensor) -> float:
        return float(v.double().abs().max())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        return eps * gradient.sign()

    def within(self, v: Tensor, eps: float) -> Tensor:
        return v.clamp(-eps, eps)


class Pixels(Ball):
    """How many pixels change, all channels of (C, ...) together, of (d,) each number: by as much as one likes (L0)."""

    def length(self, v: Tensor) -> float:
        return float(_pixels(v[None]).ne(0.0).sum())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        return FAR * self._of_largest(gradient, max(1, math.floor(eps))).sign()

    def within(self, v: Tensor, eps: float) -> Tensor:
        return self._of_largest(v, math.floor(eps))

    def moved(
        self,
        v: Tensor,
        gradient: Tensor,
        eps: float,
        share: float,
        box: Box | None = None,
    ) -> Tensor:
        """One pixel after another is changed, those first whose gradient is largest; none is changed back."""
        same = _pixels(v).eq(0.0)
        left = math.floor(eps) - int((~same).sum(dim=1).max())
        steps = max(1, math.ceil(share * eps))
        moved = (
            v + self.step(_apart(gradient, same), min(steps, left)) if left > 0 else v
        )
        return moved if box is None else moved.clamp(*box)

    def start(self, random: Tensor, eps: float) -> Tensor:
        """Half of the pixels, so that a search has others to choose."""
        return self.step(random, eps / 2.0)

    def reach(self, eps: float) -> float:
        return math.floor(eps) + 0.5

    def along(self, v: Tensor, eps: float) -> Tensor:
        return self.step(v, eps)

    def _of_largest(self, v: Tensor, number: int) -> Tensor:
        """Zero all pixels but `number` of the largest ones."""
        sizes = _pixels(v)
        largest = sizes.topk(min(number, sizes.shape[1]), dim=1).indices
        return _apart(v, torch.zeros_like(sizes).scatter(1, largest, 1.0))


def _taken(room: Tensor, order: Tensor, amount: float | Tensor) -> Tensor:
    """How much of each `room` (B, ...) is taken for `amount` in all, a number or (B, 1): the highest `order` first."""
    rooms = room.flatten(1)
    ordered = order.flatten(1).argsort(dim=1, descending=True)
    sizes = rooms.gather(1, ordered)
    left = amount - (sizes.cumsum(dim=1) - sizes)
    taken = torch.minimum(left.clamp_min(0.0), sizes)
    return torch.zeros_like(rooms).scatter(1, ordered, taken).view_as(room)


class Holding(Ball):
    """Changes of rows (..., d) in which some numbers stay; the length of the others is that of another ball.

    Args:
        ball: of the numbers that may change.
        held: positions of those that stay.

    Example:
        >>> ball = Holding(ball_of("l2"), [1])
        >>> ball.length(torch.tensor([3.0, 0.0, 4.0])), ball.length(torch.tensor([3.0, 1.0, 4.0]))
        (5.0, inf)
    """

    def __init__(self, ball: Ball, held: Sequence[int]) -> None:
        super().__init__()
        self.ball, self.held = ball, list(held)

    def length(self, v: Tensor) -> float:
        """That of the change; infinite where a number changes that is to stay."""
        return (
            math.inf
            if bool(v[..., self.held].ne(0.0).any())
            else self.ball.length(self._free(v))
        )

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        return self._whole(self.ball.step(self._free(gradient), eps), gradient)

    def within(self, v: Tensor, eps: float) -> Tensor:
        return self._whole(self.ball.within(self._free(v), eps), v)

    def moved(
        self,
        v: Tensor,
        gradient: Tensor,
        eps: float,
        share: float,
        box: Box | None = None,
    ) -> Tensor:
        inside = None if box is None else (self._free(box[0]), self._free(box[1]))
        return self._whole(
            self.ball.moved(self._free(v), self._free(gradient), eps, share, inside), v
        )

    def start(self, random: Tensor, eps: float) -> Tensor:
        return self._whole(self.ball.start(self._free(random), eps), random)

    def reach(self, eps: float) -> float:
        return self.ball.reach(eps)

    def along(self, v: Tensor, eps: float) -> Tensor:
        return self._whole(self.ball.along(self._free(v), eps), v)

    def keeping(self, x: Tensor, others: Tensor) -> Tensor:
        kept = others.clone()
        kept[..., self.held] = x[..., self.held]
        return kept

    def _places(self, v: Tensor) -> list[int]:
        return [place for place in range(v.shape[-1]) if place not in self.held]

    def _free(self, v: Tensor) -> Tensor:
        return v[..., self._places(v)]

    def _whole(self, part: Tensor, v: Tensor) -> Tensor:
        """`part` among zeros, in the shape of `v` (..., d)."""
        out = torch.zeros_like(v)
        out[..., self._places(v)] = part
        return out


def _apart(v: Tensor, kept: Tensor) -> Tensor:
    """`v` where the pixels `kept` (B, d) are 1 or true, and zeros elsewhere."""
    return v * (kept.view(len(v), 1, *v.shape[2:]) if v.dim() > 2 else kept)


def _pixels(v: Tensor) -> Tensor:
    """(B, d) the size of the change of each pixel of `v` (B, C, ...) or (B, d)."""
    return v.abs().sum(dim=1).flatten(1) if v.dim() > 2 else v.abs()


def ball_of(norm: str, std: Tensor | None = None) -> Ball:
    """The balls of a norm, one of `noise.NORMS`; `std`, that broadcasts to an input, is the unit of each coordinate.

    It is for the norms "ellipsoid" and "deviations".

    Raises:
        Problem: it is another norm.

    Example:
        >>> ball_of("ellipsoid", torch.tensor([1.0, 10.0])).length(torch.tensor([3.0, 40.0]))
        5.0
    """
    balls = {"l2": Ball, "l1": Sum, "linf": Largest, "l0": Pixels}
    if norm in ("ellipsoid", "deviations") and std is not None:
        return Ball(std)
    check_known("norm", balls, norm)
    return balls[norm]()
