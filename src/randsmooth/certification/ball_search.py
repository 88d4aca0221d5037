"""Search an L2 ball for the point where the smoothed classifier gives a class the least probability."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from randsmooth.attacks import noisy_logits, within_ball
from randsmooth.attacks.geometry import unit
from randsmooth.attacks.losses import mean_cross_entropy
from randsmooth.certification.backends import frozen
from randsmooth.errors import InputError
from randsmooth.noise import Stream, address_of, draw

SEARCH, CHOOSE, START = "attack/search", "attack/choose", "attack/start"

# Rounding to float32 may move a point out of its ball, by about 1e-7 of the norm of its pixels. The point is then drawn
# back by the smallest of these fractions that suffices. MARGIN, by which the ball itself is made smaller, is more than
# the rounding error of a norm in float64.
SLACKS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
MARGIN = 1e-10


@dataclass(frozen=True, kw_only=True)
class Search:
    """Gradient ascent on -log E[p_y(x + noise)] within an L2 ball, with m new noise samples at each step.

    New noise at each step makes this stochastic ascent on the smoothed classifier itself; with m fixed samples it would
    partly exploit these samples. A step has length 2 eps / T. The first start is the image, the others lie on the
    sphere around it. The end points are compared on further noise, and the worst one is returned, so that PREDICT
    tests one point per image. Pixels are not clamped: a certificate also holds outside [0, 1].

    Args:
        model: gives logits, as `differentiable_copy` prepares it.
        sigma: standard deviation of the noise.
        steps, m, restarts: T, noise samples per step, and starts.
        device, seed: where the model computes, and the seed of the noise.

    Source: Salman et al. 2019, section 3.1 (the objective; their noises are drawn once).
    """

    model: nn.Module
    sigma: float
    steps: int
    m: int
    restarts: int
    device: torch.device
    seed: int

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        """A point (C, H, W) on the CPU with ||point - x|| < eps, for x (C, H, W) in float32 and its class y.

        The noise is addressed by x and the seed. Raises InputError for a model without a usable gradient.
        """
        image, address = x.to(self.device), address_of(x)
        around = image.expand(self.restarts, *x.shape)
        classes = torch.full((self.restarts,), y, device=self.device)
        at = self._starts(address, image, eps)
        for step in range(self.steps):
            noise = self._noise(SEARCH, address, step, (self.m, *around.shape))
            at = at + 2.0 * eps / self.steps * unit(self._gradient(at, classes, noise))
            at = around + within_ball(at - around, eps)
        return inside(self._worst(address, at, classes).cpu(), x.cpu(), eps)

    def _starts(self, address: int, image: Tensor, eps: float) -> Tensor:
        """(R, C, H, W): the image, and R - 1 points drawn uniformly from the sphere around it."""
        others = self._noise(START, address, 0, (self.restarts - 1, *image.shape))
        return torch.cat([image[None], image + eps * unit(others)]) if len(others) else image[None]

    def _gradient(self, at: Tensor, classes: Tensor, noise: Tensor) -> Tensor:
        with torch.enable_grad():
            at = at.detach().requires_grad_()
            logits = noisy_logits(self.model, at, noise)
            (gradient,) = torch.autograd.grad(mean_cross_entropy(logits, classes).sum(), at)
        if not bool(gradient.isfinite().all()):
            raise InputError("the model's gradient with respect to the image is NaN or infinite: check the weights")
        return gradient

    @torch.no_grad()
    def _worst(self, address: int, points: Tensor, classes: Tensor) -> Tensor:
        """Of the points (R, C, H, W) the one where the class is least probable, compared under the same noise."""
        noise = self._noise(CHOOSE, address, 0, (self.m, 1, *points.shape[1:])).expand(-1, len(points), -1, -1, -1)
        losses = mean_cross_entropy(noisy_logits(self.model, points, noise), classes)
        return points[losses.argmax()]

    def _noise(self, name: str, address: int, step: int, shape: tuple[int, ...]) -> Tensor:
        return draw(shape, self.sigma, stream=Stream(self.seed, name).at(address, step), device=self.device)


def inside(point: Tensor, x: Tensor, eps: float) -> Tensor:
    """`point`, moved towards `x` just far enough that its distance, computed in float64, is below eps.

    Args:
        point, x: float32 tensors of one shape, which the returned one has too.
        eps: above 0.
    """
    v = point.double() - x.double()
    length = float(v.norm())
    fitting = 1.0 if length <= eps else eps / length
    for slack in SLACKS:
        near = (x.double() + fitting * (1.0 - slack) * v).float()
        if distance(near, x) < eps * (1.0 - MARGIN):
            return near
    return x  # no other float32 point that was tried lies in so small a ball


def distance(point: Tensor, x: Tensor) -> float:
    """||point - x|| of two float32 tensors, computed in float64."""
    return float((point.double() - x.double()).norm())


def differentiable_copy(model: nn.Module, device: torch.device) -> nn.Module:
    """A float32 copy of the model on `device`, with gradients for its input but not for its parameters."""
    return frozen(copy.deepcopy(model).to(device, torch.float32))


def check_search(*, scale: float, steps: int, m: int, restarts: int) -> None:
    """Raise InputError unless `scale` is finite and above 0, and each of the others is at least 1."""
    if not 0.0 < scale < math.inf:
        raise InputError(f"scale={scale} must be a finite number above 0; 1 searches the certified ball")
    for name, count in (("steps", steps), ("m", m), ("restarts", restarts)):
        if count < 1:
            raise InputError(f"{name}={count} must be at least 1")
