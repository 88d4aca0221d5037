"""Balls of all norms of certificates: how long a change is, where a loss climbs most, and
which change of that fits into the ball.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from randsmooth.attacks.shared import unit, within_ball
from randsmooth.errors import check_known

# Of so many numbers, one takes part in a step of the L1 norm.
NUMBERS_FOR_ONE_IN_A_STEP = 100

# How far a pixel of a few is moved at a time: farther than all others together reach.
PIXEL_STEP = 100.0

# A length above 0 that no change is shorter than, but one without a direction.
SHORTEST = 1e-30

Box = tuple[Tensor, Tensor]
"""The least and the most that each number may change by, both (B, ...) or (1, ...)."""


class Ball:
    """Changes of inputs up to a length in some norm; rows v are (B, ...), and so are gradients.

    It is the L2 norm of v / std, with std = 1 the L2 norm itself. Balls of other norms
    derive from this one.

    Example:
        >>> ball, v = ball_of("l1"), torch.tensor([[3.0, -1.0]])
        >>> ball.length(v[0]), ball.within(v, 2.0).tolist(), ball.step(v, 2.0).tolist()
        (4.0, [[2.0, -0.0]], [[2.0, 0.0]])
    """

    def __init__(self, std: Tensor | None = None) -> None:
        self.std = torch.ones(()) if std is None else std

    def length(self, v: Tensor) -> float:
        """Return the norm of one change (...), computed in float64."""
        std = self.std.double().to(v.device)
        return float((v.double() / std).norm())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        """Return changes of length `eps` that climb a loss with this gradient steeply.

        There is no change where the gradient is 0.
        """
        std = self.std.to(gradient)
        return eps * std * unit(gradient * std)

    def within(self, v: Tensor, eps: float) -> Tensor:
        """Return the changes `v`, brought to length `eps` where they are longer."""
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
        """Return the changes `v` after a step of a `share` of `eps` up the gradient.

        They stay within the ball and, if there is one, the box.
        """
        moved = self.within(v + self.step(gradient, share * eps), eps)
        return moved if box is None else moved.clamp(*box)

    def start(self, random: Tensor, eps: float) -> Tensor:
        """Return changes to begin a search from, other than none."""
        return self.step(random, eps)

    def reach(self, eps: float) -> float:
        """Return a length above that of all changes up to `eps`.

        Where few lengths occur, it is below that of any others.
        """
        return eps

    def keeping(self, x: Tensor, others: Tensor) -> Tensor:
        """Return inputs `others` (P, ...), with what may not change as it is in `x` (...)."""
        return others

    def along(self, v: Tensor, eps: float) -> Tensor:
        """Return changes in the direction of `v`, of length `eps`; zeros stay zeros."""
        lengths = torch.tensor([self.length(row) for row in v], dtype=torch.float64)
        factors = (eps / lengths.clamp_min(SHORTEST)).to(v)
        return v * factors.view(-1, *[1] * (v.dim() - 1))


class L1Ball(Ball):
    """The L1 norm: a step is shared by the numbers of the largest gradient, one of a hundred.

    Source: Tramèr & Boneh 2019.
    """

    def length(self, v: Tensor) -> float:
        return float(v.double().abs().sum())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        rows = gradient.flatten(1)
        number = math.ceil(rows.shape[1] / NUMBERS_FOR_ONE_IN_A_STEP)
        largest = rows.abs().topk(number, dim=1).indices
        signs = rows.gather(1, largest).sign()
        steps = torch.zeros_like(rows).scatter(1, largest, signs)
        return (eps * steps / number).view_as(gradient)

    def moved(
        self,
        v: Tensor,
        gradient: Tensor,
        eps: float,
        share: float,
        box: Box | None = None,
    ) -> Tensor:
        """Return the changes after a step, as `Ball` does.

        In a box the numbers of the largest gradient move as far as it allows, one after
        the other. What is then too much for the ball is taken back where that costs
        least.
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
        """Return the nearest points of the ball: all numbers are shrunk alike.

        Source: Duchi et al. 2008, figure 1, with its letters mu, rho and theta.
        """
        sizes = v.flatten(1).abs()
        mu = sizes.sort(dim=1, descending=True).values
        j = torch.arange(1, sizes.shape[1] + 1, device=v.device)
        # By how much all are shrunk if the j largest numbers are the ones that remain.
        theta_of_j = (mu.cumsum(dim=1) - eps) / j
        rho = (mu > theta_of_j).sum(dim=1, keepdim=True).clamp_min(1)
        theta = theta_of_j.gather(1, rho - 1).clamp_min(0.0)
        kept = (sizes - theta).clamp_min(0.0)
        return v.sign() * kept.view_as(v)


class LInfBall(Ball):
    """The L-infinity norm."""

    def length(self, v: Tensor) -> float:
        return float(v.double().abs().max())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        return eps * gradient.sign()

    def within(self, v: Tensor, eps: float) -> Tensor:
        return v.clamp(-eps, eps)


