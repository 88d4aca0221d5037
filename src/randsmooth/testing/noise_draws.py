"""The part of the contract of noises about how copies are drawn.

Draws are a function of stream and input, copy by copy.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch import Tensor

from randsmooth.noise import Noise, Stream
from randsmooth.testing.contract import require
from randsmooth.testing.noise_bits import bits_of
from randsmooth.testing.noise_samples import STREAM

COPIES = 64
FEWER_COPIES = 7

# How many streams are drawn from at the same time, and by how many threads.
STREAMS = 32
THREADS = 8

# The absolute error of the sum of an input and an additive noise in float32.
SUM_ERROR = 1e-5

Draw = Callable[[int, Stream], Tensor]
"""Draw so many copies of an input from a stream."""


def check_draws(noise: Noise, shape: tuple[int, ...]) -> None:
    """Check copies of a random input of `shape`."""
    x = torch.randint(256, shape, generator=STREAM.torch()) / 255
    x_before = x.clone()

    def draw(copies: int, stream: Stream) -> Tensor:
        return _draw(noise, x, copies, stream)

    copies = draw(COPIES, STREAM)
    _check_copies_are_whole(copies)
    _check_stream_determines_copies(draw, copies)
    _check_threads_draw_the_same(draw)
    require(torch.equal(x, x_before), "changes the input that it draws copies of")
    _check_both_zeros_are_one_number(noise, shape)
    if noise.additive:
        _check_adds_the_same_to_every_input(noise, x, copies)
    _check_offsets(noise, x)


def _draw(noise: Noise, x: Tensor, copies: int, stream: Stream) -> Tensor:
    """Draw so many copies into an array of NaN, which shows what is left out."""
    out = torch.full((copies, *noise.shape(x.shape)), torch.nan)
    noise.draw(out, x, stream)
    return out


def _check_copies_are_whole(copies: Tensor) -> None:
    require(
        copies.isfinite().all(),
        "leaves numbers out, or draws some that are not finite",
    )


def _check_stream_determines_copies(draw: Draw, copies: Tensor) -> None:
    require(
        torch.equal(draw(COPIES, STREAM), copies),
        "draws other copies when a stream is used again",
    )
    require(
        torch.equal(draw(FEWER_COPIES, STREAM), copies[:FEWER_COPIES]),
        "draws other copies where `out` is shorter: draw copy by copy",
    )
    another_block = STREAM.at(1)
    another_seed = Stream(1, STREAM.name)
    another_name = Stream(0, "another")
    for stream in (another_block, another_seed, another_name):
        require(
            not torch.equal(draw(COPIES, stream), copies),
            "draws the same copies from another stream",
        )
    require(len(copies.unique(dim=0)) > 1, "draws copies that are all alike")


def _check_threads_draw_the_same(draw: Draw) -> None:
    """Check that several threads, in another order, draw what one draws."""
    streams = [STREAM.at(block) for block in range(STREAMS)]
    with ThreadPoolExecutor(THREADS) as pool:
        reversed_copies = list(pool.map(partial(draw, COPIES), reversed(streams)))
    by_threads = reversed_copies[::-1]
    same = all(
        torch.equal(draw(COPIES, stream), copies)
        for stream, copies in zip(streams, by_threads, strict=True)
    )
    require(same, "draws other copies in another order, or where several threads draw")


def _check_both_zeros_are_one_number(noise: Noise, shape: tuple[int, ...]) -> None:
    of_zero = _draw(noise, torch.full(shape, 0.0), COPIES, STREAM)
    of_minus_zero = _draw(noise, torch.full(shape, -0.0), COPIES, STREAM)
    require(
        torch.equal(bits_of(of_zero), bits_of(of_minus_zero)),
        "draws other copies of -0.0 than of 0.0, which are one number: add 0.0 to the "
        "input first",
    )


def _check_adds_the_same_to_every_input(
    noise: Noise, x: Tensor, copies: Tensor
) -> None:
    around_zero = _draw(noise, torch.zeros(x.shape), COPIES, STREAM)
    require(
        torch.allclose(copies, x + around_zero, atol=SUM_ERROR),
        "is said to be additive, and adds other numbers to another",
    )


def _check_offsets(noise: Noise, x: Tensor) -> None:
    inputs = torch.stack([x, 1.0 - x])
    offsets = noise.offsets(inputs, 3, STREAM)
    require(
        offsets.shape == (3, 2, *noise.shape(x.shape)),
        f"has offsets of shape {tuple(offsets.shape)}, of 3 copies of each of 2 inputs",
    )
    require(
        torch.equal(offsets, noise.offsets(inputs, 3, STREAM)),
        "has other offsets when a stream is used again",
    )
