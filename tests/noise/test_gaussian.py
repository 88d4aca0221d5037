"""Gaussian noise: its distribution, its units, and the counter-based generator that it is drawn from."""

import numpy as np
import pytest
import torch
from scipy import stats

from models.refusing import problem_of
from randsmooth.errors import BadValue
from randsmooth.noise import Stream, draw
from randsmooth.noise.philox import LANES, Philox, computed_words, signed
from values import Refusal

STREAM = Stream(7, "certify")
SAMPLES = 1_000_000


@pytest.fixture(scope="module")
def sample() -> np.ndarray:
    """A million numbers as certification draws them: block by block."""
    return (
        torch.cat(
            [draw((1000,), 1.0, stream=STREAM.at(block)) for block in range(1000)]
        )
        .double()
        .numpy()
    )


def test_the_distribution_is_normal_in_mean_variance_and_tails(
    sample: np.ndarray,
) -> None:
    assert len(sample) == SAMPLES
    assert abs(sample.mean()) < 4 / SAMPLES**0.5
    assert abs(sample.var() - 1.0) < 4 * (2 / SAMPLES) ** 0.5
    assert stats.kstest(sample, stats.norm.cdf).pvalue > 0.01
    for beyond in (2.0, 3.0, 4.0):
        for tail in (sample, -sample):
            assert (
                stats.binomtest(
                    int((tail > beyond).sum()), SAMPLES, stats.norm.sf(beyond)
                ).pvalue
                > 0.01
            ), beyond


def test_draw_scales_by_sigma_and_takes_a_stream() -> None:
    unit = draw((4, 3, 8, 8), 1.0, stream=STREAM)
    for sigma in (0.0, 0.25, 3.0):
        noise = draw((4, 3, 8, 8), sigma, stream=STREAM)
        assert noise.dtype == torch.float32 and torch.equal(noise, unit * sigma), sigma
    Refusal(BadValue, "stream=0", field="stream").check(
        problem_of(
            lambda: draw((2, 1, 4, 4), 0.5, stream=0)  # type: ignore[arg-type]
        )
    )


# Known answers of philox4x64-10 in Random123: (counter, key) -> words.
ONES = 2**64 - 1
PI_COUNTER = (
    0x243F6A8885A308D3,
    0x13198A2E03707344,
    0xA4093822299F31D0,
    0x082EFA98EC4E6C89,
)
PI_KEY = (0x452821E638D01377, 0xBE5466CF34E90C6C)
KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b",
    ),
    (
        (ONES,) * 4,
        (ONES,) * 2,
        "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    ),
    (
        PI_COUNTER,
        PI_KEY,
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


def in_torch(stream: Philox, part: int, places: torch.Tensor) -> np.ndarray:
    words = computed_words(torch.tensor(stream.signed()), part, places)
    return words.numpy().view(np.uint64)


def test_known_answers() -> None:
    for counter, key, words in KNOWN:
        stream = Philox(*key, *counter[2:])
        place = torch.tensor(signed((counter[0] - 1) % 2**64))
        found = [
            f"{word:016x}"
            for word in in_torch(stream, signed(counter[1]), place).tolist()
        ]
        assert found == words.split(), (counter, key)


def test_numpy_and_torch_agree() -> None:
    for part in [0, 1, 2]:
        stream = Stream(3, "a").at(5).philox()
        assert np.array_equal(
            in_torch(stream, part, torch.arange(500)).ravel(),
            stream.words(part, 500 * LANES),
        ), part


def test_words_from_a_place_on() -> None:
    for start in [0, 1, 3, 4, 1001]:
        stream = Stream(3, "a").philox()
        assert np.array_equal(
            stream.words(1, 50, start), stream.words(1, start + 50)[start:]
        ), start


def test_addresses_and_parts_share_no_word() -> None:
    streams = [
        Stream(seed, name).at(at).philox()
        for seed in (0, 1)
        for name in "ab"
        for at in (0, 1)
    ]
    words = [stream.words(part, 1000) for stream in streams for part in (0, 1, 2)]
    assert len(np.unique(words)) == len(words) * 1000


@pytest.mark.cuda
def test_a_gpu_computes_the_same_words() -> None:
    cuda, stream = torch.device("cuda"), Stream(0, "a").philox()
    streams, places = (
        torch.tensor([stream.signed()], device=cuda),
        torch.arange(1000, device=cuda)[None],
    )
    words = computed_words(streams, 1, places).cpu().numpy().view(np.uint64)
    assert np.array_equal(words.ravel(), stream.words(1, 1000 * LANES))
