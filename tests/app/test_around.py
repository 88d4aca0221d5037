"""What is found around an image, against NumPy, SciPy and an edge that is known; and what more samples would prove."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from certification.half_spaces import IMAGES, SIGMA, SIGNED, HalfSpace
from models.refusing import problem_of
from randsmooth import SmoothedClassifier, data
from randsmooth.app import nearest, radius_by_samples
from randsmooth.app.attacking import attempt
from randsmooth.app.image_certificate import limit
from randsmooth.errors import WrongData
from randsmooth.noise import Gaussian
from values import Refusal


class Labels(nn.Module):
    """The same half-space without a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = HalfSpace()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.one_hot(self.inner(x).argmax(dim=1), 2).float()


@pytest.mark.parametrize(
    "gradient_free", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_the_change_that_is_found_lies_beyond_the_edge_and_not_far(
    gradient_free: bool,
) -> None:
    base = Labels() if gradient_free else HalfSpace()
    smoothed = SmoothedClassifier(base.eval(), sigma=SIGMA, seed=0)
    x, y = IMAGES.batch(torch.tensor([0]))
    other = IMAGES.batch(torch.tensor([1]))
    edge = abs(float(SIGNED[0]))
    found = attempt(
        smoothed, x[0], int(y[0]), 0.5 * edge, other if gradient_free else None
    )
    assert found.gradient_free is gradient_free
    assert found.inside.distance < 0.5 * edge and found.inside.predict in (
        int(y[0]),
        -1,
    )
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
    found = attempt(smoothed, torch.rand(1, 8, 8), 0, 0.5, None)
    assert found.outside is None and found.farthest == 4.0


def test_the_nearest_of_both_kinds_are_those_of_numpy() -> None:
    train, test = data.load("digits", "train"), data.load("digits", "test")
    x, y = train.batch(torch.arange(len(train)))
    all_pixels, labels = x.numpy().astype(np.float64).reshape(len(train), -1), y.numpy()
    for index in (0, 5, 17):
        (image,), (label,) = test.batch(torch.tensor([index]))
        found = nearest(image, int(label), train)
        distances = np.linalg.norm(
            all_pixels - image.numpy().astype(np.float64).ravel(), axis=1
        )
        for neighbour, among in (
            (found.same, labels == int(label)),
            (found.other, labels != int(label)),
        ):
            assert neighbour is not None
            best = int(np.where(among, distances, np.inf).argmin())
            assert (neighbour.index, neighbour.label) == (best, int(labels[best]))
            assert neighbour.distance == pytest.approx(distances[best], abs=1e-6)
            assert np.linalg.norm(neighbour.pixels - image.numpy()) == pytest.approx(
                neighbour.distance, abs=1e-5
            )
        assert found.compared == found.total == len(train)


def test_equal_images_and_missing_classes() -> None:
    x = np.zeros((3, 1, 8, 8), np.float32)
    x[2] += 0.5
    found = nearest(
        torch.zeros(1, 8, 8), 0, data.load((x, np.array([0, 0, 0])), "train")
    )
    assert found.other is None and found.same is not None and found.same.index == 2
    assert found.same.distance == pytest.approx(4.0)
    for side, images, said in (
        (9, "digits", Refusal(WrongData, "(1, 9, 9)")),
        (8, np.zeros((3, 1, 8, 8), np.float32), Refusal(WrongData)),
    ):
        said.check(
            problem_of(
                nearest, torch.zeros(1, side, side), 0, data.load(images, "train")
            )
        )


def test_radii_by_samples_are_those_of_the_binomial_bound_and_approach_their_limit() -> (
    None
):
    for k, n in ((990, 1000), (600, 1000), (1000, 1000), (501, 1000)):
        b = np.array([100, 1000, 12_345])
        lower = stats.beta.ppf(0.001, k * b // n, b - k * b // n + 1)
        right = np.maximum(0.0, 0.25 * stats.norm.ppf(lower))
        assert radius_by_samples(
            k, n, b.tolist(), alpha=0.001, noise=Gaussian(0.25)
        ) == pytest.approx(right, abs=1e-9), (k, n)
    end = limit(990, 1000, Gaussian(0.5))
    radii = radius_by_samples(
        990, 1000, [10**i for i in range(2, 9)], alpha=0.001, noise=Gaussian(0.5)
    )
    assert np.all(np.diff(radii) > 0) and radii[-1] < end < radii[-1] + 0.001
    assert end == pytest.approx(0.5 * stats.norm.ppf(0.99))
    assert math.isinf(limit(7, 7, Gaussian(0.5))) and limit(4, 10, Gaussian(0.5)) == 0.0
