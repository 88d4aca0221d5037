"""Search an L2 ball for the point where the smoothed classifier gives a class the least probability."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from randsmooth.attacks import noisy_logits, within_ball
from randsmooth.attacks.shared import mean_cross_entropy, odds_against, unit
from randsmooth.certification.backends import frozen
from randsmooth.certification.engine import Engine
from randsmooth.errors import InputError
from randsmooth.noise import Stream, address_of, draw

START, SEARCH, CHOOSE = "attack/start", "attack/search", "attack/choose"
CLIMB, EDGE, NORMAL = "attack/climb", "attack/edge", "attack/normal"
MOMENTUM = 0.9  # of the estimated gradients: each alone is mostly noise
HALVINGS = 7  # of the segment on which the edge between two classes is looked for: 1% of its length
BEYOND = (1.0, 2.0, 4.0)  # how far along a direction the other class is looked for
LARGEST_ODDS = 1e4  # infinite ones would hide all others

# Rounding to float32 may move a point out of its ball, by about 1e-7 of the norm of its pixels. The point is then drawn
# back by the smallest of these fractions that suffices. MARGIN, by which the ball itself is made smaller, is more than
# the rounding error of a norm in float64.
SLACKS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
MARGIN = 1e-10

Noise = Callable[[int, tuple[int, ...]], Tensor]  # (number of a block, its shape) -> noise


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


@dataclass(frozen=True, kw_only=True)
class GradientFreeSearch:
    """Two searches, the worst of whose end points is returned: up the estimated gradient, and along the class's edge.

    By Stein's lemma E[l(x + noise) noise] / sigma^2 is the gradient of the smoothed l, whatever l is. The first search
    climbs it within the ball, for l = the odds against the class, or its error where the model gives labels alone; the
    steps have length 2 eps / T and momentum. Where p_A is near 1, hardly a sample errs, and such an estimate is noise.
    So the second search goes to images of other classes first, finds the point between where the smoothed class
    changes, estimates the normal of that edge there, where errors are most frequent, and moves along it to where the
    edge is nearer; both the nearest point and the normal give a direction in the ball.

    Noise comes in pairs that are opposite, so that a constant part of l cancels out.

    Args:
        engine: what answers, as it does in certification.
        steps, m, restarts: T, samples per estimate, and how many starts each of the searches has.
        seed: of the noise, which PREDICT does not use.
        elsewhere, classes: (P, C, H, W) images to walk from, and (P,) their classes.

    Source: Salman et al. 2019, appendix B (the estimate, there with softmax); Chen, Jordan & Wainwright 2020
        (HopSkipJumpAttack, algorithm 2: the walk along the edge of a classifier that gives labels alone).
    """

    engine: Engine
    steps: int
    m: int
    restarts: int
    seed: int
    elsewhere: Tensor
    classes: Tensor

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        """A point (C, H, W) on the CPU with ||point - x|| < eps, for x (C, H, W) in float32 and its class y."""
        image, address = x.to(self.engine.device), address_of(x)
        self.engine.prepare(x.shape)
        ends = [self._climb(image, start, y, eps, address, i) for i, start in self._starts(image, eps, address)]
        walked = [end for i, far in self._others(image, y) for end in self._walk(image, far, y, eps, address, i)]
        return inside(self._worst([*ends, *walked], y, address).cpu(), x.cpu(), eps)

    def _starts(self, image: Tensor, eps: float, address: int) -> Iterator[tuple[int, Tensor]]:
        """The image, and points drawn uniformly from the sphere around it."""
        yield 0, image
        for i in range(1, self.restarts):
            yield i, image + eps * _unit(self._noise(START, address, i)(0, tuple(image.shape)))

    def _climb(self, image: Tensor, start: Tensor, y: int, eps: float, address: int, restart: int) -> Tensor:
        at, heading = start, torch.zeros_like(start)
        for step in range(self.steps):
            heading = MOMENTUM * heading + _unit(self._gradient(at, y, address, CLIMB, restart, step))
            at = at + 2.0 * eps / self.steps * _unit(heading)
            at = image + within_ball((at - image)[None], eps)[0]
        return at

    def _others(self, image: Tensor, y: int) -> Iterator[tuple[int, Tensor]]:
        """The images of other classes that are nearest to `image`, one for each start."""
        others = self.elsewhere[self.classes != y].to(image)
        nearest = (others - image).flatten(1).norm(dim=1).argsort()[: self.restarts]
        yield from enumerate(others[nearest])

    def _walk(self, image: Tensor, far: Tensor, y: int, eps: float, address: int, restart: int) -> Iterator[Tensor]:
        """The points of the ball in the direction of the nearest edge found, and along its normal."""
        direction, normal = far - image, torch.zeros_like(image)
        for step in range(max(1, self.steps // 2)):
            edge = self._edge(image, direction, y, address, restart, step)
            if edge is None:
                break
            normal = 0.5 * normal + _unit(self._gradient(edge, y, address, NORMAL, restart, step, labels=True))
            length = float((edge - image).norm())
            direction = edge - image + length / (step + 1) ** 0.5 * _unit(normal)
            yield image + eps * _unit(edge - image)
        if normal.any():
            yield image + eps * _unit(normal)

    def _edge(self, image: Tensor, direction: Tensor, y: int, address: int, restart: int, step: int) -> Tensor | None:
        """The first point along `direction` that is found to be of another class; None if there is none."""
        lost = partial(self._lost, y=y, noise=self._noise(EDGE, address, restart, step))
        far = next((beyond for beyond in BEYOND if lost(image + beyond * direction)), None)
        if far is None:
            return None
        near = 0.0
        for _ in range(HALVINGS):
            middle = (near + far) / 2.0
            near, far = (near, middle) if lost(image + middle * direction) else (middle, far)
        return image + far * direction

    def _lost(self, point: Tensor, y: int, noise: Noise) -> bool:
        """Whether y is not the most frequent answer to m noisy copies of the point."""
        counts = torch.zeros(self.engine.classes, dtype=torch.int64)
        for drawn in self._pairs(noise, point.shape):
            counts += torch.bincount(self.engine.ask(point + drawn).argmax(dim=1).cpu(), minlength=len(counts))
        return int(counts.argmax()) != y

    def _gradient(self, at: Tensor, y: int, address: int, name: str, *number: int, labels: bool = False) -> Tensor:
        """The direction (C, H, W) in which the smoothed odds against y grow or, with `labels`, the smoothed error."""
        total = torch.zeros_like(at)
        for drawn in self._pairs(self._noise(name, address, *number), at.shape):
            logits = self.engine.ask(at + drawn)
            loss = (logits.argmax(dim=1) != y).float() if labels else _odds(logits, y)
            total += torch.tensordot(loss.to(drawn), drawn, dims=1)
        return total

    def _worst(self, points: list[Tensor], y: int, address: int) -> Tensor:
        """The point where y is least frequent among 4 m answers; of equally good ones that with the largest odds."""
        scores = []
        for point in points:
            error = odds = 0.0
            for part in range(4):
                for drawn in self._pairs(self._noise(CHOOSE, address, part), point.shape):
                    logits = self.engine.ask(point + drawn)
                    error += float((logits.argmax(dim=1) != y).sum())
                    odds += float(_odds(logits, y).sum())
            scores.append((error, odds))
        return points[max(range(len(points)), key=scores.__getitem__)]

    def _pairs(self, noise: Noise, shape: torch.Size) -> Iterator[Tensor]:
        """Noise (n, C, H, W), of at least m samples in all; the second half of each batch is minus the first."""
        half = max(1, self.engine.size // 2)
        for block, first in enumerate(range(0, -(-self.m // 2), half)):
            drawn = noise(block, (min(half, -(-self.m // 2) - first), *shape))
            yield torch.cat([drawn, -drawn])

    def _noise(self, name: str, *number: int) -> Noise:
        """Blocks of noise that are drawn alike whenever they are asked for."""

        def blocks(block: int, shape: tuple[int, ...]) -> Tensor:
            stream = Stream(self.seed, name).at(*number, block)
            return draw(shape, self.engine.sigma, stream=stream, device=self.engine.device)

        return blocks


def _unit(v: Tensor) -> Tensor:
    """`v` (C, H, W) scaled to length 1; zeros stay as they are."""
    return unit(v[None])[0]


def _odds(logits: Tensor, y: int) -> Tensor:
    """(n,) the log of the odds against y; those of a model that gives labels alone have two values."""
    odds = odds_against(logits, torch.tensor(y, device=logits.device))
    return odds.nan_to_num(posinf=LARGEST_ODDS, neginf=-LARGEST_ODDS).clamp(-LARGEST_ODDS, LARGEST_ODDS)


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
