"""The search that uses the answers of the base classifier alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from randsmooth.attacks.shared import unit
from randsmooth.certification.searches.base import CHOOSE, START, BallSearch
from randsmooth.noise import Stream, address_of, draw

EDGE = "attack/edge"
NORMAL = "attack/normal"

# How far along a direction the other class is looked for, in lengths of the direction.
REACHES = (1.0, 2.0, 4.0)

# How often the segment on which the edge between two classes is looked for is halved:
# to 1% of its length.
HALVINGS = 7

# The points at the end are compared by so many estimates of m samples each.
ESTIMATES_OF_A_POINT = 4

# A variance above 0, by which the regression on a number that never varies is divided.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, kw_only=True)
class GradientFreeSearch(BallSearch):
    """A walk along the edge of the class, for which labels are enough.

    Where p_A is near 1, hardly a noisy copy of the image errs, and nothing can be
    learnt there. So the search goes to images of other classes, finds the point between
    where the smoothed class changes, estimates the normal of that edge there, where
    errors are most frequent, and moves along it to where the edge is nearer. Both the
    nearest point and the normal give a direction in the ball; the worst of the points
    in these directions is returned.

    The normal is the regression of errors on what copies show of each number; under
    Gaussian noise that is, by Stein's lemma, the gradient of the smoothed error.

    Args:
        steps: twice the number of steps of a walk.
        m: samples of each estimate.
        restarts: the most walks.
        elsewhere: (P, C, H, W) images that walks may begin from. Where none is of
            another class, they begin from random points far off.
        classes: (P,) the classes of these images.

    Source: Chen, Jordan & Wainwright 2020 (HopSkipJumpAttack, algorithm 2), here of a
        smoothed classifier.
    """

    gradient_free: ClassVar[bool] = True

    elsewhere: Tensor
    classes: Tensor

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        image = x.to(self.engine.device)
        # The noise depends on the pixels.
        address = address_of(x)
        # `engine.logits` can be asked once the engine is prepared for the shape.
        self.engine.prepare(x.shape)
        random = draw(
            (self.restarts, *x.shape),
            sigma=1.0,
            stream=Stream(self.seed, START).at(address),
            device=image.device,
        )

        # `max` below needs a point even if no walk finds an edge: one in a random
        # direction.
        changes = [self.ball.along(random[:1], eps)[0]]
        starts = self._images_beyond(image, y)[: self.restarts]
        if len(starts) == 0:
            # Points beyond the ball, where the class may be another.
            starts = image + self.ball.along(random, 2.0 * eps)
        for walk, start in enumerate(starts):
            if self.toward is not None:
                # Beyond a class that is looked for there may be others, so the points of
                # the sphere are not enough.
                changes.append(self.ball.within((start - image)[None], eps)[0])
            changes += self._walk(image, start, y, eps, (address, walk))

        points = [image + self._in_box(change, image) for change in changes]
        worst = max(points, key=lambda point: self._errors(point, y, address))
        return self.placed(worst, x, eps)

    def _is_beyond(self, classes: Tensor, y: int) -> Tensor:
        """Return whether each of `classes` is one that the search looks for."""
        return classes != y if self.toward is None else classes == self.toward

    def _images_beyond(self, image: Tensor, y: int) -> Tensor:
        """Return (P', C, H, W) those of `elsewhere` that are of a class that is looked
        for, the nearest in L2 first.

        What the noise holds fixed is in them as in `image`.
        """
        others = self.elsewhere[self._is_beyond(self.classes, y)].to(image)
        others = self.ball.keeping(image, others)
        distances = (others - image).flatten(1).norm(dim=1)
        return others[distances.argsort()]

    def _in_box(self, change: Tensor, image: Tensor) -> Tensor:
        """Return `change` (C, H, W), cut off where the noise is for no such inputs."""
        box = self.box(image)
        if box is None:
            return change
        least, most = box
        return change.clamp(least[0], most[0])

    def _errors(self, point: Tensor, y: int, address: int) -> int:
        """Count the noisy copies of `point` that are of a class that is looked for."""
        errors = 0
        for estimate in range(ESTIMATES_OF_A_POINT):
            answers, _ = self._answers(CHOOSE, point, address, estimate)
            errors += int(self._is_beyond(answers, y).sum())
        return errors

    def _walk(
        self, image: Tensor, start: Tensor, y: int, eps: float, number: tuple[int, ...]
    ) -> Iterator[Tensor]:
        """Yield changes of length `eps`: towards the edge, and along its normal.

        Each step gives one, towards the point on the edge that it found. A last one is
        along the normal.

        Args:
            image: (C, H, W), of class `y`.
            start: (C, H, W), the point that the walk begins from.
            y: the class that is to be left.
            eps: the length of the changes.
            number: the numbers that address the noise of this walk.
        """
        direction = start - image
        normal = torch.zeros_like(image)
        for step in range(max(1, self.steps // 2)):
            to_edge = self._to_edge(image, direction, y, (*number, step))
            if to_edge is None:
                break
            yield self.ball.along(to_edge[None], eps)[0]

            answers, copies = self._answers(NORMAL, image + to_edge, *number, step)
            slope = slopes(self._is_beyond(answers, y), copies, image.shape)
            normal = 0.5 * normal + unit(slope[None])[0]
            # The steps grow shorter, as in the source.
            length = self.ball.length(to_edge) / (step + 1) ** 0.5
            direction = to_edge + self.ball.step(normal[None], length)[0]
        if normal.any():
            no_change = torch.zeros_like(image)[None]
            box = self.box(image)
            yield self.ball.moved(no_change, normal[None], eps, share=1.0, box=box)[0]

    def _to_edge(
        self, image: Tensor, direction: Tensor, y: int, number: tuple[int, ...]
    ) -> Tensor | None:
        """Return the change of `image`, along `direction`, to a point just beyond the
        edge of class `y`.

        It is None where no point of another class is found in that direction. `number`
        addresses the noise, which is the same at every point.
        """

        def is_lost(share: float) -> bool:
            answers, _ = self._answers(EDGE, image + share * direction, *number)
            return bool(self._is_beyond(answers.mode().values, y))

        far = next((reach for reach in REACHES if is_lost(reach)), None)
        if far is None:
            return None
        near = 0.0
        for _ in range(HALVINGS):
            middle = (near + far) / 2.0
            if is_lost(middle):
                far = middle
            else:
                near = middle
        return far * direction

    def _answers(self, name: str, point: Tensor, *number: int) -> tuple[Tensor, Tensor]:
        """Return (m,) the classes of m noisy copies of `point`, and the copies (m, *seen).

        The noise of a stream's `name` and a `number` is the same whenever it is asked
        for.
        """
        copies = self.copies_of(point, Stream(self.seed, name).at(*number))
        return self.engine.logits(copies).argmax(dim=1), copies


def slopes(wrong: Tensor, copies: Tensor, shape: Sequence[int]) -> Tensor:
    """Return how the share of wrong answers grows with each number of the input.

    Args:
        wrong: (n,) whether the answer to each copy is wrong.
        copies: (n, *seen) the copies.
        shape: the shape of the input, and of the returned tensor.

    Example:
        >>> wrong = torch.tensor([1, 1, 0, 0])
        >>> copies = torch.tensor([[2.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
        >>> slopes(wrong, copies, (2,))
        tensor([0.5000, 0.0000])
    """
    # Where a copy also marks what is hidden, in channels more, these come after the
    # numbers of the input.
    numbers = copies.flatten(1)[:, : math.prod(shape)]
    errors = wrong.to(numbers)
    deviations = numbers - numbers.mean(dim=0)
    covariances = (errors - errors.mean()) @ deviations
    variances = deviations.square().sum(dim=0).clamp_min(LEAST_VARIANCE)
    return (covariances / variances).view(tuple(shape))
