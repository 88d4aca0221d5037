"""Gaussian noise: its distribution, its units, and that neither order nor threads touch it."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy import stats

from models.refusing import refusal
from randsmooth.noise import Gaussian, Stream, draw

STREAM = Stream(7, "certify")
SAMPLES = 1_000_000


@pytest.fixture(scope="module")
def sample() -> np.ndarray:
    """A million numbers as certification draws them: block by block."""
    return torch.cat([draw((1000,), 1.0, stream=STREAM.at(block)) for block in range(1000)]).double().numpy()


def test_the_distribution_is_normal_in_mean_variance_and_tails(sample: np.ndarray) -> None:
    assert len(sample) == SAMPLES
    assert abs(sample.mean()) < 4 / SAMPLES**0.5
    assert abs(sample.var() - 1.0) < 4 * (2 / SAMPLES) ** 0.5
    assert stats.kstest(sample, stats.norm.cdf).pvalue > 0.01
    for beyond in (2.0, 3.0, 4.0):
        for tail in (sample, -sample):
            assert stats.binomtest(int((tail > beyond).sum()), SAMPLES, stats.norm.sf(beyond)).pvalue > 0.01, beyond


def test_draw_scales_by_sigma_and_takes_a_stream() -> None:
    unit = draw((4, 3, 8, 8), 1.0, stream=STREAM)
    for sigma in (0.0, 0.25, 3.0):
        noise = draw((4, 3, 8, 8), sigma, stream=STREAM)
        assert noise.dtype == torch.float32 and torch.equal(noise, unit * sigma), sigma
    assert "stream=0: give a Stream" in refusal(lambda: draw((2, 1, 4, 4), 0.5, stream=0))  # type: ignore[arg-type]


def test_a_draw_is_the_image_plus_the_noise() -> None:
    for shape in [(1, 1, 1), (3, 8, 8)]:
        for sigma in [0.25, 1.0]:
            x = torch.rand(shape, generator=STREAM.torch())
            out = torch.full((5, *shape), torch.nan)
            Gaussian(sigma).draw(out, x, STREAM.at(1))
            assert torch.equal(out, x + draw((5, *shape), sigma, stream=STREAM.at(1))), (shape, sigma)


def test_order_and_threads_do_not_matter() -> None:
    x = torch.rand(3, 8, 8, generator=STREAM.torch())
    inputs = list(range(64))

    def block(place: int) -> tuple[int, torch.Tensor]:
        out = torch.empty(50, 3, 8, 8)
        Gaussian(0.5).draw(out, x, STREAM.at(place))
        return place, out

    in_order = dict(map(block, inputs))
    random.Random(0).shuffle(inputs)
    with ThreadPoolExecutor(8) as pool:
        shuffled = dict(pool.map(block, inputs))
    assert all(torch.equal(in_order[place], shuffled[place]) for place in in_order)