class L0Ball(Ball):
    """The L0 norm: how many pixels change, by as much as one likes.

    All channels of (C, ...) change together, and of (d,) each number alone.
    """

    def length(self, v: Tensor) -> float:
        return float(_pixel_sizes(v[None]).ne(0.0).sum())

    def step(self, gradient: Tensor, eps: float) -> Tensor:
        number = max(1, math.floor(eps))
        return PIXEL_STEP * self._of_largest(gradient, number).sign()

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
        """Return the changes after one pixel more, or several, is changed.

        Those come first whose gradient is largest; none is changed back.
        """
        unchanged = _pixel_sizes(v).eq(0.0)
        most_changed = int((~unchanged).sum(dim=1).max())
        left = math.floor(eps) - most_changed
        moved = v
        if left > 0:
            number = max(1, math.ceil(share * eps))
            moved = v + self.step(_at_pixels(gradient, unchanged), min(number, left))
        return moved if box is None else moved.clamp(*box)

    def start(self, random: Tensor, eps: float) -> Tensor:
        """Return changes of half of the pixels, so that a search has others to choose."""
        return self.step(random, eps / 2.0)

    def reach(self, eps: float) -> float:
        return math.floor(eps) + 0.5

    def along(self, v: Tensor, eps: float) -> Tensor:
        return self.step(v, eps)

    def _of_largest(self, v: Tensor, number: int) -> Tensor:
        """Return `v` with all pixels but `number` of the largest ones zeroed."""
        sizes = _pixel_sizes(v)
        largest = sizes.topk(min(number, sizes.shape[1]), dim=1).indices
        kept = torch.zeros_like(sizes).scatter(1, largest, 1.0)
        return _at_pixels(v, kept)


def _taken(room: Tensor, order: Tensor, amount: float | Tensor) -> Tensor:
    """Return how much of each room is taken for an amount in all.

    Args:
        room: (B, ...) how much there is of each.
        order: (B, ...) the highest are taken first.
        amount: of all together, a number or (B, 1).
    """
    rooms = room.flatten(1)
    places = order.flatten(1).argsort(dim=1, descending=True)
    rooms_in_order = rooms.gather(1, places)
    taken_before = rooms_in_order.cumsum(dim=1) - rooms_in_order
    left = (amount - taken_before).clamp_min(0.0)
    taken = torch.minimum(left, rooms_in_order)
    return torch.zeros_like(rooms).scatter(1, places, taken).view_as(room)


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
        self.ball = ball
        self.held = list(held)

    def length(self, v: Tensor) -> float:
        """Return the norm of a change; infinite where a number changes that is to stay."""
        if bool(v[..., self.held].ne(0.0).any()):
            return math.inf
        return self.ball.length(self._free(v))

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
        box_of_free = None
        if box is not None:
            least, most = box
            box_of_free = (self._free(least), self._free(most))
        moved = self.ball.moved(
            self._free(v), self._free(gradient), eps, share, box_of_free
        )
        return self._whole(moved, v)

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
        """Return the positions of the numbers that may change."""
        return [place for place in range(v.shape[-1]) if place not in self.held]

    def _free(self, v: Tensor) -> Tensor:
        return v[..., self._places(v)]

    def _whole(self, part: Tensor, v: Tensor) -> Tensor:
        """Return `part` among zeros, in the shape of `v` (..., d)."""
        out = torch.zeros_like(v)
        out[..., self._places(v)] = part
        return out


def _at_pixels(v: Tensor, kept: Tensor) -> Tensor:
    """Return `v` where the pixels `kept` (B, d) are 1 or true, and zeros elsewhere."""
    if v.dim() > 2:
        kept = kept.view(len(v), 1, *v.shape[2:])
    return v * kept


def _pixel_sizes(v: Tensor) -> Tensor:
    """Return (B, d) the size of the change of each pixel of `v` (B, C, ...) or (B, d)."""
    sizes = v.abs()
    if v.dim() > 2:
        return sizes.sum(dim=1).flatten(1)
    return sizes


def ball_of(norm: str, std: Tensor | None = None) -> Ball:
    """Return the balls of a norm.

    Args:
        norm: one of `noise.NORMS`.
        std: the unit of each coordinate, which broadcasts to an input, for the norms
            "ellipsoid" and "deviations".

    Raises:
        Problem: it is another norm.

    Example:
        >>> ball_of("ellipsoid", torch.tensor([1.0, 10.0])).length(torch.tensor([3.0, 40.0]))
        5.0
    """
    balls = {"l2": Ball, "l1": L1Ball, "linf": LInfBall, "l0": L0Ball}
    if norm in ("ellipsoid", "deviations") and std is not None:
        return Ball(std)
    check_known("norm", balls, norm)
    return balls[norm]()
