"""The search that climbs the gradient of the base classifier under noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from randsmooth.attacks import noisy_logits
from randsmooth.attacks.shared import climb, mean_cross_entropy
from randsmooth.certification.searches.base import CHOOSE, START, BallSearch
from randsmooth.errors import ModelFailed
from randsmooth.noise import Stream, address_of, draw

CLIMB = "attack/search"


@dataclass(frozen=True, kw_only=True)
class GradientSearch(BallSearch):
    """Gradient ascent on -log E[p_y(copy of x)] within a ball.

    Towards a class t it ascends log E[p_t(copy of x)] instead.

    Each step draws m new noisy copies. New noise at each step makes this stochastic
    ascent on the smoothed classifier itself; with m fixed samples it would partly
    exploit these samples.

    A step has length 2 eps / T in the norm of the ball, and climbs as steeply as it can
    there: along the gradient in L2, by the numbers of the largest gradient in L1, pixel
    after pixel in L0. The first start is the image, the others lie on the sphere around
    it. The end points are compared on further noise, and the worst one is returned, so
    that PREDICT tests one point per image.

    Pixels are not clamped: a certificate also holds outside [0, 1]. Only splitting
    noise is about inputs in [0, 1], beyond which nothing changes. There every step
    stays within [0, 1], and in L1 it moves the numbers of the largest gradient as far
    as they may go.

    The gradient is taken with respect to the noisy copy. Where noise is added, that is
    the gradient with respect to x. Where x is split or hidden, it tells how the copy
    would have to change.

    Args:
        model: gives logits, as `differentiable_copy` prepares it.
        steps, m, restarts: T, noise samples per step, and starts.

    Source: Salman et al. 2019, section 3.1 (the objective; their noises are drawn
        once).
    """

    gradient_free: ClassVar[bool] = False

    model: nn.Module

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        image = x.to(self.engine.device)
        # The noise depends on the pixels.
        address = address_of(x)
        # The class to leave, or the one to reach.
        aim = y if self.toward is None else self.toward
        classes = torch.full((self.restarts,), aim, device=image.device)
        box = self.box(image)

        # (restarts, C, H, W) the changes of the image, which all climb at once.
        v = self._starts(image, address, eps)
        for step in range(self.steps):
            # Each step has noise of its own, the same for all starts.
            stream = self._stream(CLIMB, address, step)
            gradient = self._gradient(image[None] + v, classes, stream)
            v = self.ball.moved(v, gradient, eps, share=2.0 / self.steps, box=box)

        with torch.no_grad():
            logits = self._logits(self._stream(CHOOSE, address), image[None] + v)
            losses = self._losses(logits, classes)
        return self.placed(image + v[losses.argmax()], x, eps)

    def _starts(self, image: Tensor, address: int, eps: float) -> Tensor:
        """Return (restarts, C, H, W) changes to begin from.

        The first is no change, the others are random changes of length `eps`.
        """
        random = draw(
            (self.restarts - 1, *image.shape),
            sigma=1.0,
            stream=self._stream(START, address),
            device=image.device,
        )
        no_change = torch.zeros_like(image)[None]
        return torch.cat([no_change, self.ball.start(random, eps)])

    def _gradient(self, points: Tensor, classes: Tensor, stream: Stream) -> Tensor:
        """Return the gradient of the loss at each of the `points` (B, C, H, W)."""
        logits = partial(self._logits, stream)
        gradient, _ = climb(logits, self._losses, classes, points)
        if not bool(gradient.isfinite().all()):
            raise ModelFailed(
                "the model's gradient with respect to the image is NaN or infinite: "
                "check the weights"
            )
        return gradient

    def _losses(self, logits: Tensor, classes: Tensor) -> Tensor:
        """Return (B,) what is climbed, of logits (m, B, K) and classes (B,).

        It grows as the class becomes less likely, or more likely if the search is towards
        it.
        """
        losses = mean_cross_entropy(logits, classes)
        return losses if self.toward is None else -losses

    def _logits(self, stream: Stream, points: Tensor) -> Tensor:
        """Return (m, B, K) logits of m copies of each of the `points` (B, C, H, W)."""
        # `noisy_logits` adds the noise to what a network sees of a point without noise,
        # through which the gradient flows.
        clear = self.noise.clear(points)
        copies = [self.copies_of(point, stream) for point in points.detach()]
        noise = torch.stack(copies, dim=1) - clear.detach()
        return noisy_logits(self.model, clear, noise)

    def _stream(self, name: str, address: int, step: int = 0) -> Stream:
        """Return the stream for the noise of a `step`, which is drawn for `name`."""
        return Stream(self.seed, name).at(address, step)
