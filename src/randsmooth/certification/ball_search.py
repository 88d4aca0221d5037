"""Search an L2 ball for the point where the smoothed classifier is least sure of a class."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.noise import Stream, address_of, draw, noisy_logits, within_ball
from randsmooth.noise.geometry import unit
from randsmooth.noise.losses import mean_cross_entropy

SEARCH, CHOOSE, START = "attack/search", "attack/choose", "attack/start"

# Float32 pixels round a point out of its ball by some 1e-7 of the pixels' norm; the least of these that brings it
# back is taken, and the ball is itself smaller by MARGIN, above what float64 loses on a norm.
SLACKS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
MARGIN = 1e-10


@dataclass(frozen=True, kw_only=True)
class Search:
    """Gradient ascent on -log E[p_y(x + noise)] within an L2 ball, the mean taken over m noises drawn anew each step.

    New noise each step makes it stochastic ascent on the smoothed classifier itself; on m noises that are kept, it
    would in part climb what those few samples alone do. A step is 2 eps / T long; the first start is the image, the
    others lie on the sphere. Of their ends the one that is worst on yet other noise is returned, so that PREDICT
    judges one point an image. Pixels are not clamped: a certificate holds outside [0, 1] too.

    Args:
        model: gives logits, as `climbable` prepares it.
        sigma: of the noise.
        steps, m, restarts: T, noises a step and starts.
        device, seed: of the noise and the model.

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
        """A point (C, H, W) on the CPU with ||point - x|| < eps, x (C, H, W) float32 and y its class.

        Its noise is addressed by x. Raises InputError for a model without a usable gradient.
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
            if not logits.requires_grad:
                raise InputError(
                    "the model's logits have no gradient by the image, so there is nothing to climb: a no_grad or a "
                    "detach in its forward pass?"
                )
            (gradient,) = torch.autograd.grad(mean_cross_entropy(logits, classes).sum(), at)
        if not bool(gradient.isfinite().all()):
            raise InputError("the model's gradient by the image is NaN or infinite: check the weights")
        return gradient

    @torch.no_grad()
    def _worst(self, address: int, points: Tensor, classes: Tensor) -> Tensor:
        """Of the points (R, C, H, W) the one where the class is least probable, all under the same noise."""
        noise = self._noise(CHOOSE, address, 0, (self.m, 1, *points.shape[1:])).expand(-1, len(points), -1, -1, -1)
        losses = mean_cross_entropy(noisy_logits(self.model, points, noise), classes)
        return points[losses.argmax()]

    def _noise(self, name: str, address: int, step: int, shape: tuple[int, ...]) -> Tensor:
        return draw(shape, self.sigma, stream=Stream(self.seed, name).at(address, step), device=self.device)


def inside(point: Tensor, x: Tensor, eps: float) -> Tensor:
    """`point`, drawn towards `x` as far as it takes that exact arithmetic finds it nearer than eps.

    Args:
        point, x: float32 of one shape, and so is what is returned.
        eps: above 0.
    """
    v = point.double() - x.double()
    fitting = min(1.0, eps / max(float(v.norm()), np.finfo(np.float64).tiny))
    for slack in SLACKS:
        near = (x.double() + fitting * (1.0 - slack) * v).float()
        if distance(near, x) < eps * (1.0 - MARGIN):
            return near
    return x  # the ball is too small for float32 pixels


def distance(point: Tensor, x: Tensor) -> float:
    """||point - x|| of float32 tensors, in float64."""
    return float((point.double() - x.double()).norm())


def climbable(model: nn.Module, device: torch.device) -> nn.Module:
    """A float32 copy of the model on `device`; its parameters take no gradient."""
    return copy.deepcopy(model).to(device, torch.float32).requires_grad_(False)


def check_search(*, scale: float, steps: int, m: int, restarts: int) -> None:
    """Raise InputError unless the search has a finite ball above 0, and at least 1 of each of the others."""
    if not 0.0 < scale < math.inf:
        raise InputError(f"scale={scale} must be a finite number above 0; 1 searches the certified ball")
    for name, count in (("steps", steps), ("m", m), ("restarts", restarts)):
        if count < 1:
            raise InputError(f"{name}={count} must be at least 1")
