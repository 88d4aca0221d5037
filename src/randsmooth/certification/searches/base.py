"""What all searches share: noisy copies of a point, and the points that count."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from randsmooth.attacks import Ball, Box
from randsmooth.certification.engine import Engine
from randsmooth.certification.searches.balls import ball_under, inside, on_grid
from randsmooth.noise import Noise, Stream

# What the noise of a search is drawn for. PREDICT, which tests the point that a search
# finds, draws from a stream of another name.
START = "attack/start"
CHOOSE = "attack/choose"


@dataclass(frozen=True, kw_only=True)
class BallSearch(ABC):
    """A search among the points of a ball that a certificate is about.

    The balls are those of the norm that the noise certifies in. Where all copies of an
    image are counted, only points of the grid k/255 count. The search then asks the
    very classifier that is certified, with all its copies, and `m` does not matter.

    Args:
        engine: the engine that gives the search its noise and its device.
        steps, m, restarts: the steps, noise samples per step and restarts of the
            search, see `attack`.
        seed: the seed of the noise.
        toward: the only class to look for; None: any class but that of the image.

    Attributes:
        gradient_free: whether the search uses the answers alone, without gradients.
    """

    gradient_free: ClassVar[bool]

    engine: Engine
    steps: int
    m: int
    restarts: int
    seed: int
    toward: int | None = None

    @abstractmethod
    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        """Return a point (C, H, W) on the CPU within `eps` of x.

        The search looks for a point of another class than `y`, or of the class
        `toward`, and returns the most likely one that it came to. Its noise depends on x
        and the seed alone.

        Args:
            x: the image (C, H, W) in float32.
            y: the class of the image.
            eps: the radius of the ball, above 0.

        Raises:
            Problem: the model's gradient is not finite.
        """

    @property
    def noise(self) -> Noise:
        """The noise under which the classifier is certified."""
        return self.engine.noise

    @property
    def ball(self) -> Ball:
        """The balls of the norm that the noise certifies in."""
        return ball_under(self.noise)

    def box(self, image: Tensor) -> Box | None:
        """Return the least and the most that each number of `image` may change by.

        Both are (1, C, H, W), for an image (C, H, W). The result is None where numbers
        of any size are inputs of the noise.
        """
        domain = self.noise.domain
        if domain is None:
            return None
        least, most = domain
        return (least - image)[None], (most - image)[None]

    def copies_of(self, point: Tensor, stream: Stream) -> Tensor:
        """Return (m, *seen) noisy copies of `point` (C, H, W), as networks see them."""
        settings = self.engine.settings
        number = settings.n if settings.counts_all else self.m
        seen = self.noise.shape(point.shape)
        copies = torch.empty(number, *seen, device=self.engine.device)
        if settings.counts_all:
            # All copies, from number 0 on, as they are certified.
            grid_point = (255.0 * point.clamp(0.0, 1.0)).round() / 255.0
            self.noise.numbered(copies, grid_point, 0, self.engine.seed)
        else:
            self.noise.draw(copies, point, stream)
        return copies

    def placed(self, point: Tensor, x: Tensor, eps: float) -> Tensor:
        """Return `point` on the CPU, moved to where it may be within `eps` of `x`."""
        move = on_grid if self.engine.settings.counts_all else inside
        return move(point.cpu(), x.cpu(), eps, self.ball)

    def distance(self, point: Tensor, x: Tensor) -> float:
        """Return the distance of two float32 tensors in the norm of the balls.

        It is computed in float64; between points of the grid it is exact.
        """
        length = self.ball.length(point.double() - x.double())
        if self.engine.settings.counts_all:
            return round(255.0 * length) / 255.0
        return length
