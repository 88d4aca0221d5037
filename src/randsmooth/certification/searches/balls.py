"""The ball that a certificate is about, and how a point is brought into it."""

import math

import torch
from torch import Tensor

from randsmooth.attacks import Ball, Holding, ball_of
from randsmooth.noise import NORMS, HoldingFixed, Noise

# Rounding to float32 may move a point out of its ball, by about 1e-7 of the norm of its
# pixels. The point is then drawn back by the smallest of these fractions that suffices.
SLACKS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

# The fraction by which the ball itself is made smaller: more than the rounding error of
# a norm in float64.
MARGIN = 1e-10

# In steps of 1/255: what rounding may take from a whole number of them.
STEP_ROUNDING = 1e-6


def ball_under(noise: Noise) -> Ball:
    """Return the balls in which a noise certifies, of all sizes.

    They are those of its norm, for inputs of the shape that the noise is for. Columns
    that the noise holds fixed do not change.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> ball_under(Gaussian(0.5)).length(torch.tensor([3.0, 4.0]))
        5.0
    """
    if isinstance(noise, HoldingFixed):
        return Holding(ball_under(noise.noise), noise.held)
    if NORMS[noise.norm].own_units:
        # Each coordinate of a change is divided by a unit of its own, such as the
        # standard deviation of its noise.
        units = torch.tensor(noise.unit, dtype=torch.float64)
        return ball_of(noise.norm, units)
    return ball_of(noise.norm)


def inside(point: Tensor, x: Tensor, eps: float, ball: Ball) -> Tensor:
    """Return `point`, moved towards `x` just far enough to lie within `eps` of it.

    The distance of the result, computed in float64, is below `eps`. In a norm whose
    distances are whole numbers it is at most `eps`.

    Args:
        point, x: float32 tensors of one shape, which the result has too.
        eps: the radius of the ball, above 0.
        ball: the ball, in whose norm distances are measured.

    Example:
        >>> inside(torch.tensor([3.0, 4.0]), torch.zeros(2), 1.0, ball_of("l2"))
        tensor([0.6000, 0.8000])
    """
    change = point.double() - x.double()
    reach = ball.reach(eps)
    length = ball.length(change)
    share = 1.0 if length <= reach else reach / length
    for slack in SLACKS:
        nearer = (x.double() + share * (1.0 - slack) * change).float()
        if ball.length(nearer.double() - x.double()) < reach * (1.0 - MARGIN):
            return nearer
    # No other float32 point that was tried lies in so small a ball.
    return x


def on_grid(point: Tensor, x: Tensor, eps: float, ball: Ball) -> Tensor:
    """Return a point of the grid k/255 near `point`, at most `eps` from `x` in L1.

    Numbers are moved by whole steps of 1/255 towards `point`. Those that lost most by
    that are moved by one step more, as far as the ball allows.

    Args:
        point: where the point should be, in any units of [0, 1].
        x: a point of the grid.
        eps: the radius of the ball, whose border belongs to it.
        ball: the ball in the L1 norm.

    Example:
        >>> x = torch.tensor([51.0, 102.0]) / 255
        >>> point = torch.tensor([53.6, 100.5]) / 255
        >>> (on_grid(point, x, 4 / 255, ball_of("l1")) * 255).round()
        tensor([ 54., 101.])
    """
    k = (255.0 * x.double()).round()
    change = point.double().clamp(0.0, 1.0) - k / 255.0
    change_in_steps = 255.0 * ball.within(change[None], eps)[0]
    direction = change_in_steps.sign()

    # Cut off to whole steps: this stays in the ball, and some steps may be left over.
    whole_steps = (change_in_steps + STEP_ROUNDING * direction).trunc()
    allowed = math.floor(255.0 * eps + STEP_ROUNDING)
    left = max(0, allowed - int(whole_steps.abs().sum()))

    lost = (change_in_steps - whole_steps).abs().flatten()
    may_move = int((lost > STEP_ROUNDING).sum())
    one_step_more = lost.topk(min(left, may_move)).indices
    whole_steps.view(-1)[one_step_more] += direction.flatten()[one_step_more]
    return ((k + whole_steps) / 255.0).float()
