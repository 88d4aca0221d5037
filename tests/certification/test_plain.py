"""CERTIFY as published, for one image, gives what the engine gives from the same noise."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

import randsmooth as rs
from certification.planes import HalfSpace, at_distance
from randsmooth import models
from randsmooth.certification import certify_one
from randsmooth.certification.algorithm import ESTIMATE, SELECT
from randsmooth.certification.batches import usual_block
from randsmooth.noise import Stream, address_of
from randsmooth.noise.streams import fill

SIGMA, N0, N, ALPHA = 0.5, 60, 700, 0.01


def noise_of(x: Tensor, seed: int) -> Callable[..., Tensor]:
    """The standard normal numbers that the engine draws for `x`: those that pick the class, then the others."""
    names: Iterator[str] = iter((SELECT, ESTIMATE))

    def standard_normal(n: int, *shape: int) -> Tensor:
        stream = Stream(seed, next(names)).at(address_of(x))
        noise = torch.empty(n, *shape)
        for number, block in enumerate(noise.split(usual_block(shape))):
            fill(block, stream.at(number), "normal")
        return noise

    return standard_normal


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return models.build("small-cnn", in_channels=3, image_size=8, num_classes=4).eval()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("f", "images"),
    [
        (HalfSpace(), at_distance([0.02, 0.1, 0.3, -0.3, 0.8, -1.5])),
        (network(), torch.rand(4, 3, 8, 8, generator=torch.manual_seed(1))),
    ],
    ids=["half-space", "network"],
)
def test_the_engine_gives_what_the_published_algorithm_gives(
    f: torch.nn.Module, images: Tensor, seed: int
) -> None:
    smoothed = rs.SmoothedClassifier(f.eval(), sigma=SIGMA, seed=seed)
    certified = smoothed.certify(images, n0=N0, n=N, alpha=ALPHA)
    for x, predict, radius in zip(
        images, certified.predict, certified.radius, strict=True
    ):
        with torch.inference_mode():
            c, r = certify_one(f, x, SIGMA, N0, N, ALPHA, noise_of(x, seed))
        assert c == predict
        assert r == pytest.approx(radius, abs=1e-9)
    # So that both answers of the algorithm were compared.
    if isinstance(f, HalfSpace):
        assert {rs.ABSTAIN, 0, 1} == {*certified.predict.tolist()}
