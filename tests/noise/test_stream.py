"""Streams and the addresses of images: an address always gives the same numbers, and any other address others."""

from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest
import torch

from randsmooth.noise import Stream, address_of
from randsmooth.noise.streams import SEED_BITS, fresh_seed

IMAGE = torch.arange(48).view(3, 4, 4) / 255
HALVES = torch.arange(48).view(3, 4, 4) / 64  # which bfloat16 and float16 hold, too


def test_it_is_the_hash_of_shape_and_pixels() -> None:
    """Written down once more from its definition; the number, so that no release changes it unseen."""
    told = b"(3, 4, 4)" + IMAGE.numpy().astype("<f4").tobytes()
    assert address_of(IMAGE) == int.from_bytes(
        blake2b(told, digest_size=32).digest(), "little"
    )
    assert address_of(torch.full((1, 2, 2), 0.5)) == KNOWN


KNOWN = 0x10DA6291AD4767CDCD4792CE61E5F1078FA73B3742F2DEB033899F9195926CA


def test_what_holds_the_pixels_does_not_matter() -> None:
    for same in [
        HALVES.clone(),
        HALVES.double(),
        HALVES.half(),
        HALVES.bfloat16(),
        HALVES[None].contiguous(memory_format=torch.channels_last)[0],
        HALVES.permute(2, 0, 1).contiguous().permute(1, 2, 0),
        torch.stack([HALVES, HALVES + 1])[0],
        HALVES.clone().requires_grad_(),
        torch.from_numpy(HALVES.numpy().astype(">f4").astype("f4")),
        torch.where(HALVES == 0, -0.0, HALVES),
    ]:
        assert address_of(same) == address_of(HALVES), same


def test_any_other_image_has_another() -> None:
    others = [
        IMAGE,
        IMAGE.view(3, 2, 8),
        IMAGE.flip(0),
        IMAGE.flip(2),
        IMAGE.transpose(1, 2),
    ]
    for place in range(IMAGE.numel()):
        changed = IMAGE.clone().view(-1)
        changed[place] = torch.nextafter(changed[place], torch.tensor(1.0))
        others.append(changed.view_as(IMAGE))
    assert len({address_of(x) for x in others}) == len(others)


def test_fresh_seeds_differ_and_fit_a_float() -> None:
    seeds = [fresh_seed() for _ in range(100)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**SEED_BITS and int(float(seed)) == seed for seed in seeds)


@pytest.mark.cuda
def test_the_device_does_not_matter() -> None:
    assert address_of(IMAGE.cuda()) == address_of(IMAGE)


# No two of these are the same address.
ADDRESSES = [Stream(seed, "certify") for seed in (0, 1, 2**32, 2**63 - 1)]
ADDRESSES += [Stream(0, name) for name in ("certifY", "", "certify/1")] + [
    Stream(0, "certify/1", (2,))
]
ADDRESSES += [
    Stream(0, "certify", at)
    for at in ((0,), (0, 0), (0, 0, 0), (1,), (1, 0), (0, 1), (1, 0, 0), (12,))
]
ADDRESSES += [
    Stream(0, "certify", at) for at in ((1, 2), (2, 1), (2**32,), (2**32 - 1,))
]
ADDRESSES += [Stream(0, "certify1", (2,)), Stream(1, "certify", (0,))]


FIRST = [0.9439378976821899, 1.1155613660812378, -0.12865781784057617]


def numbers(stream: Stream) -> np.ndarray:
    return stream.numpy().integers(0, 2**63, 4)


def torch_numbers(stream: Stream) -> torch.Tensor:
    return torch.randint(2**62, (4,), generator=stream.torch())


def test_no_two_addresses_share_a_number() -> None:
    for draw in [numbers, torch_numbers]:
        drawn = Counter(int(number) for stream in ADDRESSES for number in draw(stream))  # type: ignore[attr-defined]
        assert len(set(ADDRESSES)) == len(ADDRESSES), draw
        assert len(drawn) == 4 * len(ADDRESSES), draw


def test_the_first_numbers_are_fixed_for_ever() -> None:
    # A stored certificate is reproduced from its seed: a change here changes every one of them.
    drawn = Stream(0, "certify").at(3, 1).numpy().standard_normal(3, dtype=np.float32)
    np.testing.assert_array_equal(drawn, np.array(FIRST, np.float32))
