"""Attacks around an image whose distance to the edge is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from certification.half_spaces import IMAGES, SIGMA, SIGNED, HalfSpace
from randsmooth import SmoothedClassifier
from randsmooth.explanation.attempts import attempt, nowhere


class Labels(nn.Module):
    """The same half-space without a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = HalfSpace()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.one_hot(self.inner(x).argmax(dim=1), 2).float()


@pytest.mark.parametrize("gradient_free", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_change_that_is_found_lies_beyond_the_edge_and_not_far(gradient_free: bool) -> None:
    base = Labels() if gradient_free else HalfSpace()
    smoothed = SmoothedClassifier(base.eval(), sigma=SIGMA, seed=0)
    x, y = IMAGES.batch(torch.tensor([0]))
    other = IMAGES.batch(torch.tensor([1]))
    edge = abs(float(SIGNED[0]))
    found = attempt(smoothed, x[0], int(y[0]), 0.5 * edge, other if gradient_free else nowhere((1, 8, 8)), alpha=0.001)
    assert found.gradient_free is gradient_free
    assert found.inside.distance < 0.5 * edge and found.inside.predict in (int(y[0]), -1)
    assert found.outside is not None and found.outside.predict == 1 - int(y[0])
    assert edge < found.outside.distance < 1.7 * edge
    moved = found.outside.point - x[0].numpy()
    assert np.linalg.norm(moved) == pytest.approx(found.outside.distance, rel=1e-5)


def test_a_classifier_that_never_changes_is_searched_to_the_farthest_ball() -> None:
    linear = nn.Linear(64, 2)
    nn.init.zeros_(linear.weight)
    linear.bias.data = torch.tensor([1.0, 0.0])
    constant = nn.Sequential(nn.Flatten(), linear).eval()
    smoothed = SmoothedClassifier(constant, sigma=SIGMA, seed=0)
    found = attempt(smoothed, torch.rand(1, 8, 8), 0, 0.5, nowhere((1, 8, 8)), alpha=0.001)
    assert found.outside is None and found.farthest == 4.0
