"""Streams: an address always gives the same numbers, and any other address others."""

from collections import Counter

import numpy as np
import torch

from randsmooth.noise import Stream

# No two of these are the same address.
ADDRESSES = [
    Stream(0, "certify"),
    Stream(1, "certify"),
    Stream(2**32, "certify"),
    Stream(2**63 - 1, "certify"),
    Stream(0, "certifY"),
    Stream(0, ""),
    Stream(0, "certify", (0,)),
    Stream(0, "certify", (0, 0)),
    Stream(0, "certify", (0, 0, 0)),
    Stream(0, "certify", (1,)),
    Stream(0, "certify", (1, 0)),
    Stream(0, "certify", (0, 1)),
    Stream(0, "certify", (1, 0, 0)),
    Stream(0, "certify", (12,)),
    Stream(0, "certify", (1, 2)),
    Stream(0, "certify", (2, 1)),
    Stream(0, "certify1", (2,)),
    Stream(0, "certify/1"),
    Stream(0, "certify/1", (2,)),
    Stream(0, "certify", (2**32,)),
    Stream(0, "certify", (2**32 - 1,)),
    Stream(1, "certify", (0,)),
]


FIRST = [0.9439378976821899, 1.1155613660812378, -0.12865781784057617]


def numbers(stream: Stream) -> np.ndarray:
    return stream.numpy().integers(0, 2**63, 4)


def torch_numbers(stream: Stream) -> torch.Tensor:
    return torch.randint(2**62, (4,), generator=stream.torch())


def test_an_address_always_gives_the_same_numbers() -> None:
    for stream in ADDRESSES:
        np.testing.assert_array_equal(numbers(stream), numbers(Stream(stream.seed, stream.name, stream.position)))
        assert torch.equal(torch_numbers(stream), torch_numbers(Stream(stream.seed, stream.name, stream.position))), (
            stream
        )


def test_no_two_addresses_share_a_number() -> None:
    for draw in [numbers, torch_numbers]:
        drawn = Counter(int(number) for stream in ADDRESSES for number in draw(stream))  # type: ignore[attr-defined]
        assert len(set(ADDRESSES)) == len(ADDRESSES), draw
        assert len(drawn) == 4 * len(ADDRESSES), draw


def test_the_first_numbers_are_fixed_for_ever() -> None:
    # A stored certificate is reproduced from its seed: a change here changes every one of them.
    drawn = Stream(0, "certify").at(3, 1).numpy().standard_normal(3, dtype=np.float32)
    np.testing.assert_array_equal(drawn, np.array(FIRST, np.float32))


def test_at_goes_below_and_leaves_the_stream_alone() -> None:
    stream = Stream(5, "train/noise", (1,))
    assert stream.at(2, 3) == Stream(5, "train/noise", (1, 2, 3)) == stream.at(2).at(3)
    assert stream.at() == stream == Stream(5, "train/noise", (1,))


def test_drawing_from_one_generator_does_not_advance_another() -> None:
    stream = Stream(0, "certify")
    first = stream.numpy()
    first.standard_normal(1000)
    np.testing.assert_array_equal(stream.numpy().integers(0, 2**63, 4), numbers(stream))


def test_global_generators_are_left_alone() -> None:
    before = torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002
    numbers(Stream(0, "certify"))
    torch_numbers(Stream(0, "certify"))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert repr(np.random.get_state()) == before[1]  # noqa: NPY002
